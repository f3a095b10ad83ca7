// The lattice of the items: an overview of the best-known classes, or the surroundings of one.

const SHOWN = [20, 40, 80, 160];
const AROUND = 12; // neighbours drawn on a side
const state = { shown: innerWidth < 640 ? 20 : 40, least: Math.min(20, space.ratings[Math.min(space.nItems, 400) - 1] ?? 1) };

/** The classes with the best-known items, in the order of the classes. */
function bestKnown(n) {
  const found = new Set();
  for (let i = 0; i < space.nItems && found.size < n; i += 1) found.add(space.classOf[i]);
  return [...found].sort((a, b) => a - b);
}

const listOf = (classes, more) =>
  h("ul", { class: "plain" }, classes.map((c) => h("li", null, h("a", { href: `#/lattice/${headOf(c)}` }, name(space.names[headOf(c)])),
    h("span", { class: "quiet" }, ` ${percent(space.probability[c], 0)}`))), more ? h("li", { class: "quiet" }, more) : null);

/** What the panel beside the diagram says of a class. */
function describe(panel, c, among, head) {
  const size = sizeOf(c);
  const equal = Array.from(members(c)).filter((i) => i !== head);
  const [above, below] = [true, false].map((up) => neighbours(c, among, up));
  const part = (title, found) => [
    h("h4", null, `${title} (${integer(found.length)})`),
    found.length ? listOf(found.slice(0, 6), found.length > 6 ? `and ${integer(found.length - 6)} more` : null) : h("p", { class: "quiet" }, "nothing that is shown"),
  ];
  panel.replaceChildren(
    h("h3", null, itemLink(head)),
    h("p", { class: "quiet" }, `${percent(space.probability[c])} of the population · ${plural(eventsOf(c).length, "event")} of ${space.nEvents} · ${plural(space.ratings[head], "rating")}`),
    size > 1
      ? h("div", null, h("h4", null, `Same set (${integer(size - 1)})`), h("ul", { class: "plain" }, equal.slice(0, 5).map((i) => h("li", null, itemLink(i))), size > 6 ? h("li", { class: "quiet" }, `and ${integer(size - 6)} more`) : null))
      : "",
    ...part("Right above: it implies", above).flat(),
    ...part("Right below: implied by", below).flat(),
    h("p", { class: "actions" }, h("a", { class: "button", href: `#/lattice/${head}` }, "Around it"), h("a", { class: "button", href: `#/item/${head}` }, "Open the item")),
  );
  announce(`${space.names[head]}: implies ${above.length} right above, implied by ${below.length} right below`);
}

function latticeView(main, item) {
  const around = item !== undefined;
  const standsFor = (c) => (around && c === space.classOf[item] ? item : headOf(c));
  const panel = h("aside", { class: "card panel", "aria-label": "The chosen class" });
  const stage = h("div", { class: "stage" });
  const note = h("p", { class: "quiet" });
  const finder = combobox({
    label: "Find an item in the lattice", find: findItems, names: space.names,
    hint: (i) => plural(space.ratings[i], "rating"), chosen: (i) => (location.hash = `#/lattice/${i}`),
  });
  const controls = around
    ? labelled("Ratings, at least", number(state.least, 1, (n) => ((state.least = n), draw())))
    : labelled("Best-known classes", select(SHOWN.map((n) => [n, String(n)]), state.shown, (n) => ((state.shown = Number(n)), draw())));

  function draw() {
    const made = (around ? drawAround : drawOverview)(boxesIn(stage.clientWidth), item);
    const picture = diagram({
      ...made, title: "Hasse diagram. Arrow up goes to what an item implies, arrow down to what implies it.",
      standsFor, onselect: (c) => describe(panel, c, made.among, standsFor(c)), onopen: (c) => (location.hash = `#/lattice/${standsFor(c)}`),
    });
    stage.replaceChildren(picture.element);
    note.textContent = made.note;
    picture.settle();
  }
  main.append(
    heading(around ? ["Lattice around ", name(space.names[item])] : "Lattice"),
    h("p", { class: "lead" }, "Each box is a class: items that come true in the same events. A line upwards is a theorem of the model: whoever likes the lower one likes the upper one, too."),
    h("div", { class: "controls" }, finder, controls, around ? h("a", { class: "button", href: "#/lattice" }, "Overview") : null),
    h("div", { class: "split" }, h("div", null, stage, note, h("p", { class: "quiet keys" }, "Drag to move, Ctrl and wheel, or pinch, to zoom. Keys: arrows walk, Enter centres, + − 0 zoom.")), panel),
  );
  draw();
  return around ? `Lattice around ${space.names[item]}` : "Lattice";
}

/** How many boxes fit side by side so that they can be read. */
const boxesIn = (width) => Math.max(2, Math.floor((width - MARGIN) / ((BOX_WIDE + GAP) * LEGIBLE)));

function drawOverview(most) {
  const classes = bestKnown(state.shown);
  const edges = hasse(classes);
  const note = `${plural(classes.length, "class", "classes")} of ${integer(space.nClasses)}, those with the best-known items. Lines pass over classes that are not shown.`;
  return { ...broken(layered(classes, edges), most), edges, focus: space.classOf[0], among: classes, note };
}

/** A class, and on either side the nearest of the best-known that have no other between. */
function drawAround(most, item) {
  const c = space.classOf[item];
  let among = classesWith(state.least);
  if (!among.includes(c)) among = Int32Array.from([...among, c].sort((a, b) => a - b));
  const sides = [true, false].map((up) => {
    const found = neighbours(c, among, up);
    const known = found.toSorted((a, b) => space.ratings[headOf(b)] - space.ratings[headOf(a)]);
    return [known.slice(0, AROUND), found.length];
  });
  const [[above, nAbove], [below, nBelow]] = sides;
  const sidesAndIt = [above, [c], below].filter((row) => row.length).map((row) => [row, ""]);
  const edges = [...above.map((o) => [c, o]), ...below.map((o) => [o, c])];
  const left = (n) => (n > AROUND ? `${AROUND} of ${integer(n)}, the best known` : integer(n));
  const note = `Right above: ${left(nAbove)}. Right below: ${left(nBelow)}. Among items with ${state.least} ratings or more.`;
  return { ...broken(sidesAndIt, most), edges, focus: c, among, note };
}
