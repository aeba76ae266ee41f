"use strict";
// Flame graphs: the root on top, width is time. A frame zooms in; arrows move between frames.
const gvFlame = (() => {
  const {make, duration, share} = gvText;
  const SMALL = 0.002; // of the shown width: narrower frames are not drawn
  const KINDS = ["own", "package", "native", "leaf"];
  const graphs = [];
  let view = null;
  let graph = null;

  // [depth, kind, ns, samples, name] in the order of the tree -> nodes.
  const tree = (frames) => {
    const path = [];
    return frames.map(([depth, kind, ns, samples, name]) => {
      const parent = depth > 0 ? path[depth - 1] : null;
      const node = {depth, kind, ns, samples, name, parent, children: [], from: parent ? parent.until : 0};
      node.until = node.from; // moves right as its children take their place
      if (parent) {
        parent.children.push(node);
        parent.until += ns;
      }
      path[depth] = node;
      return node;
    });
  };

  const told = (node) => {
    const whole = graph.nodes[0].ns;
    return `${node.name} · ${duration(node.ns)} · ${share(node.ns / whole)} of the ${graph.title}`
      + (node.samples > 0 ? ` · ${gvText.plural(node.samples, "sample")}` : "");
  };

  const point = (node) => {
    view.told.textContent = told(node);
  };

  const focus = (node) => {
    if (!node || !node.element) return;
    view.graph.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    node.element.tabIndex = 0;
    node.element.focus({preventScroll: true});
  };

  const isAbove = (node, other) => {
    for (let at = other; at; at = at.parent) if (at === node) return true;
    return false;
  };

  const place = (element, left, width, depth) => {
    element.style.left = `${left * 100}%`;
    element.style.width = `${width * 100}%`;
    element.style.top = `${depth * 1.5}rem`;
    return element;
  };

  // Neighbours that are too narrow are drawn as one: they are the last of their parent.
  const gather = (small, node) => {
    const them = small.get(node.parent) || {from: node.from, until: node.until, count: 0};
    them.from = Math.min(them.from, node.from);
    them.until = Math.max(them.until, node.from + node.ns);
    them.count++;
    small.set(node.parent, them);
  };

  const draw = (focused) => {
    const top = graph.zoomed;
    const made = [];
    const small = new Map(); // by their parent
    let deepest = 0;
    for (const node of graph.nodes) {
      const above = isAbove(node, top) && node !== top;
      const left = above ? 0 : (node.from - top.from) / top.ns;
      const width = above ? 1 : node.ns / top.ns;
      node.element = null;
      if (!above && !isAbove(top, node)) continue;
      if (width < SMALL) {
        gather(small, node);
        continue;
      }
      node.element = make("button", {
        type: "button", class: `frame ${node.depth === 0 ? "root" : KINDS[node.kind] || "native"}${above ? " above" : ""}`,
        tabindex: "-1", "aria-label": told(node), onclick: () => zoom(node, true),
        onpointerenter: () => point(node), onfocus: () => point(node),
      }, make("span", {}, node.name));
      place(node.element, left, width, node.depth);
      node.element.node = node;
      deepest = Math.max(deepest, node.depth);
      made.push(node.element);
    }
    for (const [parent, them] of small) {
      const width = (them.until - them.from) / top.ns;
      if (!parent.element || width < SMALL) continue;
      const text = `${them.count} smaller`;
      const box = place(make("div", {class: "frame small", title: text}, make("span", {}, text)), (them.from - top.from) / top.ns, width,
        parent.depth + 1);
      deepest = Math.max(deepest, parent.depth + 1);
      made.push(box);
    }
    view.graph.style.height = `${(deepest + 1) * 1.5}rem`;
    view.graph.replaceChildren(...made);
    view.reset.hidden = top === graph.nodes[0];
    point(top);
    if (focused) focus(top);
    else if (top.element) top.element.tabIndex = 0;
  };

  const zoom = (node, focused) => {
    graph.zoomed = node;
    draw(focused);
  };

  const moves = (event) => {
    const node = document.activeElement?.node;
    if (!node) return;
    const beside = node.parent ? node.parent.children : [node];
    const drawn = (list) => list.find((one) => one.element);
    const at = beside.indexOf(node);
    const next = {
      ArrowUp: () => node.parent,
      ArrowDown: () => drawn(node.children),
      ArrowLeft: () => drawn(beside.slice(0, at).reverse()),
      ArrowRight: () => drawn(beside.slice(at + 1)),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    focus(next());
  };

  const choose = (index, focused) => {
    graph = graphs[index];
    for (const [i, tab] of [...view.tabs.children].entries()) {
      tab.setAttribute("aria-selected", i === index);
      tab.tabIndex = i === index ? 0 : -1;
      if (i === index && focused) tab.focus();
    }
    view.leaf.textContent = graph.leaf;
    draw(false);
  };

  const show = (section, given) => {
    for (const one of given) {
      const nodes = tree(one.frames);
      if (nodes.length > 1) graphs.push({...one, nodes, zoomed: nodes[0]});
    }
    if (graphs.length === 0) {
      section.hidden = true;
      return;
    }
    const key = (kind, text) => make("span", {class: `key ${kind}`}, text);
    view = {
      told: make("p", {class: "told"}),
      graph: make("div", {class: "flame", role: "group", "aria-label": "Frames; arrow keys move, Enter zooms", onkeydown: moves}),
      leaf: key("leaf", ""),
      reset: make("button", {type: "button", onclick: () => zoom(graph.nodes[0], true)}, "Show all"),
    };
    view.tabs = make("div", {class: "tabs across", role: "tablist", "aria-label": "Flame graphs", onkeydown: (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (step) choose((graphs.indexOf(graph) + step + graphs.length) % graphs.length, true);
    }}, ...graphs.map((one, i) => make("button", {type: "button", role: "tab", "aria-controls": "flame", onclick: () => choose(i)},
      `${one.title[0].toUpperCase()}${one.title.slice(1)}`, make("span", {class: "count"}, duration(one.nodes[0].ns)))));
    section.append(view.tabs, make("div", {id: "flame", role: "tabpanel", "aria-label": "Flame graph"},
      make("div", {class: "keys"}, key("own", "the program's own line"), key("package", "package"),
        key("native", "native code"), view.leaf, view.reset), view.graph, view.told));
    choose(0);
  };

  // What the search can find: [title, node, open].
  const all = () => graphs.flatMap((one, index) => one.nodes.slice(1).map((node) => ({
    title: one.title, node,
    open() {
      choose(index);
      zoom(node, true);
    },
  })));

  return {show, all};
})();
