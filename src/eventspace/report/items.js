// An item: its events, what it implies, what implies it; and the list of all items.

function itemsView(main) {
  const all = Array.from({ length: space.nItems }, (_, i) => i);
  const p = (i) => space.probability[space.classOf[i]];
  const size = (i) => eventsOf(space.classOf[i]).length;
  const table = dataTable({
    caption: "Items, the best known first", rows: all, by: 1, empty: "No item has this in its name.",
    columns: [
      { label: "item", text: true, value: (i) => space.names[i], cell: itemLink },
      { label: "ratings", value: (i) => space.ratings[i] },
      { label: "probability", title: "in the population", value: p, cell: (i) => percent(p(i)) },
      { label: "events", title: "in which it comes true", value: size, class: "number minor" },
      { label: "same set", title: "other items with the same set", value: (i) => sizeOf(space.classOf[i]) - 1, class: "number minor" },
    ],
  });
  const narrow = h("input", { type: "search" });
  narrow.addEventListener("input", later(() => table.show(narrow.value.trim() ? findItems(narrow.value, Infinity) : all)));
  main.append(
    heading("Items"),
    h("p", { class: "lead" }, `${plural(space.nItems, "item")} in ${plural(space.nClasses, "class", "classes")}: items of a class come true in the same events and imply each other.`),
    h("div", { class: "controls" }, labelled("Name contains", narrow)),
    table.element,
  );
  return "Items";
}

/** The events as a strip: filled where the item comes true, as wide as their mass. */
const strip = (c, pmf = space.mass) =>
  h("div", { class: "strip", "aria-hidden": "true" },
    pmf.map((m, d) => h("span", { class: hasEvent(c, d) ? "in" : "out", style: { "flex-grow": Math.max(m, 0.004) }, title: `event ${d}, ${percent(m)}` })));

function relatedTable(item, above, least) {
  const c = space.classOf[item];
  const found = related(item, above).filter((i) => space.classOf[i] !== c && space.ratings[i] >= least);
  const p = (i) => space.probability[space.classOf[i]];
  const apart = (i) => Math.abs(p(i) - p(item));
  const table = dataTable({
    caption: `${above ? "It implies" : "Implied by"} ${plural(found.length, "item")}, the closest first`,
    rows: found, page: 10, empty: above ? "It implies nothing else here." : "Nothing else here implies it.",
    columns: [
      { label: "item", text: true, value: (i) => space.names[i], cell: itemLink },
      { label: "probability", value: p, cell: (i) => percent(p(i)) },
      { label: "ratings", value: (i) => space.ratings[i] },
      { label: "apart", title: "how far the two probabilities are apart", value: apart, cell: (i) => percent(apart(i)) },
    ],
  });
  return h("section", null, table.element);
}

function itemView(main, item) {
  const c = space.classOf[item];
  const events = eventsOf(c);
  const below = related(item, false).length;
  const equal = Array.from(members(c)).filter((i) => i !== item);
  const sides = h("div", { class: "columns" });
  let least = Math.min(state.least, space.ratings[item]);
  const draw = () =>
    sides.replaceChildren(...[true, false].map((above) => relatedTable(item, above, least)));
  const rules = data.rules.if_item.map((_, k) => k).filter((k) => data.rules.if_item[k] === item || data.rules.then_item[k] === item);
  main.append(
    heading(name(space.names[item])),
    h("dl", { class: "facts" },
      [["in the population", percent(space.probability[c])], ["ratings", integer(space.ratings[item])],
        ["events", `${events.length} of ${space.nEvents}`], ["same set", plural(equal.length, "other item")],
        ["influence: implied by", `${percent(below / space.nItems)} of the items`]].map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value)))),
    h("p", { class: "actions" }, h("a", { class: "button", href: `#/lattice/${item}` }, "See it in the lattice")),
    equal.length
      ? h("section", { class: "card" }, h("h3", null, "Equivalent: the same set of events"),
          h("p", { class: "inline" }, equal.slice(0, 30).map((i) => [itemLink(i), " "]), equal.length > 30 ? h("span", { class: "quiet" }, `and ${integer(equal.length - 30)} more`) : null))
      : "",
    h("div", { class: "controls" }, labelled("Ratings, at least", number(least, 1, (n) => ((least = n), later(draw)())))),
    sides,
    h("section", { class: "card" }, h("h3", null, `Comes true in ${plural(events.length, "event")} of ${space.nEvents}`), strip(c),
      events.length
        ? h("ul", { class: "plain events two" }, events.map((d) => h("li", null, eventLink(d), h("span", { class: "figure" }, percent(space.mass[d])), h("span", { class: "quiet clip", dir: "auto", title: data.events.label[d] }, data.events.label[d]))))
        : h("p", { class: "quiet" }, "No event that occurs.")),
    rules.length ? dataTable({ caption: "Rules of the table with this item", rows: rules, columns: ruleColumns(), by: 3, page: 10 }).element : "",
  );
  draw();
  return space.names[item];
}
