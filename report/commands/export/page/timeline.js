"use strict";
// The timeline: gvTimeline.show(section, data), .zoom(from_ns, until_ns), .select(kind, id), and
// .describe(kind, id): for a call or an operation {title, facts: [[name, text], ...]}, or null.
// Times are nanoseconds since the trace's start. A click calls gvPage.open(kind, id), of kind
// "stall", "idle", "call" or "op".
const gvTimeline = {
  show() {},
  zoom() {},
  select() {},
  describe() { return null; },
};
