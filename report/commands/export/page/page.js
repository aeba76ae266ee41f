"use strict";
// The page: the run and what to change, the story of one stall or idle time, search, keys.
const gvPage = (() => {
  const {data, make, duration, share, moment, number, plural, value} = gvText;
  const byId = (id) => document.getElementById(id);
  const report = data("report");
  const told = data("findings");
  const layouts = data("tables");
  const stories = data("stories"); // the findings first
  const file = String(report.trace).split("/").pop();
  const MOST = 200; // stories of each kind, see stories.c
  const HITS = 40; // shown of a search,
  const HITS_EACH = 6; // and of each kind

  // ---- stories: "f1", "s6", "i1", and "c1" of a call that had not returned ----

  let flights = 0;
  for (const story of stories) {
    story.kind ??= "flight";
    story.name_ = story.kind === "flight" ? `c${++flights}` : `${story.kind[0]}${story.id}`;
    if (story.kind === "finding") story.line = story.place;
    story.line ??= (story.where || "").split(" <- ")[0];
  }
  const byName = new Map(stories.map((story) => [story.name_, story]));
  const storyOf = (kind, id) => kind === "stall" || kind === "idle" ? byName.get(`${kind[0]}${id}`)
    : stories.find((story) => kind === "call" && story.call === id || kind === "flight" && story.kind === kind && story.thread === id);

  const section = (id) => byId(id).scrollIntoView({block: "start"});

  // ---- light and dark ----

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const setScheme = (name) => {
    document.documentElement.dataset.scheme = name;
    document.dispatchEvent(new CustomEvent("gv-scheme"));
  };
  const scheme = () => document.documentElement.dataset.scheme;
  const otherScheme = () => setScheme(scheme() === "dark" ? "light" : "dark");
  setScheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setScheme(dark.matches ? "dark" : "light"));
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = scheme();
    setScheme("light");
  });
  window.addEventListener("afterprint", () => setScheme(before));

  // ---- a story in the panel ----

  const panel = byId("story");
  let opened = null; // its name
  let opener = null; // what had the focus before

  const link = (text, act) => make("button", {type: "button", class: "link", onclick: act}, text);

  // A text in which "stall s6" and "idle time i1" lead there.
  const linked = (text) => {
    const pieces = text.split(/\b((?:stall|idle time) [si]\d+)\b/);
    return pieces.map((piece, i) => {
      const name = piece.split(" ").pop();
      return i % 2 === 0 || !byName.has(name) ? piece : link(piece, () => open(byName.get(name)));
    });
  };

  const paragraph = (text) => text.split("\n").filter(Boolean).map((line) => make("p", {}, ...linked(line)));

  // With the line to change marked, where it stands first.
  const stack = (text, line) => {
    const frames = text.split(" <- ");
    const at = Math.max(0, frames.indexOf(line));
    return make("ol", {class: "stack"}, ...frames.map((frame, i) => make("li", {class: i === at ? "to-change" : null}, make("code", {}, frame))));
  };

  const since = (ns) => ns === 0 ? "0" : `${ns < 0 ? "\u2212" : "+"}${duration(Math.abs(ns))}`;

  const calls = (story) => {
    const itself = story.kind === "idle"
      ? [["the GPU has no work", null, story.start_ns, story.duration_ns]]
      : [[story.name || "a call", story.kernel, story.start_ns, story.duration_ns]];
    const near = [...[...story.before || []].reverse(), ...itself, ...story.after || []];
    if (near.length === 1) return null;
    return make("table", {class: "near"}, make("tbody", {}, ...near.map((call) => make("tr", {class: call === itself[0] ? "itself" : null},
      make("td", {class: "number", title: moment(call[2])}, since(call[2] - story.start_ns)),
      make("td", {}, make("span", {}, call[1] ? `${call[0]} of ${call[1]}` : call[0])),
      make("td", {class: "number"}, duration(call[3]))))));
  };

  const titles = {
    what: "What", why: "Why", kernel: "Kernel", look: "To look", host: "Host function", state: "State", chain: "Behind", also: "Also",
    saves: "Saves", all: "In all", note: "Note", probe: "Measured here",
  };

  // What the timeline shows of a story; of a finding, what shows it best. null: nothing.
  const exampleOf = (story) => story.kind !== "finding" ? [story.kind, story.id]
    : story.stall_story ? ["stall", story.stall_story] : story.idle_story ? ["idle", story.idle_story] : null;

  const zoomTo = (story) => {
    const [kind, id] = exampleOf(story);
    const shown = storyOf(kind, id) || story;
    const least = Math.max(shown.duration_ns || shown.elapsed_ns || 0, 1000);
    if (shown.start_ns !== undefined) gvTimeline.zoom(shown.start_ns - least / 4, shown.start_ns + least * 1.25);
    gvTimeline.select(kind, id);
    section("timeline-part");
  };

  const timelineButton = (story) => hasTimeline && exampleOf(story)
    ? make("button", {type: "button", class: "to-timeline", onclick: () => zoomTo(story)}, "Show in the timeline") : null;

  const costs = (story) => story.kind === "stall" || story.kind === "finding" && story.lost_ns > 0
    ? `${duration(story.lost_ns / (story.steps || 1))} lost${story.steps ? " a step" : ""}`
    : story.kind === "idle" ? duration(story.duration_ns)
    : story.elapsed_ns !== null && story.elapsed_ns !== undefined ? `${duration(story.elapsed_ns)} so far` : "";

  // What a finding is made of, and what shows it best.
  const findingParts = (story, part) => {
    const [kind, id] = exampleOf(story) || [];
    const example = kind && `${kind === "stall" ? "stall" : "idle time"} ${kind[0]}${id}`;
    return [
      part("What", ...paragraph(story.told)),
      story.ledger.length === 0 ? null : part(story.steps ? "Per step" : "In total", make("table", {class: "near"}, make("tbody", {},
        ...story.ledger.map((one) => make("tr", {}, make("td", {class: "number"}, duration(one.total_ns / (story.steps || 1))),
          make("td", {}, one.what), make("td", {}, one.line || "line not known",
            one.claimed_by && one.claimed_by !== story.line ? `, after the wait at ${one.claimed_by}` : "")))))),
      !example ? null : part("For example", storyOf(kind, id) ? make("p", {}, ...linked(example))
        : make("p", {}, `${example}: `, make("code", {}, `gpuverify explain ${file} ${kind[0]}${id}`))),
      story.where ? part("Where", stack(story.where, story.line)) : null,
    ];
  };

  const content = (story) => {
    const at = stories.indexOf(story);
    const step = (by) => make("button", {
      type: "button", "aria-label": by < 0 ? "Previous" : "Next", title: by < 0 ? "Previous (p)" : "Next (n)",
      disabled: !stories[at + by], onclick: () => next(by),
    }, by < 0 ? "‹" : "›");
    const kind = {finding: "Finding", stall: "Stall", idle: "Idle time", flight: "Unfinished call"}[story.kind];
    const part = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);
    const near = story.kind === "finding" ? null : calls(story);
    const known = Object.keys(titles).filter((key) => story[key] && (key !== "kernel" || story.kind === "flight"));
    return [
      make("div", {class: "story-bar"}, make("span", {class: "dim"}, `${kind} ${story.name_}`), step(-1), step(1),
        make("button", {type: "button", "aria-label": "Close", title: "Close (Esc)", onclick: close}, "×")),
      make("h2", {id: "story-title"}, story.kind === "finding" ? story.what : story.cause || story.reason || "unknown"),
      make("p", {class: "costs"}, make("strong", {}, costs(story)), ` ${story.confidence || ""}`),
      story.line ? make("p", {class: "line"}, make("code", {}, story.line)) : null,
      story.fix ? make("section", {class: "fix"}, make("h3", {}, "Fix"), ...paragraph(story.fix)) : null,
      make("p", {}, timelineButton(story)),
      ...story.kind === "finding" ? findingParts(story, part) : known.map((key) => part(titles[key], ...paragraph(story[key]))),
      story.frames ? part("Where", stack(story.frames, story.line), ...paragraph(story.stack || "")) : null,
      near ? part(story.kind === "idle" ? "Calls around it" : "Calls of its thread", near) : null,
      story.kind === "flight" ? null
        : part("In a terminal", make("pre", {}, `gpuverify explain ${file} ${story.name_}`)),
    ];
  };

  // What the timeline knows of a call or an operation without a story.
  const describe = (kind, id) => {
    const known = gvTimeline.describe ? gvTimeline.describe(kind, id) : null;
    const gone = kind === "stall" || kind === "idle"
      ? `This page has the stories of the longest ones only. For this one: gpuverify explain ${file} ${kind[0]}${id}` : null;
    return [
      make("div", {class: "story-bar"}, make("span", {class: "dim"}, {call: "Call", op: "GPU work", stall: "Stall", idle: "Idle time"}[kind]),
        make("button", {type: "button", "aria-label": "Close", title: "Close (Esc)", onclick: close}, "×")),
      make("h2", {id: "story-title"}, known ? gvText.clean(String(known.title)) : `${kind} ${id}`),
      gone ? make("p", {}, gone) : null,
      known ? make("dl", {class: "facts"}, ...known.facts.flatMap(([name, text]) =>
        [make("dt", {}, name), make("dd", {}, gvText.clean(String(text)))])) : null,
    ];
  };

  const reveal = (children) => {
    if (panel.hidden) opener = document.activeElement;
    panel.replaceChildren(...children.filter(Boolean));
    panel.hidden = false;
    panel.scrollTop = 0;
    document.body.classList.add("with-story");
    panel.focus({preventScroll: true});
  };

  const open = (story) => {
    opened = story.name_;
    reveal(content(story));
    if (location.hash !== `#${opened}`) history.pushState(null, "", `#${opened}`);
    const shown = story.kind === "flight" ? null : exampleOf(story);
    if (shown) gvTimeline.select(...shown);
  };

  const close = () => {
    if (panel.hidden) return;
    panel.hidden = true;
    opened = null;
    document.body.classList.remove("with-story");
    if (byName.has(location.hash.slice(1))) history.pushState(null, "", location.pathname + location.search);
    if (opener?.isConnected) opener.focus({preventScroll: true});
  };

  const next = (by) => {
    const at = stories.findIndex((story) => story.name_ === opened);
    const to = stories[at + by];
    if (to) open(to);
  };

  const follow = () => {
    const story = byName.get(decodeURIComponent(location.hash.slice(1)));
    if (story) open(story);
    else if (opened) close();
  };

  // ---- the run ----

  const showRun = () => {
    const run = report.sections.run?.[0] || {};
    const facts = report.numbers;
    const lines = (told.about || "").split("\n").map((line) => line.trim()).filter(Boolean);
    const first = (lines.shift() || "").replace(/^gpuverify: /, "");
    byId("program").textContent = run.program || file;
    document.title = `${run.program || file} - gpuverify`;
    byId("run").textContent = [first, run.started, run.host].filter(Boolean).join(" · ");
    const line = told.findings[0]?.line;
    byId("headline").append(...line && told.headline.startsWith(line)
      ? [make("code", {}, line), told.headline.slice(line.length)] : [told.headline]);
    const some = (count, word, none, bad) => count ? make("span", {class: bad ? "bad" : null}, plural(count, word)) : none;
    byId("numbers").append(...[
      told.busy_share === null ? null : `GPU busy ${share(told.busy_share)} of the run`,
      facts.kernels_run === null ? null : some(facts.kernels_run, "kernel", "no kernels"),
      facts.stalls ? `${plural(facts.stalls, "stall")}, ${duration(facts.stalled_ns)}` : "no stalls",
      facts.loads ? `${plural(facts.loads, "load")} of code, ${duration(facts.loading_ns + (facts.compiling_ns || 0))}` : "no loads of code",
      some(facts.failed_calls, "failed call", "no failed calls", true), some(facts.lost_records, "lost record", "no lost records", true),
      some(facts.in_flight, "unfinished call", null, true),
    ].filter(Boolean).flatMap((text, i) => [i ? " · " : "", make("span", {}, text)]));
    // What the parts above do not say: the start, steps, and what gpuverify itself cost.
    const bar = /^(one step|the run) {3}/;
    const own = (line) => line.startsWith("gpuverify cost");
    const about = lines.filter((line) => !own(line) && !bar.test(line) && line !== told.headline);
    byId("about").append(...about.map((line) => make("p", {}, line)));
    byId("about").hidden = about.length + report.notes.length + facts.in_flight === 0;
    byId("foot").append(...lines.filter(own).map((line) => make("p", {}, `${line}.`)),
      make("p", {}, `Made by gpuverify ${told.version} from ${file}. Times are since the start of the trace.`));
  };

  // A table, from somewhere above it.
  const toTable = (...names) => {
    if (names.some((name) => gvTable.choose(name, ""))) section("tables");
  };

  const toFinding = (id) => {
    const shown = byId(`item-${id}`);
    shown.scrollIntoView({block: "nearest"});
    shown.focus({preventScroll: true});
  };

  // Of what a step, or the run, is made: each part leads to its finding, or to its lines.
  const showBudget = () => {
    const all = told.budget.reduce((sum, part) => sum + part.ns, 0);
    if (all === 0) return;
    const parts = told.budget.map((part) => {
      const finding = told.findings.find((one) => one.id === part.kind);
      const number = finding ? `${part.kind.slice(1)} ` : "";
      const kind = finding ? (finding.may ? "may" : "cost") : part.kind;
      const go = () => finding ? toFinding(finding.id) : kind === "busy" ? toTable("gpu_lines", "accounts") : toTable("accounts");
      const text = `${part.name} ${duration(part.ns)}, ${share(part.ns / all)}`;
      const drawn = make("button", {type: "button", class: kind, title: text, "aria-label": text, tabindex: "-1", onclick: go},
        finding && part.ns > all / 90 ? number : kind === "busy" && part.ns > all / 12 ? part.name : "");
      drawn.style.flexGrow = part.ns / all;
      return [drawn, make("li", {}, make("button", {type: "button", class: `key ${kind}`, onclick: go},
        make("b", {}, number), part.name, make("b", {}, ` ${duration(part.ns)} `),
        make("span", {class: "dim"}, share(part.ns / all))))];
    });
    byId("budget").append(make("div", {class: "parts", "aria-hidden": "true"}, ...parts.map(([drawn]) => drawn)),
      make("ul", {"aria-label": "Where the time goes"},
        make("li", {class: "dim"}, `${told.of === "a step" ? "One step" : "The run"}: ${duration(all)}`), ...parts.map(([, key]) => key)));
    if (told.busy) byId("budget").append(make("p", {}, `While the GPU is busy: ${told.busy.replace(/(^|; )of it /, "$1")}`));
  };

  const facts = told.facts.filter((one) => one.name !== "accelerated");
  const first = facts[0] || told.findings[0]; // whose words are in the headline

  const item = (one, number, name, story, ...costs) => make("li", {id: one.id ? `item-${one.id}` : null, class: one.lost_ns === 0 ? "busy" : one.may ? "may" : "cost", tabindex: "-1"},
    make("div", {class: "item-head"}, make("span", {class: "item-number"}, number),
      one.line ? make("code", {}, one.line) : null, make("h3", {}, name), ...costs),
    one.id === first.id && told.headline.endsWith(one.text) ? null : make("p", {class: "what"}, one.text),
    one.fix ? make("p", {class: "fix"}, make("b", {}, "Fix: "), one.fix.replace(/^fix: /, "")) : null,
    story ? make("div", {class: "actions"}, make("button", {type: "button", onclick: () => open(story)}, `Explain ${story.name_}`),
      timelineButton(story)) : null);

  const fact = (one) => {
    const story = one.name === "unfinished" ? byName.get("c1") : null;
    return item({...one, fix: story?.fix || one.fix}, "!", one.name, story);
  };

  const finding = (one) => item(one, one.id.slice(1), one.name, byName.get(one.id),
    one.lost_ns > 0 ? make("span", {class: "cost"}, duration(one.lost_ns)) : null,
    one.lost_ns > 0 ? make("span", {class: "dim"}, `${one.share} of ${told.of}`) : null);

  const showFindings = () => {
    if (told.findings.length + facts.length === 0) byId("findings-title").textContent = "No findings";
    byId("items").append(...facts.map(fact), ...told.findings.map(finding));
    const more = stories.filter((story) => story.kind === "finding").length - told.findings.length;
    if (more > 0) byId("more").append(link(plural(more, "more finding"), () => toTable("findings")));
    const unfinished = stories.filter((story) => story.kind === "flight");
    byId("notes").append(
      ...unfinished.length === 0 ? [] : [make("li", {}, `${plural(unfinished.length, "call")} had not returned: `,
        ...unfinished.slice(0, 20).flatMap((story, i) => [i ? ", " : "",
          link(`${story.name || "a call"} (${story.name_})`, () => open(story))]),
        unfinished.length > 20 ? ` and ${number(unfinished.length - 20)} more` : "")],
      ...report.notes.map((note) => make("li", {}, note)));
  };

  // ---- tables ----

  // Sections of the report, in the order of the list; those not named come before the last four.
  const TABS = {
    stalls: "Stalls by cause", idle: "Idle by line", kernels: "Kernels", gpu_lines: "GPU time by line", calls: "Calls",
    launches: "Launches", copies: "Copies", sync: "Requested waits", loads: "Loads of code", steps: "Steps", ranges: "Ranges",
    memory_lines: "Memory by line", memory_peak: "Memory at its peak", leaks: "Never freed", memory: "Memory", devices: "Devices",
    gaps: "GPU gaps", latency: "Latency", errors: "Failed calls", captures: "Lost captures", flights: "Unfinished calls",
    minutes: "Over minutes", changes: "Since when", processes: "Processes", losses: "Lost records", environment: "Environment",
    own_cost: "Cost of gpuverify", run: "Run",
  };
  const ORDER = Object.keys(TABS);
  // They have one row, and are read downwards.
  const RECORDS = ["run", "memory", "latency"];

  const storyTables = () => {
    const list = (kind) => stories.filter((story) => story.kind === kind);
    const row = (story, ...values) => Object.assign(values, {story});
    const note = (count) => count >= MOST ? `The ${MOST} longest.` : "";
    const stalls = list("stall");
    const idle = list("idle");
    const findings = list("finding");
    return [
      {
        name: "findings", tab: "Findings", title: "Findings, those that matter most first", note: note(findings.length),
        columns: [["finding", "name"], ["lost", "duration"], ["share", "share"], ["of", "text"], ["line", "text"], ["what", "text"],
          ["in words", "text"], ["confidence", "text"]],
        rows: findings.map((one) => row(one, one.name_, one.lost_ns, one.share, one.phase, one.line || null, one.what, one.title, one.confidence)),
        open: (from) => open(from.story),
      },
      {
        name: "accounts", tab: "Accounts", title: "Where the device's time went, by account and line",
        columns: [["of", "text"], ["account", "text"], ["line", "text"], ["total", "duration"], ["share", "share"], ["pieces", "number"],
          ["after the wait at", "text"], ["confidence", "text"]],
        rows: told.accounts,
      },
      {
        name: "each_stall", tab: "Stalls", title: "Stalls, longest first", note: note(stalls.length),
        columns: [["stall", "name"], ["lost", "duration"], ["line", "text"], ["cause", "text"], ["call", "text"], ["kernel", "name"],
          ["waited for", "name"], ["when", "moment"], ["took", "duration"], ["thread", "number"], ["confidence", "text"]],
        rows: stalls.map((one) => row(one, one.name_, one.lost_ns, one.line || null, one.cause, one.name, one.kernel,
          one.blocked_by_name || one.host_function_name || one.waited_for_name || one.other_name, one.start_ns, one.duration_ns,
          one.thread, one.confidence)),
        open: (from) => open(from.story),
      },
      {
        name: "each_idle", tab: "Idle times", title: "Idle times, longest first", note: note(idle.length),
        columns: [["idle time", "name"], ["length", "duration"], ["line", "text"], ["reason", "text"], ["what", "text"], ["when", "moment"],
          ["gaps", "number"], ["device", "number"], ["thread", "number"], ["confidence", "text"]],
        rows: idle.map((one) => row(one, one.name_, one.duration_ns, one.line || null, one.reason, one.detail, one.start_ns, one.gaps,
          one.device, one.thread, one.confidence)),
        open: (from) => open(from.story),
      },
    ];
  };

  const sectionTable = (name) => {
    const layout = layouts[name];
    const record = report.sections[name].length === 1 && RECORDS.includes(name) ? Object.values(report.sections[name][0]) : null;
    if (record) {
      const columns = [["what", "text"], ["value", "text"]];
      const rows = layout.columns.map(([what, kind], i) => [what, value(record[i], kind)]).filter((row) => row[1] !== "-");
      return {name, tab: TABS[name], title: layout.title, columns, rows};
    }
    const rows = report.sections[name].map((row) => Object.values(row));
    const width = rows[0]?.length || 0;
    const columns = layout.columns.slice(0, width);
    // An estimate's error is a column only if there are estimates.
    if (columns.at(-1)?.[0] === "standard error" && rows.every((row) => row[width - 1] === null)) {
      columns.pop();
      rows.forEach((row) => row.pop());
    }
    return {
      name, tab: TABS[name] || layout.title, title: layout.title, columns, rows,
      note: rows.length >= 1000 ? "The first 1000 rows." : "",
    };
  };

  const showTables = () => {
    const names = Object.keys(report.sections).filter((name) => layouts[name]);
    const place = (name) => ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length - 4.5;
    names.sort((one, other) => place(one) - place(other));
    const tables = [...storyTables(), ...names.map(sectionTable)];
    const idle = tables.find((table) => table.name === "idle");
    if (idle) idle.open = (row) => byName.has(row[7]) && open(byName.get(row[7]));
    gvTable.show(byId("tables"), tables.filter((table) => table.rows.length > 0),
      tables.filter((table) => table.rows.length === 0).map((table) => table.tab.toLowerCase()));
  };

  // ---- search ----

  const query = byId("query");
  const hits = byId("hits");
  let index = null; // [{what, text, words, go}]
  let marked = -1;

  const makeIndex = () => {
    const found = stories.map((story) => ({
      what: {finding: "finding", stall: "stall", idle: "idle time", flight: "unfinished call"}[story.kind],
      text: [story.name_, story.cause || story.reason || story.title, story.name, story.kernel, story.line, costs(story)].filter(Boolean).join("  "),
      go: () => open(story),
    }));
    for (const table of gvTable.all()) {
      if (table.name === "findings" || table.name.startsWith("each_")) continue;
      for (const row of table.rows) {
        const text = row.filter((raw) => typeof raw === "string").join("  ");
        if (text) found.push({what: table.tab, text, go() {
          gvTable.choose(table.name, String(row.find((raw) => typeof raw === "string")).slice(0, 200), true);
          section("tables");
        }});
      }
    }
    for (const frame of gvFlame.all())
      found.push({what: frame.title, text: `${frame.node.name}  ${duration(frame.node.ns)}`, go() {
        section("flames");
        frame.open();
      }});
    for (const one of found) one.words = `${one.what} ${one.text}`.toLowerCase();
    return found;
  };

  const hideHits = () => {
    hits.hidden = true;
    query.setAttribute("aria-expanded", "false");
    query.removeAttribute("aria-activedescendant");
    marked = -1;
  };

  const search = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) {
      hideHits();
      return;
    }
    index ??= makeIndex();
    const found = index.filter((one) => words.every((word) => one.words.includes(word)));
    // Some of each kind, so that a thousand stalls leave room for a kernel.
    const counts = new Map();
    const first = found.filter((one) => {
      counts.set(one.what, (counts.get(one.what) || 0) + 1);
      return counts.get(one.what) <= HITS_EACH;
    }).slice(0, HITS);
    hits.replaceChildren(...first.map((one, i) => {
      const hit = make("li", {role: "option", id: `hit-${i}`, "aria-selected": "false", onclick: () => go(one)},
        make("span", {class: "dim"}, one.what), make("span", {class: "hit"}, one.text));
      hit.found = one;
      return hit;
    }));
    if (found.length === 0 || found.length > first.length)
      hits.append(make("li", {class: "dim", role: "presentation"},
        found.length ? `and ${number(found.length - first.length)} more` : "Nothing found"));
    hits.hidden = false;
    query.setAttribute("aria-expanded", "true");
    mark(found.length ? 0 : -1);
  };

  const mark = (at) => {
    const options = hits.querySelectorAll("[role=option]");
    marked = options.length ? (at + options.length) % options.length : -1;
    options.forEach((option, i) => option.setAttribute("aria-selected", i === marked));
    if (marked < 0) {
      query.removeAttribute("aria-activedescendant");
      return;
    }
    query.setAttribute("aria-activedescendant", `hit-${marked}`);
    options[marked].scrollIntoView({block: "nearest"});
  };

  const go = (one) => {
    hideHits();
    query.value = "";
    query.blur();
    one.go();
  };

  query.addEventListener("input", search);
  query.addEventListener("focus", search);
  query.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") mark(marked + 1);
    else if (event.key === "ArrowUp") mark(marked - 1);
    else if (event.key === "Enter" && marked >= 0) go(hits.querySelectorAll("[role=option]")[marked].found);
    else if (event.key === "Escape") {
      query.value = "";
      hideHits();
      query.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!byId("search").contains(event.target)) hideHits();
  });

  // ---- keys ----

  const keys = {
    "/": () => query.focus(),
    f: () => {
      if (stories[0]) open(stories[0]);
    },
    n: () => opened ? next(1) : stories[0] && open(stories[0]),
    p: () => opened && next(-1),
    z: () => opened && hasTimeline && exampleOf(byName.get(opened)) && zoomTo(byName.get(opened)),
    d: otherScheme,
    "?": () => byId("keys").showModal(),
    Escape: close,
  };
  document.addEventListener("keydown", (event) => {
    const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (typing && event.key !== "Escape") return;
    const does = keys[event.key];
    if (!does) return;
    if (event.key !== "Escape") event.preventDefault();
    does();
  });
  byId("scheme").addEventListener("click", otherScheme);
  byId("help").addEventListener("click", keys["?"]);

  // ---- all together ----

  let hasTimeline = true; // until its data have come

  const start = () => {
    byId("bar").hidden = false;
    byId("page").hidden = false;
    showRun();
    showBudget();
    showFindings();
    showTables();
    gvFlame.show(byId("flames"), data("flames"));
    byId("parts").append(...[["findings", "Findings"], ["timeline-part", "Timeline"], ["flames", "Flame graphs"], ["tables", "Tables"]]
      .filter(([id]) => !byId(id).hidden).map(([id, text]) => make("a", {href: `#${id}`}, text)));
    window.addEventListener("popstate", follow);
    follow();
  };

  // Its data may be large: they come last, when the rest of the page can be seen.
  const showTimeline = () => {
    const timeline = JSON.parse(byId("timeline-data").textContent);
    hasTimeline = timeline !== null;
    byId("timeline-part").hidden = !hasTimeline;
    document.querySelectorAll("[href='#timeline-part'], .to-timeline").forEach((one) => (one.hidden = !hasTimeline));
    if (hasTimeline) gvTimeline.show(byId("timeline"), {...timeline, whole: !report.numbers.lost_records && !timeline.left_out});
    const story = byName.get(opened);
    if (story && story.kind !== "flight" && exampleOf(story)) gvTimeline.select(...exampleOf(story));
  };

  return {
    start,
    showTimeline,
    // A stall, idle time, call or op ("stall", 6), as the timeline calls it on a click.
    open(kind, id) {
      const story = storyOf(kind, id);
      if (story) open(story);
      else {
        opened = null;
        reveal(describe(kind, id));
      }
    },
  };
})();
gvPage.start();
