// The rules that the model proves: filtered, sorted, taken away as CSV.

const KINDS = { implies: ["⇒", "implies"], equivalent: ["⇔", "is equivalent to"], soft: ["⇝", "mostly implies"] };

const interval = (k) => {
  const { like_low: low, like_high: high, like_rate: rate, base_rate: base } = data.rules;
  return rate[k] === null
    ? "–"
    : h("span", { class: "interval", title: `95% from ${percent(low[k], 0)} to ${percent(high[k], 0)}; anyway ${percent(base[k], 0)}` },
        percent(rate[k], 0),
        h("span", { class: "bar", "aria-hidden": "true" },
          h("span", { class: "range", style: { left: `${100 * low[k]}%`, width: `${100 * (high[k] - low[k])}%` } }),
          h("span", { class: "mark", style: { left: `${100 * (base[k] ?? 0)}%` } })));
};

function ruleColumns() {
  const r = data.rules;
  const numeric = (key, label, title, cell) => ({ label, title, value: (k) => r[key][k], cell: cell && ((k) => cell(r[key][k])), class: `number ${key}` });
  const rate = (p) => percent(p, 0);
  return [
    { label: "if", text: true, value: (k) => space.names[r.if_item[k]], cell: (k) => itemLink(r.if_item[k]) },
    { label: "", class: "kind", cell: (k) => h("span", { title: KINDS[r.kind[k]][1], role: "img", "aria-label": KINDS[r.kind[k]][1] }, KINDS[r.kind[k]][0]) },
    { label: "then", text: true, value: (k) => space.names[r.then_item[k]], cell: (k) => itemLink(r.then_item[k]) },
    numeric("surprise", "surprise", "how unlikely the inclusion is by chance, times how the ratings move together"),
    numeric("users", "users", "who rated both: the evidence"),
    { label: "like rate", title: "of those who like the first, how many like the second; the line is the 95% interval, the tick how many like it anyway", value: (k) => r.like_rate[k], cell: interval, class: "number like_rate" },
    numeric("base_rate", "anyway", "how many of the same users like the second anyway", rate),
    numeric("agreement", "agreement", "how often the first has at most the value of the second", rate),
    numeric("lift", "lift", "how much likelier the second is given the first, under the model"),
    numeric("support", "support", "probability of both, under the model", (p) => percent(p)),
    ...(r.stability ? [numeric("stability", "stability", "the part of other fits in which the rule holds", rate)] : []),
  ];
}

function csvOf(rows) {
  const field = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = Object.keys(data.rules);
  const value = (key, k) => (key.endsWith("_item") ? space.names[data.rules[key][k]] : data.rules[key][k]);
  return [names, ...Array.from(rows, (k) => names.map((key) => value(key, k)))].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** Rules as points: how many like the second, of those who like the first and anyway. */
function ruleChart(rows) {
  const r = data.rules;
  const unit = { x: [0, 1], y: [0, 1], xTicks: ticks(0, 1), yTicks: ticks(0, 1), xFormat: (p) => percent(p, 0), yFormat: (p) => percent(p, 0) };
  const { px, py, grid } = axes({ ...unit, xLabel: "like the second anyway", yLabel: "of those who like the first" });
  const dots = rows.filter((k) => r.like_rate[k] !== null).map((k) =>
    svg("circle", { class: "dot rule", cx: px(r.base_rate[k]), cy: py(r.like_rate[k]), r: 2 + Math.min(5, Math.sqrt(r.users[k]) / 4), onclick: () => (location.hash = `#/item/${r.if_item[k]}`) },
      svg("title", null, `${space.names[r.if_item[k]]} ${KINDS[r.kind[k]][0]} ${space.names[r.then_item[k]]}: ${percent(r.like_rate[k], 0)}, anyway ${percent(r.base_rate[k], 0)}, ${plural(r.users[k], "user")}`)));
  return chart("Does the rule tell more than the base rate?", "Above the dotted line, those who like the first item like the second more often than everybody does. The larger the dot, the more users rated both.",
    [...grid, line([[px(0), py(0)], [px(1), py(1)]], "diagonal"), dots], []);
}

function rulesView(main) {
  const r = data.rules;
  const all = r.if_item.map((_, k) => k);
  const filter = { text: "", kind: "", users: 0, rate: false };
  const heldOut = data.fit.parts["held-out data"] !== undefined;
  const table = dataTable({ caption: "Rules: whoever likes the first likes the second", columns: ruleColumns(), rows: all, by: 3, empty: "No rule passes the filters." });
  const picture = h("div", { class: "scatter" });
  const count = h("p", { class: "quiet", role: "status" });
  const folded = new Map();
  const fold = (i) => folded.get(i) ?? folded.set(i, plain(space.names[i])).get(i);

  function apply() {
    const text = plain(filter.text.trim());
    const rows = all.filter((k) =>
      r.users[k] >= filter.users && (!filter.kind || r.kind[k] === filter.kind) &&
      (!filter.rate || (r.like_rate[k] !== null && r.like_rate[k] > r.base_rate[k])) &&
      (!text || fold(r.if_item[k]).includes(text) || fold(r.then_item[k]).includes(text)));
    table.show(rows);
    picture.replaceChildren(ruleChart(rows));
    count.textContent = `${plural(rows.length, "rule")} of ${integer(all.length)} on this page`;
  }
  const change = later(apply);
  const set = (key) => (value) => ((filter[key] = value), change());
  const box = h("input", { type: "checkbox", id: unique("field"), onchange: (event) => set("rate")(event.target.checked) });
  main.append(
    heading("Rules"),
    h("p", { class: "lead" }, "If the set of one item lies inside that of another, whoever likes the first likes the second: a theorem of this model, for every user. " +
      `Beside it stands what the ${heldOut ? "held-out" : "training"} ratings say: in the like rate, the band is the 95% interval, the tick how many like the second anyway. Rules that follow from others are folded away.`),
    h("div", { class: "controls" },
      labelled("Items with the text", h("input", { type: "search", oninput: (event) => set("text")(event.target.value) })),
      labelled("Kind", select([["", "all"], ["implies", "implies ⇒"], ["equivalent", "equivalent ⇔"]], "", set("kind"))),
      labelled("Users of both, at least", number(0, 0, set("users"))),
      h("div", { class: "field check" }, box, h("label", { for: box.id }, "only above the base rate")),
      h("button", { type: "button", class: "button", onclick: () => download("rules.csv", csvOf(table.sorted()), "text/csv") }, "Export CSV")),
    count, table.element, picture,
  );
  apply();
  return "Rules";
}
