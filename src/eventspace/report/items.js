// An item: its events, what it implies, what implies it; and the list of all items.

function itemsView(main) {
  const size = (i) => eventsOf(space.classOf[i]).length;
  const equal = (i) => sizeOf(space.classOf[i]) - 1;
  const table = dataTable({
    caption: "Items, the best known first", rows: everyItem, by: 1, empty: "No item has this in its name.",
    columns: [
      { label: "item", text: true, value: (i) => space.names[i], cell: itemLink },
      { label: "ratings", value: (i) => space.ratings[i] },
      {
        label: "probability", title: "in the population", value: probabilityOf,
        cell: (i) => percent(probabilityOf(i)),
      },
      { label: "events", title: "in which it comes true", value: size },
      { label: "same set", title: "other items with the same set", value: equal },
    ],
  });
  const narrow = h("input", { type: "search" });
  const find = () => table.show(narrow.value.trim() ? findItems(narrow.value, Infinity) : everyItem);
  narrow.addEventListener("input", later(find));
  main.append(
    heading("Items"),
    h("p", { class: "lead" },
      `${plural(space.nItems, "item")} in ${plural(space.nClasses, "class", "classes")}: ` +
      "items of a class come true in the same events and imply each other."),
    h("div", { class: "controls" }, labelled("Name contains", narrow)),
    table.element,
  );
  return "Items";
}

/** The events as a strip: filled where something comes true, as wide as their mass. */
function strip(within, pmf = space.mass) {
  const piece = (m, d) =>
    h("span", {
      class: within(d) ? "in" : "out", style: { "flex-grow": Math.max(m, 0.004) },
      title: `event ${d}, ${percent(m)}: ${data.events.label[d]}`,
    });
  return h("div", { class: "strip", "aria-hidden": "true" }, pmf.map(piece));
}

function relatedTable(item, above, least) {
  const c = space.classOf[item];
  const found = related(item, above).filter((i) => space.classOf[i] !== c && space.ratings[i] >= least);
  const apart = (i) => Math.abs(probabilityOf(i) - probabilityOf(item));
  const table = dataTable({
    caption: `${above ? "It implies" : "Implied by"} ${plural(found.length, "item")}, the closest first`,
    rows: found, page: 10, empty: above ? "It implies nothing else here." : "Nothing else here implies it.",
    columns: [
      { label: "item", text: true, value: (i) => space.names[i], cell: itemLink },
      { label: "probability", value: probabilityOf, cell: (i) => percent(probabilityOf(i)) },
      { label: "ratings", value: (i) => space.ratings[i] },
      {
        label: "apart", title: "how far the two probabilities are apart", value: apart,
        cell: (i) => percent(apart(i)),
      },
    ],
  });
  return h("section", null, table.element);
}

function itemFacts(item, equal) {
  const c = space.classOf[item];
  const below = related(item, false).length;
  return facts([
    ["in the population", percent(space.probability[c])], ["ratings", integer(space.ratings[item])],
    ["events", `${eventsOf(c).length} of ${space.nEvents}`], ["same set", plural(equal.length, "other item")],
    ["influence: implied by", `${percent(below / space.nItems)} of the items`],
  ]);
}

function equalCard(equal) {
  if (!equal.length) return "";
  const more = equal.length > 30 ? h("span", { class: "quiet" }, `and ${integer(equal.length - 30)} more`) : null;
  return h("section", { class: "card" },
    h("h3", null, "Equivalent: the same set of events"),
    h("p", { class: "inline" }, equal.slice(0, 30).map((i) => [itemLink(i), " "]), more));
}

function eventsCard(c) {
  const events = eventsOf(c);
  const entry = (d) =>
    h("li", null, eventLink(d), h("span", { class: "figure" }, percent(space.mass[d])), eventLabel(d));
  return h("section", { class: "card" },
    h("h3", null, `Comes true in ${plural(events.length, "event")} of ${space.nEvents}`),
    strip((d) => hasEvent(c, d)),
    events.length
      ? h("ul", { class: "plain events two" }, events.map(entry))
      : h("p", { class: "quiet" }, "No event that occurs."));
}

function itemView(main, item) {
  const c = space.classOf[item];
  const equal = Array.from(members(c)).filter((i) => i !== item);
  const sides = h("div", { class: "columns" });
  let least = Math.min(state.least, space.ratings[item]);
  const draw = () => sides.replaceChildren(...[true, false].map((above) => relatedTable(item, above, least)));
  const change = later(draw);
  const { if_item: first, then_item: second } = data.rules;
  const rules = first.map((_, k) => k).filter((k) => first[k] === item || second[k] === item);
  const columns = ruleColumns();
  const by = columns.findIndex(({ label }) => label === "gain");
  main.append(
    heading(name(space.names[item])),
    itemFacts(item, equal),
    h("p", { class: "actions" }, h("a", { class: "button", href: `#/lattice/${item}` }, "See it in the lattice")),
    equalCard(equal),
    h("div", { class: "controls" },
      labelled("Ratings, at least", number(least, 1, (n) => ((least = n), change())))),
    sides,
    eventsCard(c),
    rules.length
      ? dataTable({
        caption: "Rules of the table with this item", look: "rules", rows: rules, columns, by, page: 10,
      }).element
      : "",
  );
  draw();
  return space.names[item];
}
