// A Hasse diagram: where the classes go, how it is drawn, moved, and walked by keyboard.

const [BOX_WIDE, BOX_HIGH, GAP, RISE] = [158, 40, 16, 46];
const MARGIN = 76; // for the words beside the rows
const LEGIBLE = 0.78; // no smaller than this at first
const pen = document.createElement("canvas").getContext("2d");

/** As much of a text as a box has room for. */
function fits(text) {
  pen.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
  const room = BOX_WIDE - 14;
  if (pen.measureText(text).width <= room) return text;
  const letters = [...text];
  while (letters.length && pen.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
}

/** Rows of classes from the top, the larger sets above; neighbours are put near each other. */
function layered(classes, edges) {
  const sizes = [...new Set(classes.map((c) => eventsOf(c).length))].sort((a, b) => b - a);
  const rows = sizes.map((size) => classes.filter((c) => eventsOf(c).length === size));
  const linked = new Map(classes.map((c) => [c, []]));
  for (const [lower, upper] of edges) {
    linked.get(lower).push(upper);
    linked.get(upper).push(lower);
  }
  const x = new Map();
  const spread = (row) => row.forEach((c, k) => x.set(c, k - (row.length - 1) / 2));
  rows.forEach(spread);
  for (let sweep = 0; sweep < 12; sweep += 1) {
    for (const row of sweep % 2 ? rows.slice().reverse() : rows) {
      const centre = (c) => {
        const others = linked.get(c);
        return others.length ? others.reduce((sum, o) => sum + x.get(o), 0) / others.length : x.get(c);
      };
      const wanted = new Map(row.map((c) => [c, centre(c)]));
      row.sort((a, b) => wanted.get(a) - wanted.get(b));
      spread(row);
    }
  }
  return rows.map((row, k) => [row, plural(sizes[k], "event")]);
}

/** Rows with their labels, broken so that none is wider than so many boxes. */
function broken(labelled, most) {
  const [rows, labels] = [[], []];
  for (const [row, label] of labelled) {
    const parts = Math.ceil(row.length / most);
    for (let k = 0; k < parts; k += 1) {
      rows.push(row.filter((_, j) => j % parts === k)); // neighbours stay above each other
      labels.push(k ? "" : label);
    }
  }
  return { rows, labels };
}

/**
 * Draw rows of classes with edges between them. labels: words beside the rows; focus: the class to
 * start from; standsFor(class): the item that names it; onselect(class) and onopen(class) answer clicks and keys.
 */
function diagram({ rows, edges, labels, focus, standsFor = headOf, onselect, onopen, title }) {
  const place = new Map();
  const margin = labels.some(Boolean) ? MARGIN : 0;
  const widest = Math.max(1, ...rows.map((row) => row.length));
  const width = widest * (BOX_WIDE + GAP) + GAP + margin;
  const height = rows.length * (BOX_HIGH + RISE) - RISE + 40;
  rows.forEach((row, r) =>
    row.forEach((c, k) => {
      const centre = margin + (width - margin) / 2 + (k - (row.length - 1) / 2) * (BOX_WIDE + GAP);
      place.set(c, { x: centre, y: 20 + r * (BOX_HIGH + RISE) + BOX_HIGH / 2, r, k });
    }),
  );
  const lines = edges.map(([lower, upper]) => {
    const [a, b] = [place.get(lower), place.get(upper)];
    const [y1, y2] = [a.y - BOX_HIGH / 2, b.y + BOX_HIGH / 2];
    const bend = (y1 - y2) / 2;
    return svg("path", { class: "edge", d: `M${a.x} ${y1}C${a.x} ${y1 - bend} ${b.x} ${y2 + bend} ${b.x} ${y2}` });
  });
  const boxes = new Map();
  for (const [c, { x, y }] of place) {
    const [head, size] = [standsFor(c), sizeOf(c)];
    const more = size > 1 ? ` and ${plural(size - 1, "equivalent")}` : "";
    const box = svg(
      "g",
      {
        class: "box", role: "button", tabindex: "-1", "data-class": c,
        transform: `translate(${x - BOX_WIDE / 2} ${y - BOX_HIGH / 2})`,
        "aria-label": `${space.names[head]}${more}, ${percent(space.probability[c])}, ${plural(eventsOf(c).length, "event")}`,
        onclick: () => choose(c), ondblclick: () => onopen(c), onfocus: () => reveal(c),
      },
      svg("title", null, space.names[head]),
      svg("rect", { width: BOX_WIDE, height: BOX_HIGH, rx: 8 }),
      svg("text", { x: BOX_WIDE / 2, y: 17, class: "who" }, fits(space.names[head].slice(0, 60))),
      svg("text", { x: BOX_WIDE / 2, y: 32, class: "what" }, `${percent(space.probability[c], 0)}${size > 1 ? ` · + ${integer(size - 1)} equivalent` : ""}`),
    );
    boxes.set(c, box);
  }
  const words = labels.map((text, r) =>
    svg("text", { class: "rank", x: 8, y: 24 + r * (BOX_HIGH + RISE) + BOX_HIGH / 2 }, text));
  const content = svg("g", null, words, lines, [...boxes.values()]);
  const picture = svg("svg", { role: "group", "aria-label": title, class: "diagram" }, content);
  const view = movable(picture, content, width, height);

  let at = focus;
  const stop = (c) => {
    boxes.get(at)?.setAttribute("tabindex", "-1");
    at = c;
    boxes.get(c)?.setAttribute("tabindex", "0");
  };
  function choose(c, settled = true) {
    stop(c);
    const related = (o) => !settled || inside(o, c) || inside(c, o); // at first nothing is faint
    for (const [other, box] of boxes) {
      box.classList.toggle("chosen", other === c);
      box.classList.toggle("faint", !related(other));
      box.setAttribute("aria-pressed", String(other === c));
    }
    edges.forEach(([lower, upper], k) => {
      const on = (inside(upper, c) || inside(c, lower)) && related(lower) && related(upper);
      lines[k].classList.toggle("on", on);
      lines[k].classList.toggle("faint", settled && !on);
      if (on) lines[k].parentNode.insertBefore(lines[k], boxes.values().next().value);
    });
    onselect(c);
  }
  const reveal = (c) => view.reveal(place.get(c).x, place.get(c).y, BOX_WIDE, BOX_HIGH);
  const nearest = (found) => {
    const here = place.get(at);
    return found.sort((a, b) => Math.abs(place.get(a).x - here.x) - Math.abs(place.get(b).x - here.x))[0];
  };
  const go = {
    ArrowUp: () => nearest(edges.filter(([lower]) => lower === at).map(([, upper]) => upper)),
    ArrowDown: () => nearest(edges.filter(([, upper]) => upper === at).map(([lower]) => lower)),
    ArrowLeft: () => rows[place.get(at).r][place.get(at).k - 1],
    ArrowRight: () => rows[place.get(at).r][place.get(at).k + 1],
    Home: () => rows[0][0],
    End: () => rows.at(-1)[0],
  };
  picture.addEventListener("keydown", (event) => {
    if (go[event.key]) {
      const next = go[event.key]();
      if (next !== undefined) {
        choose(next);
        boxes.get(next).focus();
      }
    } else if (event.key === " ") choose(at);
    else if (event.key === "Enter") onopen(at);
    else if (event.key === "+" || event.key === "=") view.zoom(1.25);
    else if (event.key === "-") view.zoom(0.8);
    else if (event.key === "0") view.fit();
    else return;
    event.preventDefault();
  });
  stop(at);
  const button = (text, label, action) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
  const controls = h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("+", "Zoom in", () => view.zoom(1.25)), button("−", "Zoom out", () => view.zoom(0.8)),
    button("Fit", "Fit the whole diagram", () => view.fit()));
  const element = h("div", { class: "canvas" }, picture, controls);
  /** Once it is on the page: as high as the diagram, and the diagram in it. */
  function settle() {
    const scale = Math.min(1, Math.max(LEGIBLE, element.clientWidth / width));
    element.style.setProperty("--height", `${height * scale + BOX_HIGH + 30}px`);
    view.fit(LEGIBLE);
    choose(at, false);
    reveal(at);
  }
  return { element, settle };
}

/** A picture that is dragged, pinched and zoomed; reveal(x, y) brings a place into sight. */
function movable(picture, content, width, height) {
  let [scale, dx, dy, bounds] = [1, 0, 0, { width: 1, height: 1 }];
  const pointers = new Map();
  const draw = () => content.setAttribute("transform", `translate(${dx} ${dy}) scale(${scale})`);
  const measure = () => (bounds = picture.getBoundingClientRect());
  function zoom(factor, cx = bounds.width / 2, cy = bounds.height / 2) {
    const next = Math.min(3, Math.max(0.08, scale * factor));
    [dx, dy] = [cx - ((cx - dx) * next) / scale, cy - ((cy - dy) * next) / scale];
    scale = next;
    draw();
  }
  function fit(least = 0) {
    measure();
    scale = Math.max(least, Math.min(1.1, bounds.width / width, bounds.height / height));
    [dx, dy] = [(bounds.width - width * scale) / 2, Math.max(0, (bounds.height - height * scale) / 2)];
    draw();
  }
  function reveal(x, y, w, hi) {
    measure();
    const [left, top] = [x * scale + dx - (w * scale) / 2, y * scale + dy - (hi * scale) / 2];
    const [right, bottom] = [left + w * scale, top + hi * scale];
    dx -= left < 8 ? left - 8 : right > bounds.width - 8 ? right - bounds.width + 8 : 0;
    dy -= top < 8 ? top - 8 : bottom > bounds.height - 8 ? bottom - bounds.height + 8 : 0;
    draw();
  }
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // who scrolls the page passes by
    event.preventDefault();
    measure();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - bounds.left, event.clientY - bounds.top);
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => pointers.set(event.pointerId, [event.clientX, event.clientY]));
  picture.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      measure();
      zoom(apart(now) / apart(before), (now[0] + other[0]) / 2 - bounds.left, (now[1] + other[1]) / 2 - bounds.top);
    } else {
      if (!picture.hasPointerCapture(event.pointerId)) {
        if (Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return; // a click, so far
        picture.setPointerCapture(event.pointerId);
      }
      [dx, dy] = [dx + now[0] - before[0], dy + now[1] - before[1]];
      draw();
    }
    pointers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    picture.addEventListener(end, (event) => pointers.delete(event.pointerId));
  return { zoom, fit, reveal, draw };
}
