"use strict";
// Tables that sort and filter, one at a time beside the list of all; on paper, all of them.
const gvTable = (() => {
  const {make, number, value} = gvText;
  const ROWS = 100;
  const PAPER_ROWS = 40;
  const SHORT = 24; // letters
  const MONO = ["line", "after the wait at", "where", "kernel", "call", "captured at", "begun at", "ended at", "variable", "value"];
  const tables = []; // {name, title, columns: [[name, kind]], rows: [[value]], open: (row) => or undefined}
  let chosen = null;
  let list = null;
  let view = null;

  const isText = (kind) => kind === "text" || kind === "name";

  const compare = (kind) => isText(kind)
    ? (one, other) => String(one).localeCompare(String(other), "en", {numeric: true})
    : (one, other) => one - other;

  // The rows to show: those with all words of the filter, sorted; values that are not known last.
  const wanted = (table) => {
    const words = table.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = table.rows.filter((row) => {
      if (words.length === 0) return true;
      row.words ??= row.map((raw, i) => value(raw, table.columns[i][1])).join(" ").toLowerCase();
      return words.every((word) => row.words.includes(word));
    });
    if (table.sort === null) return rows;
    const at = table.sort;
    const order = compare(table.columns[at][1]);
    const sign = table.descending ? -1 : 1;
    const known = (row) => row[at] !== null && row[at] !== undefined;
    return [...rows.filter(known).sort((one, other) => sign * order(one[at], other[at])), ...rows.filter((row) => !known(row))];
  };

  const cell = (table, row, i) => {
    const [name, kind] = table.columns[i];
    const text = value(row[i], kind);
    const known = row[i] !== null && row[i] !== undefined;
    const attributes = {class: [isText(kind) ? "text" : "number", known ? null : "unknown",
      MONO.includes(name) ? "mono" : null, table.short[i] ? "short" : null].filter(Boolean).join(" ")};
    if (i === 0 && table.open) return make("td", attributes, make("button", {type: "button", class: "link"}, text));
    const made = make("td", attributes, isText(kind) ? make("span", {title: text.length > 48 ? text : null}, text) : text);
    if (kind === "share" && typeof row[i] === "number") {
      made.classList.add("share");
      made.style.setProperty("--share", `${Math.max(0, Math.min(1, row[i])) * 100}%`);
    }
    return made;
  };

  const body = (table, most) => {
    const rows = wanted(table);
    return {
      count: rows.length,
      made: make("tbody", {}, ...rows.slice(0, most).map((row) => make("tr",
        table.open ? {class: "open", onclick: () => table.open(row.from)} : {}, ...row.map((_, i) => cell(table, row, i))))),
    };
  };

  // A heading that sorts: numbers largest first, texts from A.
  const heading = (table, i, draw) => {
    const [name, kind] = table.columns[i];
    const sorted = table.sort === i;
    const sort = () => {
      table.descending = sorted ? !table.descending : !isText(kind);
      table.sort = i;
      draw(i);
    };
    return make("th", {
      scope: "col", class: isText(kind) ? "text" : "number",
      "aria-sort": sorted ? (table.descending ? "descending" : "ascending") : null,
    }, draw ? make("button", {type: "button", onclick: sort}, name) : name);
  };

  const draw = (table, focus) => {
    const {count, made} = body(table, table.all ? Infinity : ROWS);
    const again = (i) => draw(table, i);
    const head = make("thead", {}, make("tr", {}, ...table.columns.map((_, i) => heading(table, i, again))));
    view.count.textContent = count === table.rows.length ? gvText.plural(count, "row")
      : `${number(count)} of ${gvText.plural(table.rows.length, "row")}`;
    view.table.replaceChildren(head, made);
    view.more.hidden = table.all || count <= ROWS;
    view.more.textContent = `Show all ${number(count)}`;
    if (focus !== undefined) head.querySelectorAll("button")[focus].focus();
  };

  const choose = (name, filter, focus) => {
    const table = tables.find((one) => one.name === name);
    if (!table) return false;
    chosen = table;
    if (filter !== undefined) table.filter = filter;
    for (const tab of list.children) {
      const is = tab.dataset.name === name;
      tab.setAttribute("aria-selected", is);
      tab.tabIndex = is ? 0 : -1;
      if (is && focus) tab.focus();
      if (is) view.panel.setAttribute("aria-labelledby", tab.id);
    }
    view.title.textContent = table.title;
    view.filter.value = table.filter;
    view.note.textContent = table.note || "";
    view.scroll.scrollLeft = 0;
    draw(table);
    return true;
  };

  const moves = (event) => {
    const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
    const at = tables.indexOf(chosen);
    const next = event.key === "Home" ? 0 : event.key === "End" ? tables.length - 1
      : step ? (at + step + tables.length) % tables.length : at;
    if (next === at) return;
    event.preventDefault();
    choose(tables[next].name, undefined, true);
  };

  // A table for paper: its first rows, without controls.
  const forPaper = (table) => {
    const rows = table.rows.length;
    return make("figure", {class: "paper"}, make("figcaption", {},
      table.title + (rows > PAPER_ROWS ? ` (${PAPER_ROWS} of ${number(rows)} rows)` : "")),
    make("table", {}, make("thead", {}, make("tr", {}, ...table.columns.map((_, i) => heading(table, i, null)))),
      body({...table, filter: "", sort: null}, PAPER_ROWS).made));
  };

  // Numbers that name something are not grouped by thousands.
  const IDS = ["thread", "process", "device", "kind", "slowest", "result"];
  const kindOf = ([name, kind]) => [name, kind === "number" && IDS.includes(name) ? "id" : kind];

  // Columns in which no row has a value are left out; those of short texts are not broken into lines.
  const withoutEmpty = (table) => {
    const kept = table.columns.map((_, i) => i).filter((i) => i === 0 || table.rows.some((row) => row[i] !== null && row[i] !== undefined));
    const pick = (list) => kept.map((i) => list[i]);
    const rows = table.rows.map((row) => Object.assign(pick(row), {from: row}));
    const isShort = (i) => rows.every((row) => row[i] === null || String(row[i]).length <= SHORT);
    return {...table, columns: pick(table.columns).map(kindOf), rows, short: kept.map((_, i) => isShort(i))};
  };

  const show = (section, given, empty) => {
    for (const table of given.map(withoutEmpty))
      tables.push({...table, filter: "", sort: null, descending: true, all: false});
    list = make("div", {class: "tabs", role: "tablist", "aria-label": "Tables", "aria-orientation": "vertical", onkeydown: moves},
      ...tables.map((table) => make("button", {
        type: "button", role: "tab", id: `tab-${table.name}`, "data-name": table.name, "aria-controls": "table",
        onclick: () => choose(table.name),
      }, table.tab, make("span", {class: "count"}, number(table.rows.length)))));
    view = {
      title: make("h3", {}),
      note: make("p", {class: "dim"}),
      count: make("span", {class: "dim", role: "status"}),
      filter: make("input", {type: "search", placeholder: "Filter rows", "aria-label": "Filter rows: words that must all be in a row",
        autocomplete: "off", spellcheck: "false"}),
      table: make("table", {}),
      more: make("button", {type: "button"}),
    };
    view.filter.addEventListener("input", () => {
      chosen.filter = view.filter.value;
      draw(chosen);
    });
    view.more.addEventListener("click", () => {
      chosen.all = true;
      draw(chosen);
    });
    view.scroll = make("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": "Rows"}, view.table);
    view.panel = make("div", {id: "table", role: "tabpanel"},
      make("div", {class: "table-head"}, view.title, view.count, view.filter), view.note, view.scroll, view.more);
    section.append(make("div", {class: "tables"}, list, view.panel));
    if (empty.length > 0)
      section.append(make("p", {class: "dim"}, `Without rows: ${empty.join(", ")}.`));
    if (tables.length > 0) choose(tables[0].name);
    let paper = [];
    window.addEventListener("beforeprint", () => {
      paper = tables.map(forPaper);
      section.append(...paper);
    });
    window.addEventListener("afterprint", () => paper.forEach((figure) => figure.remove()));
  };

  return {show, choose, all: () => tables};
})();
