// The lattice of the items: an overview of the best-known classes, or the surroundings of one.

const SHOWN = [20, 40, 80, 160];
const AROUND = 12; // neighbours drawn on a side
const NARROW = 480; // no room for words beside the rows
const LISTED = 6; // classes named in the panel, of a side
const state = {
  shown: innerWidth < 640 ? 20 : 40,
  least: Math.min(20, space.ratings[Math.min(space.nItems, 400) - 1] ?? 1),
};

/** The classes with the best-known items, in the order of the classes. */
function bestKnown(n) {
  const found = new Set();
  for (let i = 0; i < space.nItems && found.size < n; i += 1) found.add(space.classOf[i]);
  return [...found].sort((a, b) => a - b);
}

const andMore = (n) => (n > 0 ? h("li", { class: "quiet" }, `and ${integer(n)} more`) : null);

function classList(title, classes) {
  const entry = (c) => h("li", null,
    h("a", { href: `#/lattice/${headOf(c)}` }, name(space.names[headOf(c)])),
    h("span", { class: "quiet" }, ` ${percent(space.probability[c], 0)}`));
  return [
    h("h4", null, `${title} (${integer(classes.length)})`),
    classes.length
      ? h("ul", { class: "plain" }, classes.slice(0, LISTED).map(entry), andMore(classes.length - LISTED))
      : h("p", { class: "quiet" }, "nothing that is shown"),
  ];
}

function equivalents(c, head) {
  const equal = Array.from(members(c)).filter((i) => i !== head);
  if (!equal.length) return [];
  const some = equal.slice(0, LISTED - 1).map((i) => h("li", null, itemLink(i)));
  return [
    h("h4", null, `Same set (${integer(equal.length)})`),
    h("ul", { class: "plain" }, some, andMore(equal.length - some.length)),
  ];
}

/** What the panel beside the diagram says of a class. */
function describe(panel, c, among, head) {
  const [above, below] = [true, false].map((up) => neighbours(c, among, up));
  const events = `${plural(eventsOf(c).length, "event")} of ${space.nEvents}`;
  panel.replaceChildren(
    h("h3", null, itemLink(head)),
    h("p", { class: "quiet" },
      `${percent(space.probability[c])} of the population · ${events} · ${plural(space.ratings[head], "rating")}`),
    ...equivalents(c, head),
    ...classList("Right above: it implies", above),
    ...classList("Right below: implied by", below),
    h("p", { class: "actions" },
      h("a", { class: "button", href: `#/lattice/${head}` }, "Around it"),
      h("a", { class: "button", href: `#/item/${head}` }, "Open the item")),
  );
  const counts = `implies ${above.length} right above, implied by ${below.length} right below`;
  announce(`${space.names[head]}: ${counts}`);
}

function latticeControls(around, changed) {
  const finder = combobox({
    label: "Find an item in the lattice", find: findItems, names: space.names,
    hint: (i) => plural(space.ratings[i], "rating"), chosen: (i) => (location.hash = `#/lattice/${i}`),
  });
  const set = (key) => (n) => ((state[key] = Number(n)), changed());
  const choice = around
    ? labelled("Ratings, at least", number(state.least, 1, set("least")))
    : labelled("Best-known classes", select(SHOWN.map((n) => [n, String(n)]), state.shown, set("shown")));
  const back = around ? h("a", { class: "button", href: "#/lattice" }, "Overview") : null;
  return h("div", { class: "controls" }, finder, choice, back);
}

function latticeView(main, item) {
  const around = item !== undefined;
  const standsFor = (c) => (around && c === space.classOf[item] ? item : headOf(c));
  const panel = h("aside", { class: "card panel", "aria-label": "The chosen class" });
  const [stage, note] = [h("div", { class: "stage" }), h("p", { class: "quiet" })];

  function draw() {
    const chosen = around ? surroundings(item) : overview();
    const picture = diagram({
      ...chosen, ...fitted(chosen, stage.clientWidth), standsFor,
      title: "Hasse diagram. Arrow up goes to what an item implies, arrow down to what implies it.",
      onselect: (c) => describe(panel, c, chosen.among, standsFor(c)),
      onopen: (c) => (location.hash = `#/lattice/${standsFor(c)}`),
    });
    stage.replaceChildren(picture.element);
    note.textContent = chosen.note;
    picture.settle();
  }
  main.append(
    heading(around ? ["Lattice around ", name(space.names[item])] : "Lattice"),
    h("p", { class: "lead" }, "Each box is a class: items that come true in the same events. A line upwards is a " +
      "theorem of the model: users who like the lower one also like the upper one."),
    latticeControls(around, later(draw)),
    h("div", { class: "split" },
      h("div", null, stage, note,
        h("p", { class: "quiet keys" },
          "Drag to move, Ctrl and wheel to zoom. Keys: arrows walk, Enter centres, + − 0 zoom."),
        h("p", { class: "quiet fingers" }, "Two fingers move and zoom.")),
      panel),
  );
  draw();
  return around ? `Lattice around ${space.names[item]}` : "Lattice";
}

/** Rows as full as can be read in the width, or, where many lines pass between the boxes, little more than half so. */
function fitted({ rowsOf, edges }, width) {
  const margin = width < NARROW ? 0 : MARGIN;
  const fit = Math.max(2, Math.floor((width / LEGIBLE - margin) / (BOX_WIDE + GAP)));
  for (let most = fit; ; most -= 1) {
    const { rows, labels } = rowsOf(most);
    const words = margin ? labels : labels.map(() => "");
    const placed = layout({ rows, edges }, words.some(Boolean) ? margin : 0);
    if (placed.width * LEGIBLE <= width || most <= fit / 2 + 1) return { placed, labels: words };
  }
}

function overview() {
  const classes = bestKnown(state.shown);
  const edges = hasse(classes);
  const note = `${plural(classes.length, "class", "classes")} of ${integer(space.nClasses)}, those with the ` +
    "best-known items. Lines pass over classes that are not shown.";
  const rowsOf = (most) => rowsBySize(classes, edges, most);
  return { rowsOf, edges, focus: space.classOf[0], among: classes, note };
}

/** A class, and on either side the nearest of the best-known that have no other between. */
function surroundings(item) {
  const c = space.classOf[item];
  let among = classesWith(state.least);
  if (!among.includes(c)) among = Int32Array.from([...among, c].sort((a, b) => a - b));
  const sides = [true, false].map((up) => {
    const found = neighbours(c, among, up);
    const known = found.toSorted((a, b) => space.ratings[headOf(b)] - space.ratings[headOf(a)]);
    return [known.slice(0, AROUND), found.length];
  });
  const [[above, nAbove], [below, nBelow]] = sides;
  const rows = [above, [c], below].filter((row) => row.length);
  const rowsOf = (most) => broken(rows, rows.map(() => ""), most);
  const edges = [...above.map((o) => [c, o]), ...below.map((o) => [o, c])];
  const left = (n) => (n > AROUND ? `${AROUND} of ${integer(n)}, the best known` : integer(n));
  const note = `Right above: ${left(nAbove)}. Right below: ${left(nBelow)}. ` +
    `Among items with ${plural(state.least, "rating")} or more.`;
  return { rowsOf, edges, focus: c, among, note };
}
