"use strict";
// The page: reads the data blocks, and shows them. Nothing from a trace becomes markup: texts are
// set as text only.
const gvPage = (() => {
  const data = (name) => JSON.parse(document.getElementById(`${name}-data`).textContent);
  const open = () => {};
  const report = data("report");
  document.title = `gpuverify: ${report.verdict.headline}`;
  return { open };
})();
gvTimeline.show(document.getElementById("timeline"), JSON.parse(document.getElementById("timeline-data").textContent));
