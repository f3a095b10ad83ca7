// The rules that the model proves: filtered, sorted, taken away as CSV.

const KINDS = { implies: ["⇒", "implies"], equivalent: ["⇔", "is equivalent to"], soft: ["⇝", "mostly implies"] };
const whole = (p) => percent(p, 0);

function interval(k) {
  const { like_low: low, like_high: high, like_rate: rate, base_rate: base } = data.rules;
  if (rate[k] === null) return "–";
  const range = { left: `${100 * low[k]}%`, width: `${100 * (high[k] - low[k])}%` };
  const title = `95% from ${whole(low[k])} to ${whole(high[k])}; anyway ${whole(base[k])}`;
  return h("span", { class: "interval", title },
    whole(rate[k]),
    h("span", { class: "bar", "aria-hidden": "true" },
      h("span", { class: "range", style: range }),
      h("span", { class: "mark", style: { left: `${100 * (base[k] ?? 0)}%` } })));
}

function ruleColumns() {
  const r = data.rules;
  const numeric = (key, label, title, cell = short) =>
    ({ label, title, value: (k) => r[key][k], cell: (k) => cell(r[key][k]) });
  const side = (key, label) =>
    ({ label, text: true, value: (k) => space.names[r[key][k]], cell: (k) => itemLink(r[key][k]) });
  const sign = (k) => {
    const [mark, words] = KINDS[r.kind[k]];
    return h("span", { title: words, role: "img", "aria-label": words }, mark);
  };
  return [
    side("if_item", "if"), { label: "kind", unseen: true, class: "kind", cell: sign }, side("then_item", "then"),
    numeric("surprise", "surprise", "how unlikely the inclusion is by chance, times how the ratings move together"),
    numeric("users", "users", "who rated both: the evidence"),
    {
      label: "like rate", value: (k) => r.like_rate[k], cell: interval,
      title: "of those who like the first, how many like the second; the line is the 95% interval, " +
        "the tick how many like it anyway",
    },
    numeric("base_rate", "anyway", "how many of the same users like the second anyway", whole),
    numeric("agreement", "agreement", "how often the first has at most the value of the second", whole),
    numeric("lift", "lift", "how much likelier the second is given the first, under the model"),
    numeric("support", "support", "probability of both, under the model", (p) => percent(p)),
    ...(r.stability
      ? [numeric("stability", "stability", "the part of other fits in which the rule holds", whole)]
      : []),
  ];
}

/** A field of a CSV file; a text that a spreadsheet would take for a formula gets an apostrophe. */
function csvField(value) {
  if (typeof value === "number") return String(value);
  const text = String(value ?? "").replace(/^(?=[=+\-@\t\r])/, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf(rows) {
  const keys = Object.keys(data.rules);
  const value = (key, k) => (key.endsWith("_item") ? space.names[data.rules[key][k]] : data.rules[key][k]);
  const lines = [keys, ...Array.from(rows, (k) => keys.map((key) => value(key, k)))];
  return lines.map((line) => `${line.map(csvField).join(",")}\r\n`).join("");
}

/** Rules as points: how many like the second, of those who like the first and anyway. */
function ruleChart(rows) {
  const r = data.rules;
  const all = ticks(0, 1);
  const { px, py, grid } = axes({
    x: [0, 1], y: [0, 1], xTicks: all, yTicks: all, xFormat: whole, yFormat: whole,
    xLabel: "like the second anyway", yLabel: "of those who like the first",
  });
  const words = (k) =>
    `${space.names[r.if_item[k]]} ${KINDS[r.kind[k]][0]} ${space.names[r.then_item[k]]}: ` +
    `${whole(r.like_rate[k])}, anyway ${whole(r.base_rate[k])}, ${plural(r.users[k], "user")}`;
  const dot = (k) =>
    svg("circle", {
      class: "dot rule", cx: px(r.base_rate[k]), cy: py(r.like_rate[k]),
      r: 2 + Math.min(5, Math.sqrt(r.users[k]) / 4), onclick: () => (location.hash = `#/item/${r.if_item[k]}`),
    }, svg("title", null, words(k)));
  const dots = rows.filter((k) => r.like_rate[k] !== null).map(dot);
  return chart("Does the rule tell more than the base rate?",
    "Above the dotted line, those who like the first item like the second more often than everybody does. " +
    "The larger the dot, the more users rated both. The numbers are in the table above: like rate, anyway, users.",
    [...grid, line([[px(0), py(0)], [px(1), py(1)]], "diagonal"), dots], []);
}

/** What passes a filter, as a function of it. */
function ruleFilter() {
  const r = data.rules;
  const folded = new Map();
  const fold = (i) => folded.get(i) ?? folded.set(i, plain(space.names[i])).get(i);
  return ({ text, kind, users, rate }) => {
    const wanted = plain(text.trim());
    return (k) =>
      r.users[k] >= users && (!kind || r.kind[k] === kind) &&
      (!rate || (r.like_rate[k] !== null && r.like_rate[k] > r.base_rate[k])) &&
      (!wanted || fold(r.if_item[k]).includes(wanted) || fold(r.then_item[k]).includes(wanted));
  };
}

function ruleControls(filter, changed, taken) {
  const set = (key) => (value) => ((filter[key] = value), changed());
  const box = h("input", {
    type: "checkbox", id: unique("field"), onchange: (event) => set("rate")(event.target.checked),
  });
  const text = h("input", { type: "search", oninput: (event) => set("text")(event.target.value) });
  const kinds = [["", "all"], ["implies", "implies ⇒"], ["equivalent", "equivalent ⇔"]];
  return h("div", { class: "controls" },
    labelled("Items with the text", text),
    labelled("Kind", select(kinds, "", set("kind"))),
    labelled("Users of both, at least", number(0, 0, set("users"))),
    h("div", { class: "field check" }, box, h("label", { for: box.id }, "only above the base rate")),
    h("button", { type: "button", class: "button", onclick: taken }, "Export CSV"));
}

function rulesView(main) {
  const all = data.rules.if_item.map((_, k) => k);
  const seen = data.fit.parts["held-out data"] === undefined ? "training" : "held-out";
  main.append(
    heading("Rules"),
    h("p", { class: "lead" },
      "If the set of one item lies inside another's, users who like the first also like the second: a theorem of " +
      `this model, for every user. Beside it stands the evidence in the ${seen} ratings. In the like rate, the band ` +
      "is the 95% interval, and the tick is the share who like the second anyway. Rules that follow from others are " +
      "left out."),
  );
  if (!all.length) {
    main.append(h("p", null, "The model proves no rule: no item's set lies inside another's."));
    return "Rules";
  }
  const filter = { text: "", kind: "", users: 0, rate: false };
  const passes = ruleFilter();
  const table = dataTable({
    caption: "Rules: users who like the first also like the second", columns: ruleColumns(), rows: all, by: 3,
    empty: "No rule passes the filters.",
  });
  const picture = h("div", { class: "scatter" });
  const count = h("p", { class: "quiet", role: "status" });
  function apply() {
    const rows = all.filter(passes(filter));
    table.show(rows);
    picture.replaceChildren(ruleChart(rows));
    count.textContent = `${plural(rows.length, "rule")} of ${integer(all.length)} on this page`;
  }
  const taken = () => download("rules.csv", csvOf(table.sorted()), "text/csv");
  main.append(ruleControls(filter, later(apply), taken), count, table.element, picture);
  apply();
  return "Rules";
}
