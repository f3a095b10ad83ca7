// The rules: of those who like one item, how many like another. Filtered, sorted, taken away as CSV.

const KINDS = {
  implies: ["⇒", "implies, proved"], equivalent: ["⇔", "is equivalent to, proved"],
  soft: ["⇝", "makes likelier, not proved"],
};
const GAIN_LOW = "gain at\u00a0least"; // the column, broken in two lines at most
const HOLDS = 0.05; // the q from which on a rule does not hold
const PARTS = 10; // of the rules, in the picture of what was promised and found
const whole = (p) => percent(p, 0);
const gained = (p) => `+${(100 * p).toFixed(0)}`; // what gains nothing is not listed
const tested = data.rules.q_value !== undefined; // on held-out data
const KEY =
  "The band is the 90% interval. The tick is how many like the second anyway. ⇒ and ⇔ are proved by this model, " +
  "⇝ is not. Of the two directions of a rule the better one is listed. The greatest gain comes first; a rule " +
  "whose items were named before comes a little later.";

/** What a rule is, in words. */
function ruleLead() {
  const like = data.like === null ? "" : ` A like is ${short(data.like)} or more.`;
  const held = tested ? " What was found in the held-out ratings stands beside it." : "";
  return "A rule says: of those who like the first item, so many like the second; of all, so many. It is about the " +
    "next user who meets both: what the model expects, with the users who rated both counted on top." + like + held;
}

function interval(k) {
  const { confidence, confidence_low: low, confidence_high: high, base } = data.rules;
  const range = { left: `${100 * low[k]}%`, width: `${100 * (high[k] - low[k])}%` };
  const title = `90% from ${whole(low[k])} to ${whole(high[k])}; anyway ${whole(base[k])}`;
  const ends = [low[k], high[k]].map((p) => (100 * p).toFixed(0)).join(", ");
  return h("span", { class: "interval", title },
    whole(confidence[k]), h("span", { class: "quiet" }, ` [${ends}]`),
    h("span", { class: "bar", "aria-hidden": "true" },
      h("span", { class: "range", style: range }),
      h("span", { class: "mark", style: { left: `${100 * base[k]}%` } })));
}

/** How many users like both, of those who like the first; and of how many who rated both. */
function counted(k) {
  const { like_both: both, like_if: first, users } = data.rules;
  return [`${integer(both[k])} of ${integer(first[k])}`,
    h("span", { class: "quiet under" }, `${integer(users[k])} rated both`)];
}

function ruleColumns() {
  const r = data.rules;
  const numeric = (key, label, title, cell = whole) =>
    ({ label, title, class: "number narrow", value: (k) => r[key][k], cell: (k) => cell(r[key][k]) });
  const side = (key, label) => ({
    label, text: true, class: "side", value: (k) => space.names[r[key][k]], cell: (k) => itemLink(r[key][k]),
  });
  const sign = (k) => {
    const [mark, words] = KINDS[r.kind[k]];
    return h("span", { title: words, role: "img", "aria-label": words }, mark);
  };
  const q = (p) => (p < 0.001 ? "< 0.1%" : percent(p, p < 0.1 ? 1 : 0));
  return [
    side("if_item", "if"), { label: "kind", unseen: true, class: "kind", cell: sign }, side("then_item", "then"),
    {
      label: "like it", class: "number narrow", value: (k) => r.confidence[k], cell: interval,
      title: "of those who like the first, how many like the second; the band is the 90% interval, " +
        "the tick how many like it anyway",
    },
    numeric("base", "anyway", "of all, how many like the second"),
    numeric("gain", "gain", "like it less anyway, in points of a hundred", gained),
    numeric("gain_low", GAIN_LOW, "the lower end of the 90% interval of the gain", gained),
    {
      label: "users", class: "number narrow", value: (k) => r.like_both[k], cell: counted,
      title: "who like both, of those who like the first; below, how many rated both",
    },
    ...(r.inclusion.some((share) => share !== null)
      ? [numeric("inclusion", "inclusion", "the share of other fits in which the first set lies inside the second")]
      : []),
    ...(tested
      ? [
        numeric("held_out_confidence", "found", "of the cases, how many like the second"),
        numeric("held_out_base", "found anyway", "of the held-out users who rated both, how many like the second"),
        numeric("held_out_like_if", "cases", "held-out users who rated both and like the first", integer),
        numeric("q_value", "q", "of the rules with a q as small as this, at most so many are expected to gain " +
          "nothing", q),
      ]
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

/** Axes of two shares, from a little below the least (or from 0) to 1, with the diagonal. */
function shares(xLabel, xs, yLabel, ys) {
  const from = (values) => Math.floor(10 * Math.min(...values, 0.9)) / 10;
  const [x, y] = [[from(xs), 1], [from(ys), 1]];
  const { px, py, grid } = axes({
    x, y, xTicks: ticks(...x), yTicks: ticks(...y), xFormat: whole, yFormat: whole, xLabel, yLabel,
  });
  const least = Math.max(x[0], y[0]);
  return { px, py, ground: [...grid, line([[px(least), py(least)], [px(1), py(1)]], "diagonal")] };
}

/** Rules as dots with areas like their numbers of users; each opens its first item. */
function ruleDots(rows, place, users, words) {
  const { if_item: first, then_item: second, kind } = data.rules;
  const most = Math.max(...rows.map(users));
  return rows.map((k) => {
    const [cx, cy] = place(k);
    const title = `${space.names[first[k]]} ${KINDS[kind[k]][0]} ${space.names[second[k]]}: ${words(k)}`;
    const open = () => (location.hash = `#/item/${first[k]}`);
    const r = Math.max(1.5, 7 * Math.sqrt(users(k) / most));
    return svg("circle", { class: "dot rule", cx, cy, r, onclick: open }, svg("title", null, title));
  });
}

/** How many like the second item: of those who like the first, and of all. */
function gainChart(rows) {
  const { base, confidence, like_both: both } = data.rules;
  const each = rows.map((k) => base[k]); // the lesser of the two
  const { px, py, ground } = shares("like the second anyway", each, "of those who like the first", each);
  const words = (k) => `${whole(confidence[k])}, anyway ${whole(base[k])}; ${plural(both[k], "user")} like both`;
  const dots = ruleDots(rows, (k) => [px(base[k]), py(confidence[k])], (k) => both[k], words);
  return chart("What the rules gain",
    "Each dot is a rule: the higher above the dotted line, the more often do those who like the first item like the " +
    "second. The larger the dot, the more users like both. The numbers are in the table above: like it, anyway, users.",
    [...ground, dots], []);
}

/** Rules by what they promise, in parts with as many cases: what they promise and what was found, of all cases. */
function foundInParts(rows) {
  const { confidence, held_out_confidence: found, held_out_like_if: cases } = data.rules;
  const total = sum(rows.map((k) => cases[k]));
  const parts = [];
  let before = 0;
  for (const k of rows.toSorted((a, b) => confidence[a] - confidence[b])) {
    const at = Math.floor((PARTS * (before + cases[k] / 2)) / total);
    const part = (parts[at] ??= { rules: 0, cases: 0, promised: 0, found: 0 });
    part.rules += 1;
    part.cases += cases[k];
    part.promised += cases[k] * confidence[k];
    part.found += cases[k] * found[k];
    before += cases[k];
  }
  return parts.filter(Boolean).map(({ promised, found: all, ...part }) =>
    ({ ...part, promised: promised / part.cases, found: all / part.cases }));
}

/** Do the rules keep what they promise? Each as a point, and the means of parts of them. */
function foundChart(rows) {
  const { confidence, held_out_confidence: found, held_out_like_if: cases } = data.rules;
  const known = rows.filter((k) => cases[k] > 0);
  const parts = foundInParts(known);
  const { px, py, ground } = shares("promised", known.map((k) => confidence[k]), "found on held-out data", [0]);
  const words = (k) => `promised ${whole(confidence[k])}, found ${whole(found[k])} of ${plural(cases[k], "case")}`;
  const dots = ruleDots(known, (k) => [px(confidence[k]), py(found[k])], (k) => cases[k], words);
  const means = parts.map((part) => [px(part.promised), py(part.found)]);
  const squares = means.map(([x, y]) =>
    svg("rect", { class: "dot second", x: x - 4, y: y - 4, width: 8, height: 8 }));
  const table = dataTable({
    caption: `Promised and found, in ${plural(parts.length, "part")}`, rows: parts.map((_, j) => j),
    columns: [
      { label: "promised", value: (j) => parts[j].promised, cell: (j) => percent(parts[j].promised) },
      { label: "found", value: (j) => parts[j].found, cell: (j) => percent(parts[j].found) },
      { label: "cases", value: (j) => parts[j].cases },
      { label: "rules", value: (j) => parts[j].rules },
    ],
  });
  return chart("Promised and found",
    "Each dot is a rule: how many like the second item as it promises, and as found among its cases, the held-out " +
    "users who like the first. The larger the dot, the more cases; few cases scatter widely. The squares are means " +
    "over many rules. On the dotted line, rules keep what they promise.",
    [...ground, dots, line(means, "curve second"), squares], [table.element]);
}

/** What passes a filter, as a function of it. */
function ruleFilter() {
  const r = data.rules;
  const folded = new Map();
  const fold = (i) => folded.get(i) ?? folded.set(i, plain(space.names[i])).get(i);
  return ({ text, kind, both, holds }) => {
    const wanted = plain(text.trim());
    return (k) =>
      r.like_both[k] >= both && (!kind || kind.split(" ").includes(r.kind[k])) && (!holds || r.q_value[k] < HOLDS) &&
      (!wanted || fold(r.if_item[k]).includes(wanted) || fold(r.then_item[k]).includes(wanted));
  };
}

function ruleControls(filter, changed, taken) {
  const set = (key) => (value) => ((filter[key] = value), changed());
  const box = h("input", {
    type: "checkbox", id: unique("field"), onchange: (event) => set("holds")(event.target.checked),
  });
  const text = h("input", { type: "search", oninput: (event) => set("text")(event.target.value) });
  const kinds = [
    ["", "all"], ["implies equivalent", "proved"], ["implies", "implies ⇒"], ["equivalent", "equivalent ⇔"],
    ["soft", "not proved ⇝"],
  ];
  return h("div", { class: "controls" },
    labelled("Items with the text", text),
    labelled("Kind", select(kinds, "", set("kind"))),
    labelled("Users who like both, at least", number(0, 0, set("both"))),
    tested
      ? h("div", { class: "field check" }, box,
        h("label", { for: box.id }, `holds on held-out data (q < ${whole(HOLDS)})`))
      : null,
    h("button", { type: "button", class: "button", onclick: taken }, "Export CSV"));
}

function rulesView(main) {
  const all = data.rules.if_item.map((_, k) => k);
  main.append(heading("Rules"), h("p", { class: "lead" }, ruleLead()));
  if (!all.length) {
    main.append(h("p", null, "There is no rule to list: between no two items is a gain sure."));
    return "Rules";
  }
  const filter = { text: "", kind: "", both: 0, holds: false };
  const passes = ruleFilter();
  const table = dataTable({
    caption: "Rules from one item to another", look: "rules", columns: ruleColumns(), rows: all,
    empty: "No rule passes the filters." +
      (tested ? " q tests all rules of this page together: of a shorter list more would pass." : ""),
  });
  const pictures = h("div", { class: "columns charts scatter" });
  const count = h("p", { class: "quiet", role: "status" });
  function apply() {
    const rows = all.filter(passes(filter));
    table.show(rows);
    pictures.replaceChildren(gainChart(rows), ...(tested ? [foundChart(rows)] : []));
    count.textContent = `${plural(rows.length, "rule")} of ${integer(all.length)} on this page`;
  }
  const taken = () => download("rules.csv", csvOf(table.sorted()), "text/csv");
  main.append(
    h("p", { class: "quiet" }, KEY), ruleControls(filter, later(apply), taken), count, table.element, pictures,
  );
  apply();
  return "Rules";
}
