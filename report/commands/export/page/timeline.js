"use strict";
// The timeline: gvTimeline.show(section, data), .zoom(from_ns, until_ns), .select(kind, id), and
// .describe(kind, id): for a call or an operation {title, facts: [[name, text], ...]}, or null.
// Times are nanoseconds since the trace's start. A click calls gvPage.open(kind, id), of kind
// "stall", "idle", "call" or "op"; or "flight" with the thread's id, for its call that did not return.
//
// The data come from slices.h: per track the groups of its slices, and the slices, which are read
// when they are first wide enough to be seen. From afar a group is drawn as one.
const gvTimeline = (() => {
  const KINDS = { idle: "idle", stream: "op", stalls: "stall", thread: "call" }; // of gvPage.open()
  const HEIGHTS = { idle: 18, stream: 20, counter: 20, steps: 16, ranges: 16, thread: 20, stalls: 18, unseen: 16, process: 22 };
  const AXIS = 24; // height of the scale above the tracks
  const SEEN = 2; // a group of fewer pixels is drawn as one
  const WIDE = 12; // a slice of at least so many pixels has edges and a text
  const SHORTEST_NS = 100; // that fills the whole width
  const PAPER = 680; // width on paper, about that of A4 without its margins
  const ARROWS = 100; // operations in sight, all of which have their arrows

  // ---- reading ----

  const digits = new Uint8Array(128);
  let half, text, at;

  function number() {
    let value = 0;
    for (let scale = 1; ; scale *= half) {
      const digit = digits[text.charCodeAt(at++)];
      value += digit * scale;
      if (!(digit >= half)) return value;
    }
  }

  function signed() {
    const value = number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  function readGroups(track) {
    const groups = Math.ceil(track.count / data.group);
    let start = 0, offset = 0, id = 0, link = 0, latest = -Infinity;
    for (const name of ["start", "end", "latest", "busy", "name", "offset", "id", "link"])
      track.group[name] = new Float64Array(groups);
    track.read = new Uint8Array(groups);
    text = track.groups;
    at = 0;
    for (let i = 0; i < groups; i++) {
      start += number() * data.unit_ns;
      track.group.start[i] = start;
      track.group.end[i] = start + Math.max(1, number()) * data.unit_ns;
      track.group.latest[i] = latest = Math.max(latest, track.group.end[i]);
      track.group.busy[i] = number() / (half - 1);
      track.group.name[i] = number();
      track.group.offset[i] = offset;
      offset += number();
      track.group.id[i] = id += signed();
      track.group.link[i] = link += signed();
    }
    for (const name of ["start", "duration", "id", "link", "several"])
      track[name] = new Float64Array(track.count);
    track.name = new Uint16Array(track.count);
    track.busy = new Float32Array(track.count).fill(1);
  }

  // Reads the slices of a group. Returns the first one and the one after the last.
  function readGroup(track, group) {
    const first = group * data.group, end = Math.min(track.count, first + data.group);
    if (!track.read[group]) {
      let start = track.group.start[group], id = track.group.id[group], link = track.group.link[group];
      track.read[group] = 1;
      text = track.slices;
      at = track.group.offset[group];
      for (let i = first; i < end; i++) {
        track.start[i] = start += number() * data.unit_ns;
        track.duration[i] = number() * data.unit_ns;
        track.several[i] = 1;
        track.name[i] = number();
        if (track.name[i] === 0) {
          track.several[i] = number();
          track.busy[i] = number() / (half - 1);
          track.name[i] = number();
        }
        track.id[i] = id += signed();
        const step = track.links ? number() : 0;
        if (step > 0) track.link[i] = link += step % 2 ? (step - 1) / 2 : -step / 2;
      }
    }
    return [first, end];
  }

  // The first index of a sorted array whose value is above `value`.
  function after(array, value) {
    let low = 0, high = array.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (array[middle] > value) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The slice of a kind with this id, as [track, index]; null: there is none. Ids increase along most
  // tracks: so it looks near that place first.
  function find(kind, id) {
    const searched = tracks.filter((track) => KINDS[track.kind] === kind);
    const inGroups = (track, from, until) => {
      for (let group = Math.max(0, from); group < Math.min(track.read.length, until); group++) {
        const [first, end] = readGroup(track, group);
        for (let i = first; i < end; i++) if (track.id[i] === id) return [track, i];
      }
      return null;
    };
    for (const track of searched) {
      const group = after(track.group.id, id);
      const found = inGroups(track, group - 2, group + 1);
      if (found) return found;
    }
    if (kind === "call") return null;
    for (const track of searched) {
      const found = inGroups(track, 0, Infinity);
      if (found) return found;
    }
    return null;
  }

  // The operations that a call put on the GPU, up to a few.
  function operationsOf(call) {
    const found = [];
    for (const track of tracks)
      if (track.kind === "stream" && track.process === call[0].process) {
        const id = call[0].id[call[1]], near = after(track.group.link, id);
        const from = after(track.group.latest, call[0].start[call[1]]);
        const look = (group) => {
          const [first, end] = readGroup(track, group);
          for (let i = first; i < end; i++) if (track.link[i] === id) found.push([track, i]);
        };
        for (let group = Math.max(0, near - 2); group < Math.min(track.read.length, near + 1); group++) look(group);
        for (let group = from; group < Math.min(track.read.length, from + 50); group++)
          if (group < near - 2 || group > near) look(group);
        if (found.length > 50) break;
      }
    return found;
  }

  // ---- words ----

  const { clean, duration: time, make, number: counted } = gvText;

  // A point in time, to a precision of `step` ns.
  function moment(ns, step) {
    const [unit, size] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6] : step >= 1e3 ? ["µs", 1e3] : ["ns", 1];
    if (Math.abs(ns) < 1e9 || step >= 1e9) return `${(ns / size).toFixed(0)} ${unit}`;
    return `${(ns / 1e9).toFixed(Math.ceil(9 - Math.log10(step)))} s`;
  }

  const point = (ns) => (Math.abs(ns) < 1e9 ? `${(ns / 1e6).toFixed(3)} ms` : `${(ns / 1e9).toFixed(6)} s`);

  function nameOf(track, index) {
    const [name, kind] = data.names[track.name[index] - 1] || ["?", ""];
    return [kind === "step" ? `${name} ${track.id[index]}` : name, kind];
  }

  function facts(track, index) {
    const [name, kind] = nameOf(track, index), count = track.several[index];
    const told = [["from", point(track.start[index])], ["duration", time(track.duration[index])]];
    if (kind && !["idle", "stall", "step", "range"].includes(kind)) told.unshift(["kind", kind]);
    if (track.kind === "stream") told.push(["on", track.title]);
    else if (track.thread) told.push(["thread", track.thread]);
    if (track.process) told.push(["process", track.process]);
    if (count > 1) told.push(["stands for", `${counted(count)} together, ${time(track.duration[index] * track.busy[index])} of the time; the longest: ${name}`]);
    return { title: count > 1 ? `${counted(count)} × ${name}` : name, facts: told };
  }

  function describe(kind, id) {
    const found = find(kind, id);
    if (!found) return null;
    const [track, index] = found, told = facts(track, index);
    if (kind === "op") {
      const call = track.link[index] && find("call", track.link[index]);
      if (call) told.facts.push(
        ["launched by", nameOf(...call)[0]],
        ["began", `${time(Math.max(0, track.start[index] - call[0].start[call[1]]))} after that call did`]);
    } else if (kind === "call") {
      for (const [on, i] of operationsOf(found).slice(0, 5))
        told.facts.push(["on the GPU", `${nameOf(on, i)[0]}, ${time(on.duration[i])}, ${time(Math.max(0, on.start[i] - track.start[index]))} later`]);
    }
    told.facts.push(["id", `${id}: gpuverify query 'SELECT * FROM ${kind === "op" ? "gpu_ops" : "calls"} WHERE id = ${id}'`]);
    return told;
  }

  // ---- what is shown ----

  let data, tracks = [], counters = [], rows = [], section, scroller, sized, canvas, context, tip, status, shown;
  let printing = false, view, width = 0, height = 0, gutter = 0, scrolled = 0, colors, waiting = false;
  let selected = null, hovered = null, arrows = new Map(), marked = null;
  const dense = document.createElement("canvas");

  // Colours of equal luminance: dark text is readable on them, and they stand out from black and white.
  function fill(hue, saturation) {
    const channel = (lightness, offset) => {
      const k = (offset + hue / 30) % 12;
      return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    };
    const linear = (value) => (value <= 0.04 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    let low = 0, high = 1;
    for (let i = 0; i < 12; i++) {
      const middle = (low + high) / 2;
      const luminance = 0.2126 * linear(channel(middle, 0)) + 0.7152 * linear(channel(middle, 8)) +
        0.0722 * linear(channel(middle, 4));
      if (luminance < 0.3) low = middle;
      else high = middle;
    }
    return [0, 8, 4].map((offset) => Math.round(255 * channel(low, offset)));
  }

  const HUES = { launch: [215, 0.25], copy: [175, 0.6], set: [160, 0.4], sync: [275, 0.5], load: [25, 0.8], unload: [25, 0.5],
    function: [25, 0.5], alloc: [45, 0.7], free: [45, 0.4], event: [215, 0.1], stream: [215, 0.1], graph: [320, 0.4], idle: [40, 0.15],
    stall: [0, 0.85], step: [200, 0.3], range: [130, 0.35], recording: [0, 0] };

  function colorNames() {
    return data.names.map(([name, kind], rank) => {
      const [red, green, blue] = kind === "kernel" ? fill((205 + rank * 137.5) % 360, 0.55) : fill(...(HUES[kind] || [215, 0.05]));
      return { css: `rgb(${red},${green},${blue})`, packed: (blue << 16) | (green << 8) | red };
    });
  }

  // The page's colours, which change with its scheme. Paper is white.
  function readColors(paper) {
    const style = getComputedStyle(section);
    colors = { text: paper ? "#000" : style.color, names: colors ? colors.names : colorNames() };
    dirty();
  }

  function dirty() {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }

  function layout() {
    let top = 0, process = null;
    rows = [];
    const several = new Set(tracks.map((track) => track.process)).size > 1 || new Set(counters.map((counter) => counter.device)).size > 1;
    // Of one process and device, the counters are below its streams; of several, they are nobody's.
    const threads = tracks.findIndex((track) => !track.device), below = several ? 0 : threads < 0 ? tracks.length : threads;
    for (const counter of counters) counter.process = several ? counter.device : tracks[0].process;
    for (const track of [...tracks.slice(0, below), ...counters, ...tracks.slice(below)]) {
      if (several && track.process !== process) {
        rows.push({ title: track.process, top, height: HEIGHTS.process });
        top += HEIGHTS.process;
      }
      process = track.process;
      track.top = top;
      track.height = HEIGHTS[track.kind];
      rows.push(track);
      top += track.height + (track.kind === "ranges" ? 0 : 3);
    }
    sized.style.height = `${top + AXIS + 4}px`;
  }

  function resize() {
    const ratio = printing ? 3 : window.devicePixelRatio || 1;
    width = printing ? PAPER : scroller.clientWidth;
    height = scroller.clientHeight;
    gutter = Math.min(170, Math.round(width * 0.24));
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = printing ? "100%" : `${width}px`;
    canvas.style.height = printing ? "auto" : `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw();
  }

  const scale = () => (width - gutter) / (view.until - view.from);
  const xOf = (ns) => gutter + (ns - view.from) * scale();
  const nsAt = (x) => view.from + (x - gutter) / scale();
  const yOf = (track) => AXIS + track.top - scrolled;

  // ---- drawing ----

  let cover, best, bestShare;
  let drawn = 0, wide = []; // how often it was drawn, and what has edges now

  // A slice or group that is not wide enough for edges: adds to what is known of each pixel.
  function accumulate(from, until, share, name) {
    const low = Math.max(0, from), high = Math.min(cover.length, Math.max(until, from + 1e-3));
    for (let x = Math.floor(low); x < high; x++) {
      const part = (Math.min(high, x + 1) - Math.max(low, x)) * share;
      cover[x] += part;
      if (part > bestShare[x]) {
        bestShare[x] = part;
        best[x] = name;
      }
    }
  }

  // Calls see(track, index) for slices in sight, and together(...) for groups that are seen as one.
  function walk(track, see, together) {
    const per = scale();
    const groups = track.read.length;
    for (let group = after(track.group.latest, view.from); group < groups; group++) {
      if (track.group.start[group] >= view.until) break;
      const from = (track.group.start[group] - view.from) * per, until = (track.group.end[group] - view.from) * per;
      if (until < 0) continue;
      if (until - from < SEEN) {
        together(from, until, group);
        continue;
      }
      const [first, end] = readGroup(track, group);
      for (let i = first; i < end; i++) {
        const left = (track.start[i] - view.from) * per, right = left + track.duration[i] * per;
        if (right >= 0 && left <= width - gutter) see(i, left, right);
      }
    }
  }

  function drawTrack(track, row) {
    cover.fill(0);
    bestShare.fill(0);
    walk(track, (i, left, right) => {
      if (right - left >= WIDE) wide.push([track, i, left, right]);
      else accumulate(left, right - left > 3 ? right - 0.7 : right, track.busy[i], track.name[i]);
    }, (from, until, group) => accumulate(from, until, track.group.busy[group], track.group.name[group]));
    if (track.cover?.length !== cover.length) track.cover = new Float32Array(cover.length);
    track.cover.set(cover);
    track.drawn = drawn;
    const offset = row * cover.length, empty = hasGaps(track) ? emptyOf(track) : null;
    for (let x = 0; x < cover.length; x++) {
      const share = cover[x];
      if (share === 0 && empty && empty[x] > 0.01) {
        dense.pixels[offset + x] = (Math.round(150 * (0.3 + 0.7 * empty[x])) << 24) | 0x808080;
        continue;
      }
      dense.pixels[offset + x] = share > 0
        ? (Math.round(255 * Math.min(1, 0.4 + 0.6 * share)) << 24) | colors.names[best[x] - 1].packed : 0;
    }
  }

  const hasGaps = (track) => track.kind === "idle" && track.isFirst;

  // How much of each pixel is neither work nor a known idle time of a device, from its first to its last operation.
  function emptyOf(idle) {
    const streams = tracks.filter((track) => track.kind === "stream" && track.parent === idle.parent), per = scale();
    const empty = new Float32Array(width - gutter);
    if (!data.whole || streams.length === 0) return empty;
    const from = Math.min(...streams.map((track) => track.group.start[0])), until = Math.max(...streams.map((track) => track.group.latest.at(-1)));
    empty.fill(1, Math.max(0, Math.ceil((from - view.from) * per)), Math.max(0, Math.floor((until - view.from) * per)));
    const take = (left, right, busy) => {
      for (let x = Math.max(0, Math.floor(left)); x < Math.min(empty.length, right); x++)
        empty[x] = Math.max(0, empty[x] - busy * (Math.min(right, x + 1) - Math.max(left, x)));
    };
    for (const track of tracks.filter((one) => one.parent === idle.parent || one.kind === "unseen" && one.process === idle.process))
      if (track.drawn === drawn) for (let x = 0; x < empty.length; x++) empty[x] = Math.max(0, empty[x] - track.cover[x]);
      else walk(track, (i, left, right) => take(left, right, track.busy[i]), (left, right, group) => take(left, right, track.group.busy[group]));
    for (const [track, i, left, right] of wide) if (track.parent === idle.parent) take(left, right, track.busy[i]);
    return empty;
  }

  // The time around a point in which no stream of a device had work; null: one had.
  function gapAt(idle, ns) {
    let from = -Infinity, until = Infinity;
    if (emptyOf(idle)[Math.floor(xOf(ns)) - gutter] === 0) return null;
    for (const track of tracks.filter((one) => one.kind === "stream" && one.parent === idle.parent)) {
      const group = after(track.group.start, ns) - 1;
      if (group > 0) from = Math.max(from, track.group.latest[group - 1]);
      if (group + 1 < track.read.length) until = Math.min(until, track.group.start[group + 1]);
      const [first, end] = group < 0 ? [0, 0] : readGroup(track, group);
      for (let i = first; i < end; i++)
        if (track.start[i] > ns) until = Math.min(until, track.start[i]);
        else from = Math.max(from, track.start[i] + track.duration[i]);
    }
    return from < ns && ns < until && until < Infinity && from > -Infinity ? [from, until] : null;
  }

  function drawText(words, x, y, room) {
    const most = Math.floor(room / 7);
    if (most > 2) context.fillText(words.length > most ? `${words.slice(0, most - 1)}…` : words, x, y);
  }

  function drawWide(track, i, left, right) {
    const x = Math.max(left, -2), end = Math.min(right, width - gutter + 2), y = yOf(track);
    const count = track.several[i];
    context.globalAlpha = 0.3 + 0.7 * track.busy[i];
    context.fillStyle = colors.names[track.name[i] - 1].css;
    context.fillRect(gutter + x, y, end - x - 1, track.height - 1);
    context.globalAlpha = 1;
    context.fillStyle = "#000";
    if (end - x > 26)
      drawText((count > 1 ? `${count} × ` : "") + nameOf(track, i)[0], gutter + Math.max(x, 0) + 3, y + track.height / 2, end - Math.max(x, 0) - 6);
  }

  function drawCounter(counter) {
    const y = yOf(counter), per = scale(), room = counter.height - 1;
    context.fillStyle = colors.text;
    context.globalAlpha = 0.06;
    context.fillRect(gutter, y, width - gutter, room);
    context.fillStyle = "rgb(70,130,190)";
    context.globalAlpha = 0.9;
    for (const [start, length, value] of counter.points) {
      const left = (start - view.from) * per, right = left + length * per, high = (room * value) / counter.most;
      if (right >= 0 && left <= width - gutter) context.fillRect(gutter + Math.round(left), y + room - high, Math.max(1, Math.round(right) - Math.round(left)), high);
    }
    context.fillStyle = colors.text;
    if (counter.most !== 100) context.fillText(`to ${counter.show(counter.most)}`, gutter + 4, y + room / 2);
    context.globalAlpha = 1;
  }

  function drawAxis() {
    const least = 90 / scale();
    const power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((times) => power * times >= least);
    context.strokeStyle = context.fillStyle = colors.text;
    for (let ns = Math.ceil(view.from / step) * step; ns <= view.until; ns += step) {
      const x = Math.round(xOf(ns)) + 0.5;
      context.globalAlpha = 0.15;
      context.beginPath();
      context.moveTo(x, AXIS - 8);
      context.lineTo(x, height);
      context.stroke();
      context.globalAlpha = 0.9;
      if (x < width - 40) context.fillText(moment(ns, step), x + 3, AXIS / 2);
    }
    context.globalAlpha = 1;
  }

  function drawArrow([fromTrack, fromNs], [track, ns], strong) {
    const x0 = xOf(fromNs), x1 = xOf(ns), down = fromTrack.top < track.top;
    const y0 = yOf(fromTrack) + (down ? fromTrack.height - 1 : 0), y1 = yOf(track) + (down ? 0 : track.height - 1);
    const bend = (y1 - y0) * 0.4;
    context.globalAlpha = strong ? 1 : 0.35;
    context.lineWidth = strong ? 1.6 : 1;
    context.strokeStyle = context.fillStyle = colors.text;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 3.5, y1 + (down ? -6 : 6));
    context.lineTo(x1 + 3.5, y1 + (down ? -6 : 6));
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1;
  }

  // From a call to its operations, and from a stall to what it waited for.
  function drawArrows([track, i], strong) {
    const end = track.start[i] + track.duration[i];
    if (track.kind === "stream" && track.link[i]) {
      const call = find("call", track.link[i]);
      if (call) drawArrow([call[0], call[0].start[call[1]]], [track, track.start[i]], strong);
    } else if (track.kind === "thread" && strong) {
      for (const [on, at] of operationsOf([track, i])) drawArrow([track, track.start[i]], [on, on.start[at]], strong);
    } else if (track.kind === "stalls") {
      for (const [on, start, duration] of arrows.get(track.id[i]) || [])
        drawArrow([track, end], [on, start + duration], strong);
    } else if (track.kind === "idle" && track.link[i] && strong) {
      const call = find("call", track.link[i]);
      if (call) drawArrow([track, end], [call[0], call[0].start[call[1]]], strong);
    }
  }

  function outline([track, i], strong) {
    const x = xOf(track.start[i]), end = Math.max(xOf(track.start[i] + track.duration[i]), x + 2);
    context.strokeStyle = colors.text;
    context.lineWidth = strong ? 2 : 1;
    context.strokeRect(x - 0.5, yOf(track) - 0.5, end - x, track.height);
    context.lineWidth = 1;
  }

  function drawTitles() {
    context.textBaseline = "middle";
    for (const row of rows) {
      const y = yOf(row);
      if (y > height || y + row.height < AXIS) continue;
      context.fillStyle = colors.text;
      if (row.kind) {
        context.globalAlpha = row.kind === "thread" || row.kind === "stream" ? 1 : 0.75;
        if (row.isFirst) drawText(row.title, ["thread", "stream", "idle", "unseen"].includes(row.kind) ? 4 : 12, y + row.height / 2, gutter - 10);
      } else {
        context.font = "bold 12px system-ui, sans-serif";
        drawText(row.title, 2, y + row.height / 2, width);
        context.font = "12px system-ui, sans-serif";
      }
      context.globalAlpha = 1;
    }
  }

  function clip(x, y, draw) {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }

  function draw() {
    waiting = false;
    if (!view || width <= gutter) return;
    scrolled = scroller.scrollTop;
    const visible = tracks.filter((track) => yOf(track) < height && yOf(track) + track.height > AXIS);
    const columns = Math.max(1, width - gutter);
    wide = [];
    drawn++;
    if (dense.width !== columns || dense.height < visible.length) {
      dense.width = columns;
      dense.height = Math.max(16, visible.length);
      dense.image = dense.getContext("2d").createImageData(columns, dense.height);
      dense.pixels = new Uint32Array(dense.image.data.buffer);
      [cover, bestShare, best] = [new Float32Array(columns), new Float32Array(columns), new Uint16Array(columns)];
    }
    // What is nobody's is what the others leave.
    for (const last of [false, true]) visible.forEach((track, row) => hasGaps(track) === last && drawTrack(track, row));
    dense.getContext("2d").putImageData(dense.image, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    clip(gutter, 0, drawAxis);
    clip(gutter, AXIS, () => {
      context.imageSmoothingEnabled = false;
      visible.forEach((track, row) => context.drawImage(dense, 0, row, columns, 1, gutter, yOf(track), columns, track.height - 1));
      for (const counter of counters) if (yOf(counter) < height && yOf(counter) + counter.height > AXIS) drawCounter(counter);
      for (const slice of wide) drawWide(...slice);
      const operations = wide.filter(([track]) => track.kind === "stream" || track.kind === "stalls");
      if (operations.length <= ARROWS) for (const slice of operations) drawArrows(slice, false);
      if (hovered) outline(hovered, false);
      if (selected) {
        outline(selected, true);
        drawArrows(selected, true);
      }
    });
    clip(0, AXIS, drawTitles);
    if (marked) {
      context.fillStyle = colors.text;
      context.globalAlpha = 0.15;
      context.fillRect(Math.min(...marked), 0, Math.abs(marked[1] - marked[0]), height);
      context.globalAlpha = 1;
    }
    shown.textContent = `${time(view.until - view.from)} of ${time(data.until_ns)}`;
  }

  // ---- moving ----

  function zoom(from, until) {
    const whole = Math.max(SHORTEST_NS, data.until_ns);
    // Far from 0, numbers are not exact enough for short times.
    const least = Math.max(SHORTEST_NS, Math.abs(from + until) * 1e-13);
    const span = Math.min(whole * 1.02, Math.max(least, until - from));
    const middle = (from + until) / 2;
    from = Math.min(Math.max(middle - span / 2, -whole * 0.01), data.until_ns + whole * 0.01 - span);
    view = { from, until: from + span };
    dirty();
  }

  const pan = (share) => zoom(view.from + share * (view.until - view.from), view.until + share * (view.until - view.from));

  // Changes how much is seen, while `ns` stays where it is.
  const zoomAt = (ns, times) => zoom(ns - (ns - view.from) * times, ns + (view.until - ns) * times);
  const zoomBy = (times) => zoomAt((view.from + view.until) / 2, times);
  const zoomAll = () => zoom(0, data.until_ns);

  function zoomTo([track, i], least) {
    const start = track.start[i], duration = track.duration[i];
    const room = Math.max(duration * 0.6, 1000);
    if (least && duration * scale() > 20 && start >= view.from && start + duration <= view.until) return;
    zoom(start - room, start + duration + room);
  }

  // Shows a slice: its row, its name to screen readers.
  function choose(slice) {
    selected = slice;
    if (slice) {
      const y = slice[0].top, seen = height - AXIS - slice[0].height;
      if (y < scroller.scrollTop || y > scroller.scrollTop + seen) scroller.scrollTop = Math.max(0, y - seen / 2);
      const told = facts(...slice);
      status.textContent = `${slice[0].title}: ${told.title}, ${told.facts.map((fact) => fact.join(" ")).join(", ")}`;
    }
    dirty();
  }

  function open(slice) {
    const kind = KINDS[slice[0].kind], id = slice[0].id[slice[1]];
    if (kind === "call" && id === 0) gvPage.open("flight", slice[0].of);
    else if (kind) gvPage.open(kind, id);
  }

  function select(kind, id) {
    const found = find(kind, id);
    if (found) {
      zoomTo(found, true);
      choose(found);
    }
    return found !== null;
  }

  // The slice at a point: of several in reach, the longest.
  function hit(x, y) {
    const track = tracks.find((one) => y >= yOf(one) && y < yOf(one) + one.height);
    let found = null, longest = -1;
    if (!track || x < gutter || y < AXIS) return null;
    x -= gutter;
    const see = (i, left, right) => {
      if (left <= x + 2 && right >= x - 2 && track.duration[i] > longest && (right - left < WIDE || (left <= x && right >= x))) {
        found = [track, i];
        longest = track.duration[i];
      }
    };
    walk(track, see, (from, until, group) => {
      if (from > x + 2 || until < x - 2) return;
      const [first, end] = readGroup(track, group);
      for (let i = first; i < end; i++) see(i, from, until);
    });
    return found;
  }

  // What is told of a point without a slice: a counter's value, or a short time without work.
  function factsAt(x, y) {
    const row = rows.find((one) => y >= yOf(one) && y < yOf(one) + one.height), ns = nsAt(x);
    if (!row || x < gutter || y < AXIS) return null;
    if (row.kind === "counter") {
      const at = row.points.find(([start, length]) => ns >= start && ns < start + length);
      return at ? { title: `${row.title}: ${row.show(at[2])}`, facts: [["from", point(at[0])], ["for", time(at[1])], ["of", row.device]] } : null;
    }
    const gap = hasGaps(row) ? gapAt(row, ns) : null;
    return gap ? { title: "no work", facts: [["from", point(gap[0])], ["duration", time(gap[1] - gap[0])],
      ["reason", "one of many short times; Idle times has one row for each reason and line"]] } : null;
  }

  function hover(x, y) {
    const found = hit(x, y);
    if (found?.[0] !== hovered?.[0] || found?.[1] !== hovered?.[1]) dirty();
    hovered = found;
    const told = found ? facts(...found) : factsAt(x, y);
    tip.hidden = !told;
    if (!told) return;
    tip.replaceChildren(make("b", {}, told.title),
      ...told.facts.map((fact) => make("div", {}, fact.join(": "))));
    const left = Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4));
    const above = y + 20 + tip.offsetHeight > height;
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(0, above ? y - tip.offsetHeight - 10 : y + 18) + scroller.offsetTop}px`;
  }

  function step(by) {
    if (!selected) return neighbour(0);
    const [track, i] = selected, next = Math.min(Math.max(0, i + by), track.count - 1);
    readGroup(track, Math.floor(next / data.group));
    zoomTo([track, next], true);
    choose([track, next]);
  }

  // Selects what is nearest in a track above or below the selected one.
  function neighbour(by) {
    const middle = selected ? selected[0].start[selected[1]] + selected[0].duration[selected[1]] / 2 : (view.from + view.until) / 2;
    const track = tracks[Math.min(Math.max(0, (selected ? tracks.indexOf(selected[0]) : 0) + by), tracks.length - 1)];
    const group = Math.max(0, after(track.group.start, middle) - 1);
    const [first, end] = readGroup(track, group);
    const distance = (i) => Math.abs(track.start[i] + track.duration[i] / 2 - middle);
    let nearest = first;
    for (let i = first; i < end; i++) if (distance(i) < distance(nearest)) nearest = i;
    choose([track, nearest]);
  }

  const KEYS = {
    "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), w: () => zoomBy(0.5), "-": () => zoomBy(2), s: () => zoomBy(2),
    ArrowLeft: () => pan(-0.2), a: () => pan(-0.2), ArrowRight: () => pan(0.2), d: () => pan(0.2),
    PageUp: () => pan(-0.9), PageDown: () => pan(0.9),
    ArrowUp: () => neighbour(-1), ArrowDown: () => neighbour(1), n: () => step(1), p: () => step(-1),
    Home: zoomAll, 0: zoomAll, f: () => selected && zoomTo(selected, false), Enter: () => selected && open(selected),
    Escape: () => choose(null),
  };

  function listen() {
    const pointers = new Map();
    let moved = 0, from = null;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };

    scroller.addEventListener("scroll", dirty);
    scroller.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
      event.preventDefault();
      if (event.key !== "Escape") event.stopPropagation();
      KEYS[event.key]();
    });
    scroller.addEventListener("wheel", (event) => {
      const [x] = place(event), across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.ctrlKey || event.metaKey) zoomAt(nsAt(Math.max(gutter, x)), Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008));
      else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) pan(across / (width - gutter));
      else return;
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, place(event));
      moved = 0;
      from = place(event);
      canvas.setPointerCapture(event.pointerId);
      if (from[1] < AXIS || event.shiftKey) marked = [from[0], from[0]];
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event), before = pointers.get(event.pointerId);
      if (!before) return hover(x, y);
      const other = [...pointers].find(([id]) => id !== event.pointerId);
      moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
      if (marked) {
        marked[1] = x;
        dirty();
      } else if (other) {
        const old = Math.max(10, Math.abs(before[0] - other[1][0])), now = Math.max(10, Math.abs(x - other[1][0]));
        zoomAt(nsAt((x + other[1][0]) / 2), old / now);
      } else if (moved > 4) {
        tip.hidden = true;
        pan((before[0] - x) / (width - gutter));
        if (event.pointerType === "mouse") scroller.scrollTop += before[1] - y;
      }
      pointers.set(event.pointerId, [x, y]);
    });
    const up = (event) => {
      const [x, y] = place(event);
      if (!pointers.delete(event.pointerId)) return;
      if (marked && Math.abs(marked[1] - marked[0]) > 4) zoom(nsAt(Math.min(...marked)), nsAt(Math.max(...marked)));
      else if (moved <= 4 && event.type === "pointerup" && pointers.size === 0) {
        const found = hit(x, y);
        choose(found);
        if (found) open(found);
      }
      marked = null;
      dirty();
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => {
      hovered = null;
      tip.hidden = true;
      dirty();
    });
    canvas.addEventListener("dblclick", (event) => {
      const found = hit(...place(event));
      if (found) zoomTo(found, false);
    });
    new ResizeObserver(resize).observe(scroller);
    new MutationObserver(() => readColors(false)).observe(document.documentElement, { attributes: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => readColors(false));
    for (const [name, paper] of [["beforeprint", true], ["afterprint", false]])
      window.addEventListener(name, () => {
        printing = paper;
        readColors(paper);
        resize();
      });
  }

  // ---- the section ----

  function build() {
    const buttons = make("div", { class: "timeline-buttons", role: "toolbar", "aria-label": "Timeline" });
    for (const [label, title, act] of [["+", "Zoom in (+)", () => zoomBy(0.5)], ["−", "Zoom out (-)", () => zoomBy(2)],
      ["◂", "Earlier (←)", () => pan(-0.5)], ["▸", "Later (→)", () => pan(0.5)],
      ["All", "The whole time (0)", zoomAll], ["Selected", "Zoom to the selected one (f)", KEYS.f]]) {
      buttons.append(make("button", { type: "button", title, "aria-label": title, onclick: act }, label));
    }
    shown = make("output", {});
    buttons.append(shown);
    canvas = make("canvas", { "aria-hidden": "true" });
    context = canvas.getContext("2d");
    sized = make("div", { class: "timeline-size" }, canvas);
    scroller = make("div", { class: "timeline-tracks", tabindex: "0", role: "application", "aria-label": "Timeline of threads and streams",
      "aria-describedby": "timeline-help" }, sized);
    tip = make("div", { class: "timeline-tip", role: "tooltip", hidden: true });
    status = make("div", { class: "timeline-status", role: "status" });
    const notes = [];
    if (data.merged_ns) notes.push(`This trace is too long to show every call: neighbours within ${time(data.merged_ns)} are merged.`);
    if (data.left_out) notes.push(`${counted(data.left_out)} calls and operations are on tracks that are not shown.`);
    section.append(buttons, scroller, tip, status,
      make("p", { id: "timeline-help", class: "timeline-help" },
        make("span", { class: "with-mouse" }, "Ctrl and the wheel zoom. Drag to move; drag on the scale to zoom to a part. Click to explain. " +
          "Keys: + \u2212 \u2190 \u2192 0 (all) move and zoom; \u2191 \u2193 n p select; f zooms to the selection; Enter explains. "),
        make("span", { class: "with-fingers" }, "Pinch to zoom, drag to move, tap to explain. "),
        ...notes));
  }

  // A row: its track, with its titles and its place. Those of a process are together, its devices first.
  function row(own) {
    const told = data.tracks[own.track - 1], above = {};
    for (let one = told; one; one = data.tracks[one.parent - 1]) above[one.kind] = one;
    const { process, thread, device } = above;
    const named = (one, number) => (one ? clean(`${one.name} ${number}`) : "");
    return { ...told, ...own, group: {},
      process: named(process, process && process.pid), thread: named(thread, thread && thread.tid),
      device, title: device ? clean(`${device.name.split(":")[0]} ${told.name}`) : told.tid ? named(told, told.tid) : own.depth ? "" : clean(told.name),
      place: [process ? process.of : 0, device ? 0 : 1, told.rank, own.track, own.depth] };
  }

  // A counter's row: its points as [start, length, value], in ns.
  function counter({ name, unit, device, points }) {
    const read = [];
    for (let i = 0, at = 0; i < points.length; i += 3) {
      read.push([(at += points[i] * 1000), points[i + 1] * 1000, points[i + 2]]);
      at += points[i + 1] * 1000;
    }
    const show = (value) => (unit === "MiB/s" ? `${gvText.size(value * 2 ** 20)}/s` : `${value} ${unit}`);
    const most = unit === "%" ? 100 : Math.max(1, ...read.map((one) => one[2]));
    return { kind: "counter", isFirst: true, title: name, device: clean(device), points: read, most, show };
  }

  function show(into, from) {
    section = into;
    data = from;
    for (const name of data.names) name[0] = clean(name[0]);
    half = data.digits.length / 2;
    [...data.digits].forEach((digit, value) => (digits[digit.charCodeAt(0)] = value));
    tracks = data.rows.map(row);
    tracks.sort((a, b) => {
      const i = a.place.findIndex((value, key) => value !== b.place[key]);
      return i < 0 ? 0 : a.place[i] - b.place[i];
    });
    tracks.forEach((track, i) => {
      readGroups(track);
      track.isFirst = !i || track.kind !== tracks[i - 1].kind || track.title !== tracks[i - 1].title || track.process !== tracks[i - 1].process;
    });
    counters = data.counters.map(counter);
    for (const [stall, kind, of, start, duration] of data.arrows) {
      const on = tracks.find((track) => track.kind === kind && track.of === of);
      if (on) arrows.set(stall, [...(arrows.get(stall) || []), [on, start, duration]]);
    }
    build();
    readColors(false);
    layout();
    zoomAll();
    listen();
  }

  return {
    show,
    zoom: (from, until) => data && zoom(from, until),
    select: (kind, id) => data && select(kind, id),
    describe: (kind, id) => (data ? describe(kind, id) : null),
  };
})();
