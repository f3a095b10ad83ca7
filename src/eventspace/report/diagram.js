// A Hasse diagram: how it is drawn, what a choice shows, how it is walked by keyboard.

const MARGIN = 76; // for the words beside the rows
const LEGIBLE = 0.78; // no smaller than this at first
const pen = document.createElement("canvas").getContext("2d");

/** A text in two lines. A long one is cut in the middle: its end tells parts of a series apart. */
function twoLines(text) {
  pen.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
  const fits = (part) => pen.measureText(part).width <= BOX_WIDE - 14;
  if (fits(text)) return [text];
  const letters = [...text];
  let end = letters.length;
  while (end > 1 && !fits(letters.slice(0, end).join(""))) end -= 1;
  const blank = letters.lastIndexOf(" ", end);
  const first = letters.slice(0, blank > 0 ? blank : end); // whole words, if there are any
  const rest = letters.slice(first.length).join("").trimStart();
  if (fits(rest)) return [first.join(""), rest];
  let start = 1;
  while (start < letters.length && !fits(`…${letters.slice(start).join("")}`)) start += 1;
  return [first.join(""), `…${letters.slice(start).join("").replace(/^\S{0,3}\s+/, "")}`];
}

function boxOf(c, item, { x, y }, handlers) {
  const [who, size, p] = [space.names[item], sizeOf(c), space.probability[c]];
  const lines = twoLines(who);
  const top = lines.length > 1 ? 17 : 24;
  const equal = size > 1 ? plural(size - 1, "equivalent") : "";
  return svg(
    "g",
    {
      class: "box", role: "button", tabindex: "-1", "data-class": c, ...handlers,
      transform: `translate(${x - BOX_WIDE / 2} ${y - BOX_HIGH / 2})`,
      "aria-label":
        `${who}${equal && ` and ${equal}`}, ${percent(p)}, ${plural(eventsOf(c).length, "event")}`,
    },
    svg("title", null, who),
    svg("rect", { width: BOX_WIDE, height: BOX_HIGH, rx: 8 }),
    lines.map((text, k) => svg("text", { x: BOX_WIDE / 2, y: top + 15 * k, class: "who" }, text)),
    svg("text", { x: BOX_WIDE / 2, y: top + 15 * lines.length, class: "what" },
      `${percent(p, 0)}${equal && ` · + ${integer(size - 1)} equivalent`}`),
  );
}

/** What stands out: the chosen class, what it implies and what implies it. At first nothing is faint. */
function stress(boxes, edges, lines, c, settled) {
  const related = (o) => !settled || inside(o, c) || inside(c, o);
  for (const [other, box] of boxes) {
    box.classList.toggle("chosen", other === c);
    box.classList.toggle("faint", !related(other));
    box.setAttribute("aria-pressed", String(other === c));
  }
  const first = boxes.values().next().value;
  edges.forEach(([lower, upper], k) => {
    const on = (inside(upper, c) || inside(c, lower)) && related(lower) && related(upper);
    lines[k].classList.toggle("on", on);
    lines[k].classList.toggle("faint", settled && !on);
    if (on) first.before(lines[k]); // over the other lines
  });
}

/** Where a key leads from a class: along the edges, or along its row. */
function neighbourBy(key, at, { rows, places }, edges) {
  const { x, r, k } = places.get(at);
  const away = (c) => Math.abs(places.get(c).x - x);
  const nearest = (found) => found.sort((a, b) => away(a) - away(b))[0];
  const go = {
    ArrowUp: () => nearest(edges.filter(([lower]) => lower === at).map(([, upper]) => upper)),
    ArrowDown: () => nearest(edges.filter(([, upper]) => upper === at).map(([lower]) => lower)),
    ArrowLeft: () => rows[r][k - 1],
    ArrowRight: () => rows[r][k + 1],
    Home: () => rows[0][0],
    End: () => rows.at(-1)[0],
  };
  return go[key]?.();
}

const WALKS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"];

function zoomButtons(view) {
  const button = (text, label, action) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
  return h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("+", "Zoom in", () => view.zoom(1.25)), button("−", "Zoom out", () => view.zoom(0.8)),
    button("Fit", "Fit the whole diagram", () => view.fit()));
}

/**
 * Draw edges between classes at their places (see layout). labels: words beside the rows; focus: the
 * class to start from; standsFor(class): the item that names it; onselect(class) and onopen(class)
 * answer clicks and keys.
 */
function diagram({ placed: at, edges, labels, focus, standsFor, onselect, onopen, title }) {
  const lines = edges.map(([lower, upper], k) =>
    svg("path", { class: "edge", d: at.paths[k], "data-lower": lower, "data-upper": upper }));
  const handlers = (c) =>
    ({ onclick: () => choose(c), ondblclick: () => onopen(c), onfocus: () => reveal(c) });
  const boxes = new Map(
    at.rows.flat().map((c) => [c, boxOf(c, standsFor(c), at.places.get(c), handlers(c))]));
  const words = labels.map((text, r) =>
    svg("text", { class: "rank", x: 8, y: at.places.get(at.rows[r][0]).y + 4 }, text));
  const content = svg("g", null, words, lines, [...boxes.values()]);
  const picture = svg("svg", { role: "group", "aria-label": title, class: "diagram" }, content);
  const view = movable(picture, content, at.width, at.height);
  const element = h("div", { class: "canvas" }, picture, zoomButtons(view));
  let chosen = focus;

  const reveal = (c) => view.reveal(at.places.get(c).x, at.places.get(c).y, BOX_WIDE, BOX_HIGH);
  function choose(c, settled = true) {
    boxes.get(chosen).setAttribute("tabindex", "-1");
    boxes.get(c).setAttribute("tabindex", "0");
    chosen = c;
    stress(boxes, edges, lines, c, settled);
    onselect(c);
  }
  function walk(key) {
    const next = neighbourBy(key, chosen, at, edges);
    if (next === undefined) return;
    choose(next);
    boxes.get(next).focus();
  }
  const keys = {
    " ": () => choose(chosen), Enter: () => onopen(chosen), 0: () => view.fit(),
    "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8),
    ...Object.fromEntries(WALKS.map((key) => [key, () => walk(key)])),
  };
  picture.addEventListener("keydown", (event) => {
    if (!Object.hasOwn(keys, event.key)) return;
    keys[event.key]();
    event.preventDefault();
  });
  /** Once it is on the page: as high as the diagram, and the diagram in it. */
  function settle() {
    const scale = Math.min(1, Math.max(LEGIBLE, element.clientWidth / at.width));
    element.style.setProperty("--height", `${at.height * scale + BOX_HIGH + 30}px`);
    view.fit(LEGIBLE);
    choose(chosen, false);
    reveal(chosen);
  }
  return { element, settle };
}
