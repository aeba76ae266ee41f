"use strict";
// Texts, numbers and elements. A trace may come from anybody: its texts only ever become text nodes
// and attributes, and characters that could hide or reorder others are shown as their code.
const gvText = (() => {
  // Control characters but line feed and tab, invisible ones, and those that change the direction.
  const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  const escaped = (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  };
  const clean = (text) => text.replace(harmful, escaped);

  const scaled = (value, unit) => `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
  const duration = (ns) => {
    const size = Math.abs(ns);
    if (size < 1000) return `${ns} ns`;
    if (size < 999500) return scaled(ns / 1e3, "µs");
    if (size < 999500000) return scaled(ns / 1e6, "ms");
    return size < 1728e11 ? scaled(ns / 1e9, "s") : scaled(ns / 864e11, "days");
  };
  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; Math.abs(bytes) >= 1024 && unit < 4; unit++) bytes /= 1024;
    return unit === 0 ? `${bytes} B` : scaled(bytes, units[unit]);
  };
  const number = (value) => {
    if (!Number.isInteger(value)) return String(Number(value.toPrecision(4)));
    return Math.abs(value) < 10000 ? String(value) : String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  };
  const share = (value) => `${(value * 100).toFixed(1)} %`;
  const moment = (ns) => `${(ns / 1e9).toFixed(3)} s`;
  // By the kinds of columns: what a value looks like.
  const shown = {duration, size, number, share, moment, id: String, text: String, name: String};
  const value = (raw, kind) => raw === null || raw === undefined ? "-"
    : typeof raw === "number" && shown[kind] ? shown[kind](raw) : String(raw);

  return {
    // The data of an element, its texts made harmless.
    data: (name) => JSON.parse(document.getElementById(`${name}-data`).textContent,
      (key, raw) => typeof raw === "string" ? clean(raw) : raw),
    clean, duration, size, number, share, moment, value,
    plural: (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`,
    // make("p", {class: "why", onclick: f}, "text", child, ...); null children are left out.
    make(tag, attributes, ...children) {
      const element = document.createElement(tag);
      for (const [name, set] of Object.entries(attributes || {})) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), set);
        else if (set === true) element.setAttribute(name, "");
        else if (set !== null && set !== undefined && set !== false) element.setAttribute(name, set);
      }
      element.append(...children.filter((child) => child !== null && child !== undefined));
      return element;
    },
  };
})();
