// The elementary events: how heavy each is, what it is called, which items tell it from the others.

const link = (view, number, text) => h("a", { href: `#/${view}/${number}` }, name(text));
const itemLink = (i) => link("item", i, space.names[i]);
const userLink = (u) => link("user", u, data.users.name[u]);
const eventLink = (d) =>
  h("a", { href: `#/event/${d}`, class: "event", title: data.events.label[d] }, `Event ${d}`);

const eventLabel = (d) => h("span", { class: "quiet words", dir: "auto" }, data.events.label[d]);

function tellingList(title, items, most) {
  if (!items.length) return null;
  const list = items.slice(0, most).map((i) => h("li", null, itemLink(i)));
  return h("div", null, h("h4", null, title), h("ul", { class: "plain" }, list));
}

const cameTrue = (n) => `${plural(n, "item")} ${n === 1 ? "comes" : "come"} true in it`;

function eventsView(main) {
  const heaviest = Math.max(...space.mass);
  main.append(
    heading("Events"),
    h("p", { class: "lead" },
      `Whatever happens, exactly one of ${space.nEvents} elementary events happens. An item is the set of events ` +
      "in which it comes true; a user is a distribution over the events. Mass is how likely an event is in the " +
      "population. An event's label begins with how much comes true in it: the share of items, weighted by ratings."),
    h("ol", { class: "cards", role: "list" },
      space.mass.map((mass, d) =>
        h("li", { class: "card" },
          h("h3", null, eventLink(d), h("span", { class: "figure" }, percent(mass))),
          bar(mass / heaviest),
          h("p", { class: "label", dir: "auto", title: data.events.label[d] }, data.events.label[d]),
          tellingList("Likes more than others do", data.events.likes[d], 4),
          tellingList("Likes less", data.events.dislikes[d], 3),
          h("p", { class: "quiet" }, cameTrue(data.events.items[d]))))),
  );
  return "Events";
}

/** What tells an event from the others. */
function tellingCard(likes, dislikes) {
  return h("section", { class: "card" },
    h("h3", null, "What tells it from the others"),
    h("p", { class: "quiet" },
      "Items whose ratings rise, or fall, most with the mass that their raters give to the event, beyond the " +
      "means of items and users."),
    h("div", { class: "columns" },
      tellingList("Likes more than others do", likes, 12), tellingList("Likes less", dislikes, 12)),
    likes.length + dislikes.length ? null : h("p", null, "Nothing: it is like the average."));
}

function eventView(main, d) {
  const has = (i) => hasEvent(space.classOf[i], d);
  const items = everyItem.filter(has);
  const users = data.users.name.map((_, u) => u);
  const mass = (u) => data.users.pmf[u][d] / PMF_UNIT;
  const table = dataTable({
    caption: `Items that come true in event ${d}`, rows: items, by: 1,
    columns: [
      { label: "item", text: true, value: (i) => space.names[i], cell: itemLink },
      { label: "ratings", value: (i) => space.ratings[i] },
      {
        label: "probability", title: "in the population", value: probabilityOf,
        cell: (i) => percent(probabilityOf(i)),
      },
    ],
  });
  const people = dataTable({
    caption: `Users by their mass of event ${d}`, rows: users, by: 1,
    columns: [
      { label: "user", text: true, value: (u) => data.users.name[u], cell: userLink },
      { label: "mass", value: mass, cell: (u) => percent(mass(u)) },
      { label: "ratings", value: (u) => data.users.ratings[u] },
    ],
  });
  main.append(
    heading(`Event ${d}: ${percent(space.mass[d])} of the population`),
    h("p", { class: "lead", dir: "auto" }, data.events.label[d]),
    h("p", { class: "turn" }, d > 0 ? h("a", { href: `#/event/${d - 1}` }, "← a heavier one") : null,
      d + 1 < space.nEvents ? h("a", { href: `#/event/${d + 1}` }, "a lighter one →") : null),
    h("div", { class: "columns" },
      tellingCard(data.events.likes[d], data.events.dislikes[d]),
      h("section", null, table.element, users.length ? people.element : null)),
  );
  return `Event ${d}`;
}
