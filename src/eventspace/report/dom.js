"use strict";
// Elements and words. Whatever comes from the data becomes a text node: never markup.

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const integer = (n) => n.toLocaleString("en");
const sum = (values) => values.reduce((a, b) => a + b, 0);
const percent = (p, digits = 1) => (p === null ? "–" : `${(100 * p).toFixed(digits)}%`);
const plural = (n, word, many = `${word}s`) => `${integer(n)} ${n === 1 ? word : many}`;

function short(number, digits = 3) {
  if (number === null) return "–";
  if (Number.isInteger(number)) return integer(number);
  const size = Math.abs(number);
  return size >= 1e-3 && size < 1e6 ? String(Number(number.toPrecision(digits))) : number.toExponential(1);
}

/** An id, in whatever direction its script runs. */
const name = (text) => h("bdi", { class: "name" }, text);

/** A bar of a share; the number beside it says the same. */
const bar = (share, mark) =>
  h(
    "span",
    { class: "bar", "aria-hidden": "true" },
    h("span", { class: "filled", style: { width: `${100 * Math.min(1, Math.max(0, share))}%` } }),
    mark === undefined ? null : h("span", { class: "mark", style: { left: `${100 * mark}%` } }),
  );

/** Tell those who do not see the screen what has changed. */
const announce = (text) => {
  document.getElementById("status").textContent = text;
};

const heading = (text, ...more) => h("h2", { tabindex: "-1" }, text, ...more);

/** Terms and what holds of each, side by side. */
const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.map(([term, text]) => h("div", null, h("dt", null, term), h("dd", null, text))));

let ids = 0;
const unique = (prefix) => `${prefix}-${(ids += 1)}`;

function labelled(text, control) {
  control.id ||= unique("field");
  return h("div", { class: "field" }, h("label", { for: control.id }, text), control);
}

function select(choices, chosen, onchange) {
  const options = choices.map(([value, text]) =>
    h("option", { value, selected: String(value) === String(chosen) }, text),
  );
  return h("select", { onchange: (event) => onchange(event.target.value) }, options);
}

const number = (value, least, onchange) =>
  h("input", {
    type: "number", min: least, step: 1, value, inputmode: "numeric",
    oninput: (event) => onchange(Math.max(least, Number(event.target.value) || least)),
  });

function download(filename, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: filename }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
