// A user: the distribution over the events, predictions, and why each is what it is.

const nobody = () => h("p", { class: "lead" }, "This page was written without users.");

function usersView(main) {
  main.append(heading("Users"));
  if (!data.users.name.length) {
    main.append(nobody());
    return "Users";
  }
  const top = (u) => data.users.pmf[u].indexOf(Math.max(...data.users.pmf[u]));
  const mass = (u) => data.users.pmf[u][top(u)] / PMF_UNIT;
  const all = data.users.name.map((_, u) => u);
  const table = dataTable({
    caption: "Users of this page", rows: all, by: 1, empty: "No user has this in their name.",
    columns: [
      { label: "user", text: true, value: (u) => data.users.name[u], cell: userLink },
      { label: "ratings", value: (u) => data.users.ratings[u] },
      { label: "heaviest event", value: top, cell: (u) => eventLink(top(u)) },
      { label: "its mass", value: mass, cell: (u) => percent(mass(u)) },
      { label: "its label", class: "told", cell: (u) => eventLabel(top(u)) },
    ],
  });
  const narrow = h("input", { type: "search" });
  const find = () => table.show(narrow.value.trim() ? findUsers(narrow.value, Infinity) : all);
  narrow.addEventListener("input", later(find));
  main.append(
    h("p", { class: "lead" },
      "A user is a distribution over the events. Open one for predictions and their reasons."),
    h("div", { class: "controls" }, labelled("Name contains", narrow),
      all.length > 1 ? h("a", { class: "button", href: "#/compare" }, "Compare two users") : null),
    table.element,
  );
  return "Users";
}

function pmfChart({ pmf, called }) {
  const most = Math.max(...pmf, ...space.mass);
  const order = pmf.map((_, d) => d).sort((a, b) => pmf[b] - pmf[a]);
  const head = (text) => h("th", { scope: "col", class: text === "label" ? "minor" : null }, text);
  const row = (d) => h("tr", null,
    h("th", { scope: "row" }, eventLink(d)), h("td", { class: "number" }, percent(pmf[d])),
    h("td", { class: "half" }, bar(pmf[d] / most, space.mass[d] / most),
      h("span", { class: "unseen" }, percent(space.mass[d]))),
    h("td", { class: "half minor" }, eventLabel(d)));
  return h("section", { class: "card" }, h("h3", null, "Distribution over the events"),
    h("p", { class: "quiet" }, `Bars: ${called === "you" ? "your" : "the user's"} mass. Ticks: the population's.`),
    h("table", { class: "pmf" },
      h("caption", { class: "unseen" }, "Mass of each event, for the user and in the population"),
      h("thead", { class: "unseen" },
        h("tr", null, ["event", "the user's mass", "the population's", "label"].map(head))),
      h("tbody", null, order.map(row))));
}

const REASONS = 6; // events of a side, and rules, that are named

const value = (p) => (ownUnit ? `${percent(p)} (${inUnit(p)})` : percent(p));

/** The events of a side, the heaviest named. */
function eventReasons(title, events) {
  if (!events.length) return [];
  const total = (some) => percent(some.reduce((all, [, m]) => all + m, 0));
  const entry = ([d, m]) =>
    h("li", null, h("span", { class: "figure" }, percent(m)), eventLink(d), eventLabel(d));
  const rest = events.slice(REASONS);
  return [
    h("h4", null, `${title} ${total(events)} of the mass`),
    h("ul", { class: "plain events" },
      events.slice(0, REASONS).map(entry),
      rest.length
        ? h("li", null, h("span", { class: "figure" }, total(rest)),
          h("span", { class: "quiet" }, `${rest.length} more`))
        : null),
  ];
}

/** The rules of a side; those that the person's own rating contradicts are on none. */
function ruleReasons(side, all, { has }) {
  const rules = all.filter(({ speaks }) => speaks === side);
  if (!rules.length) return [];
  const words = [
    () => "is equivalent to it", (p) => `implies it: at least ${percent(p)}`,
    (p) => `is implied by it: at most ${percent(p)}`,
  ];
  const entry = ({ other, value: given, kind, probability }) =>
    h("li", null, itemLink(other), ` ${words[kind](probability)} `,
      h("span", { class: "quiet" }, `(rated ${short(given)})`));
  return [
    h("h4", null, `${side === "for" ? "For" : "Against"} it, from what ${has} rated`),
    h("ul", { class: "plain" }, rules.slice(0, REASONS).map(entry), andMore(rules.length - REASONS)),
  ];
}

function whyPanel(person, item) {
  const why = explain(person, item);
  const own = why.own === undefined ? "" : `; rated ${short(why.own)}`;
  return [
    h("h3", { tabindex: "-1" }, "Why ", itemLink(item), "?"),
    h("p", null, h("strong", null, value(why.probability)), `; in the population ${percent(why.population)}.`),
    strip((d) => comesTrue(item, d), person.pmf),
    ...eventReasons("It comes true in", why.comesTrue), ...eventReasons("It does not come true in", why.doesNot),
    ...ruleReasons("for", why.rules, person), ...ruleReasons("against", why.rules, person),
    h("p", { class: "quiet" },
      `Evidence: ${plural(person.count, "rating")} by ${person.called}, ` +
      `${integer(space.ratings[item])} of the item${own}.`),
  ];
}

/** Tables of what a person has not rated and has; p(item) is what is predicted, asked(item) a button. */
function personTables({ ratings: own, has }, p, unrated, asked) {
  const predicted = { label: "probability", value: p, cell: (i) => percent(p(i)) };
  const unit = { label: "value", title: "in the unit of the table", value: p, cell: (i) => inUnit(p(i)) };
  const units = ownUnit ? [unit] : [];
  const ratings = { label: "ratings", title: "of the item", value: (i) => space.ratings[i] };
  const title = { label: "item", text: true, value: (i) => space.names[i], cell: itemLink };
  const reason = { label: "why", unseen: true, class: "kind", cell: asked };
  const best = dataTable({
    caption: `Predictions for what ${has} not rated`, rows: unrated(), by: 1, page: 12,
    columns: [title, predicted, ...units, ratings, reason], empty: "No item has that many ratings.",
  });
  const rated = { label: "rated", value: (i) => own.get(i) };
  const seen = dataTable({
    caption: `What ${has} rated`, rows: [...own.keys()], by: 1, page: 12,
    columns: [title, rated, { ...predicted, label: "predicted" }, ...units, reason],
  });
  return [best, seen];
}

/** The items with ratings enough that a person has not rated. */
const unratedBy = ({ ratings }) => everyItem.filter((i) => space.ratings[i] >= state.least && !ratings.has(i));

/** What is said of a person: the distribution, predictions, and why each is what it is. */
function personParts(person) {
  const { pmf, ratings: own } = person;
  const p = chancesUnder(pmf);
  const panel = h("aside", { class: "card panel", "aria-label": "Why this prediction", id: unique("why") });
  const show = (i) => {
    panel.replaceChildren(...whyPanel(person, i));
    announce(`Why ${space.names[i]}: ${percent(p(i))}`);
    panel.querySelector("h3").focus();
  };
  const asked = (i) =>
    h("button", {
      type: "button", class: "small", "aria-controls": panel.id, "aria-label": `Why ${space.names[i]}?`,
      onclick: () => show(i),
    }, "Why?");
  const unrated = () => unratedBy(person);
  const [best, seen] = personTables(person, p, unrated, asked);
  const change = later(() => best.show(unrated()));
  const finder = combobox({
    label: "Ask about any item", find: findItems, names: space.names, hint: (i) => percent(p(i)), chosen: show,
  });
  const first = best.sorted()[0] ?? [...own.keys()][0];
  if (first !== undefined) panel.replaceChildren(...whyPanel(person, first));
  return [
    pmfChart(person),
    h("div", { class: "controls" }, finder,
      labelled("Ratings of an item, at least", number(state.least, 1, (n) => ((state.least = n), change())))),
    h("div", { class: "split" }, h("div", null, best.element, own.size ? seen.element : ""), panel),
  ];
}

function userView(main, user) {
  const person = personOf(user);
  const { size } = person.ratings;
  main.append(
    heading("User ", name(data.users.name[user])),
    h("p", { class: "lead" }, `${plural(person.count, "rating")}.`,
      size < person.count ? ` ${integer(size)} of them are of items on this page.` : ""),
    data.users.name.length > 1
      ? h("p", { class: "actions" },
        h("a", { class: "button", href: `#/compare/${user}` }, "Compare with another user"))
      : "",
    ...personParts(person),
  );
  return person.title;
}
