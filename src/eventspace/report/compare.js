// Two people side by side: their distributions, and the items where they differ and agree most.

/** The mass of each event for both, the events that tell them apart first. */
function pmfsCard(one, other) {
  const order = one.pmf.map((_, d) => d).sort((a, b) =>
    Math.abs(one.pmf[b] - other.pmf[b]) - Math.abs(one.pmf[a] - other.pmf[a]) || a - b);
  const most = Math.max(...one.pmf, ...other.pmf, ...space.mass);
  const half = (pmf, d) => h("td", null,
    h("span", { class: "number" }, percent(pmf[d])), bar(pmf[d] / most, space.mass[d] / most));
  const row = (d) => h("tr", null, h("th", { scope: "row" }, eventLink(d)), half(one.pmf, d), half(other.pmf, d),
    h("td", { class: "minor" }, eventLabel(d)));
  const head = (text, className) => h("th", { scope: "col", class: className }, text);
  return h("section", { class: "card" }, h("h3", null, "Distributions over the events"),
    h("p", { class: "quiet" }, "Bars: mass. Ticks: the population's. The events in which they differ most come first."),
    h("table", { class: "pmf pair" },
      h("caption", { class: "unseen" }, "Mass of each event, for both"),
      h("thead", null,
        h("tr", null, head("event"), head(name(one.title)), head(name(other.title)), head("label", "minor"))),
      h("tbody", null, order.map(row))));
}

/** How two people compare: what they share, and by how much their chances and their ratings differ. */
function comparison(one, other) {
  const [p, q] = [one, other].map(({ pmf }) => chancesUnder(pmf));
  const known = everyItem.filter((i) => space.ratings[i] >= state.least);
  const both = [...one.ratings.keys()].filter((i) => other.ratings.has(i));
  const apartIn = (i) => Math.abs(one.ratings.get(i) - other.ratings.get(i));
  const mean = (values) => (values.length ? sum(values) / values.length : null);
  return {
    p, q, known, both,
    shared: sum(one.pmf.map((m, d) => Math.min(m, other.pmf[d]))),
    distance: mean(known.map((i) => Math.abs(p(i) - q(i)))),
    ratedApart: mean(both.map(apartIn)),
    // above 0 where both are on the same side of the population: how far the nearer one is from it
    agreement: (i) => {
      const [a, b] = [p(i) - probabilityOf(i), q(i) - probabilityOf(i)];
      return a * b > 0 ? Math.min(Math.abs(a), Math.abs(b)) : 0;
    },
  };
}

/** Tables of the items where two people differ most, and where they agree most against the rest. */
function comparedTables(one, other, { p, q, known, agreement }) {
  const item = { label: "item", text: true, value: (i) => space.names[i], cell: itemLink };
  const ratings = { label: "ratings", title: "of the item", value: (i) => space.ratings[i] };
  const chance = ({ title, ratings: own }, of) => ({
    label: title, class: "number narrow person", value: of, title: "the chance; below it, the rating",
    cell: (i) =>
      [percent(of(i)), own.has(i) ? h("span", { class: "quiet under" }, `rated ${short(own.get(i))}`) : null],
  });
  const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(100 * x).toFixed(0)}`;
  const table = (caption, label, title, value, cell, rows) => dataTable({
    caption, rows, by: 3, page: 10, empty: "No item has that many ratings.",
    columns: [item, chance(one, p), chance(other, q), { label, title, class: "number narrow", value, cell }, ratings],
  }).element;
  const apartBy = (i) => Math.abs(p(i) - q(i));
  const side = (i) => Math.sign(p(i) - probabilityOf(i));
  return [
    table("Where they differ most", "apart", "the first less the second, in points of a hundred", apartBy,
      (i) => signed(p(i) - q(i)), known),
    table("Where they agree most", "from all", "how far the nearer of both is from the population, if both are on " +
      "one side of it, in points of a hundred", agreement, (i) => signed(side(i) * agreement(i)),
      known.filter((i) => agreement(i) > 0)),
  ];
}

function compareFacts(found) {
  return facts([
    ["mass in common", percent(found.shared)],
    ["mean difference of chances", found.distance === null ? "–" : percent(found.distance)],
    ["items both have rated", integer(found.both.length)],
    ...(found.both.length ? [["mean difference of these ratings", short(found.ratedApart)]] : []),
  ]);
}

/** Whom to compare, by parts of the address; who is not named is someone else. */
function pairAt(first, second) {
  const one = first ?? "0";
  return [one, second ?? (one === "0" ? "1" : "0")];
}

function compareView(main, first, second) {
  const pair = pairAt(first, second);
  const [one, other] = pair.map(personAt);
  const picker = (label, k) => combobox({
    label, find: findUsers, names: data.users.name, hint: (u) => plural(data.users.ratings[u], "rating"),
    chosen: (u) => (location.hash = `#/compare/${pair.with(k, u).join("/")}`),
  });
  const results = h("div", { class: "results" });
  function draw() {
    const found = comparison(one, other);
    results.replaceChildren(compareFacts(found), pmfsCard(one, other),
      h("div", { class: "columns pairs" }, comparedTables(one, other, found)));
  }
  const change = later(draw);
  main.append(
    heading(name(one.title), " and ", name(other.title)),
    h("p", { class: "lead" }, "Two people side by side. Below their distributions are the items where they differ " +
      "most, and where they agree most. You choose how many ratings an item needs to be listed."),
    h("div", { class: "controls" }, picker("Another first user", 0), picker("Another second user", 1),
      labelled("Ratings of an item, at least", number(state.least, 1, (n) => ((state.least = n), change())))),
    results,
  );
  draw();
  return `${one.title} and ${other.title}`;
}
