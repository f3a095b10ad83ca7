// A user: the distribution over the events, predictions, and why each is what it is.

const nobody = () => h("p", { class: "lead" }, "This page was written without users.");

function usersView(main) {
  main.append(heading("Users"));
  if (!data.users.name.length) {
    main.append(nobody());
    return "Users";
  }
  const top = (u) => data.users.pmf[u].indexOf(Math.max(...data.users.pmf[u]));
  const all = data.users.name.map((_, u) => u);
  const table = dataTable({
    caption: "Users of this page", rows: all, by: 1, empty: "No user has this in their name.",
    columns: [
      { label: "user", text: true, value: (u) => data.users.name[u], cell: userLink },
      { label: "ratings", value: (u) => data.users.ratings[u] },
      { label: "heaviest event", value: top, cell: (u) => eventLink(top(u)), class: "number minor" },
      { label: "its mass", value: (u) => data.users.pmf[u][top(u)] / PMF_UNIT, cell: (u) => percent(data.users.pmf[u][top(u)] / PMF_UNIT) },
    ],
  });
  const narrow = h("input", { type: "search" });
  narrow.addEventListener("input", later(() => table.show(narrow.value.trim() ? findUsers(narrow.value, Infinity) : all)));
  main.append(
    h("p", { class: "lead" }, "A user is a distribution over the events. Open one for predictions and their reasons."),
    h("div", { class: "controls" }, labelled("Name contains", narrow)), table.element,
  );
  return "Users";
}

function pmfChart(user) {
  const pmf = pmfOf(user);
  const most = Math.max(...pmf, ...space.mass);
  const order = pmf.map((_, d) => d).sort((a, b) => pmf[b] - pmf[a]);
  return h("section", { class: "card" }, h("h3", null, "Distribution over the events"),
    h("p", { class: "quiet" }, "Bars: the user's mass. Ticks: the population's."),
    h("table", { class: "pmf" },
      h("caption", { class: "unseen" }, "Mass of each event, for the user and in the population"),
      h("thead", { class: "unseen" }, h("tr", null, ["event", "the user's mass", "the population's", "label"].map((t) => h("th", { scope: "col", class: t === "label" ? "minor" : null }, t)))),
      h("tbody", null, order.map((d) => h("tr", null,
        h("th", { scope: "row" }, eventLink(d)), h("td", { class: "number" }, percent(pmf[d])),
        h("td", { class: "half" }, bar(pmf[d] / most, space.mass[d] / most), h("span", { class: "unseen" }, percent(space.mass[d]))),
        h("td", { class: "half minor" }, h("span", { class: "quiet clip", dir: "auto", title: data.events.label[d] }, data.events.label[d])))))));
}

const REASONS = 6; // events of a side, and rules, that are named

const value = (p) => (ownUnit ? `${percent(p)} (${inUnit(p)})` : percent(p));

function whyPanel(user, item) {
  const why = explain(user, item);
  const total = (events) => percent(events.reduce((sum, [, m]) => sum + m, 0));
  const side = (title, events) => events.length
    ? [h("h4", null, `${title} ${total(events)} of the mass`),
        h("ul", { class: "plain events" },
          events.slice(0, REASONS).map(([d, m]) => h("li", null, h("span", { class: "figure" }, percent(m)), eventLink(d), h("span", { class: "quiet clip", dir: "auto", title: data.events.label[d] }, data.events.label[d]))),
          events.length > REASONS ? h("li", null, h("span", { class: "figure" }, total(events.slice(REASONS))), h("span", { class: "quiet" }, `${events.length - REASONS} more`)) : null)]
    : [];
  const words = [(p) => "is equivalent to it", (p) => `implies it: at least ${percent(p)}`, (p) => `is implied by it: at most ${percent(p)}`];
  const rules = why.rules.length
    ? [h("h4", null, "Rules to what the user has rated"),
        h("ul", { class: "plain" }, why.rules.slice(0, REASONS).map(({ other, value: given, kind, probability }) =>
          h("li", null, itemLink(other), ` ${words[kind](probability)} `, h("span", { class: "quiet" }, `(rated ${short(given)})`))),
          why.rules.length > REASONS ? h("li", { class: "quiet" }, `and ${integer(why.rules.length - REASONS)} more`) : null)]
    : [];
  return [
    h("h3", { tabindex: "-1" }, "Why ", itemLink(item), "?"),
    h("p", null, h("strong", null, value(why.probability)), `; in the population ${percent(why.population)}.`),
    strip(space.classOf[item], pmfOf(user)),
    ...side("It comes true in", why.comesTrue), ...side("It does not in", why.doesNot), ...rules,
    h("p", { class: "quiet" }, `Evidence: ${plural(data.users.ratings[user], "rating")} by the user, ${integer(space.ratings[item])} of the item${why.own === undefined ? "" : `; rated ${short(why.own)}`}.`),
  ];
}

function userView(main, user) {
  const masses = massesUnder(pmfOf(user));
  const p = (i) => masses[space.classOf[i]];
  const own = ratingsOf(user);
  const panel = h("aside", { class: "card panel", "aria-label": "Why this prediction", id: unique("why") });
  const why = (i) => {
    panel.replaceChildren(...whyPanel(user, i));
    announce(`Why ${space.names[i]}: ${percent(p(i))}`);
  };
  const show = (i) => {
    why(i);
    panel.querySelector("h3").focus();
  };
  const asked = (i) => h("button", { type: "button", class: "small", "aria-controls": panel.id, "aria-label": `Why ${space.names[i]}?`, onclick: () => show(i) }, "Why?");
  const predicted = { label: "probability", value: p, cell: (i) => percent(p(i)) };
  const unit = ownUnit ? [{ label: "value", title: "in the unit of the table", value: p, cell: (i) => inUnit(p(i)) }] : [];
  const ratings = { label: "ratings", title: "of the item", value: (i) => space.ratings[i], class: "number minor" };
  const title = { label: "item", text: true, value: (i) => space.names[i], cell: itemLink };
  const reason = { label: "", class: "kind", cell: asked };
  let least = state.least;
  const unrated = () => Array.from({ length: space.nItems }, (_, i) => i).filter((i) => space.ratings[i] >= least && !own.has(i));
  const best = dataTable({ caption: "Predictions for what the user has not rated", rows: unrated(), by: 1, columns: [title, predicted, ...unit, ratings, reason], page: 12, empty: "Nothing has so many ratings." });
  const rated = [...own.keys()];
  const seen = dataTable({
    caption: "What the user has rated", rows: rated, by: 1, page: 12,
    columns: [title, { label: "rated", value: (i) => own.get(i) }, { ...predicted, label: "predicted" }, ...unit, reason],
  });
  const finder = combobox({ label: "Ask about any item", find: findItems, names: space.names, hint: (i) => percent(p(i)), chosen: show });
  main.append(
    heading("User ", name(data.users.name[user])),
    h("p", { class: "lead" }, `${plural(data.users.ratings[user], "rating")}.`,
      rated.length < data.users.ratings[user] ? ` ${integer(rated.length)} of them are of items on this page.` : ""),
    pmfChart(user),
    h("div", { class: "controls" }, finder, labelled("Ratings of an item, at least", number(least, 1, (n) => ((least = n), later(() => best.show(unrated()))())))),
    h("div", { class: "split" }, h("div", null, best.element, rated.length ? seen.element : ""), panel),
  );
  const first = best.sorted()[0] ?? rated[0];
  if (first !== undefined) panel.replaceChildren(...whyPanel(user, first));
  return `User ${data.users.name[user]}`;
}
