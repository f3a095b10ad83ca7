// You: rate a few items, and see your own distribution, what to try next, and why.

const OFFERED = 8; // items to rate at a time
const BEST = 5; // items named at once; the table has all
const yours = { ratings: new Map(), shown: everyItem.slice(0, OFFERED), next: OFFERED };

/** Who reads the page, as a person. */
const you = () => ({
  title: "You", called: "you", has: "you have", at: "you",
  pmf: newPmf(yours.ratings), ratings: yours.ratings, count: yours.ratings.size,
});

/** Any person by their part of an address: "you", or the number of a user. */
const personAt = (at) => (at === "you" ? you() : personOf(Number(at)));

const yesOrNo = !ownUnit && data.newcomer.values.length === 2;
const inWords = (v) => (yesOrNo ? ["no", "yes"][v] : short(v));

/** Buttons for the values that ratings have, of which one may be pressed; pressed again, it is taken back. */
function valueButtons(item, rated) {
  const buttons = data.newcomer.values.map((v) =>
    h("button", {
      type: "button", class: "value", "aria-label": `Rate ${space.names[item]} ${inWords(v)}`,
      onclick: () => rated(item, yours.ratings.get(item) === v ? undefined : v),
    }, inWords(v)));
  const press = () => buttons.forEach((button, k) =>
    button.setAttribute("aria-pressed", String(yours.ratings.get(item) === data.newcomer.values[k])));
  press();
  return { element: h("span", { class: "values" }, buttons), press };
}

/** A field for any value of the scale; empty, it is no rating. */
function valueField(item, rated) {
  const input = h("input", {
    type: "number", min: scaleLow, max: scaleHigh, step: "any", inputmode: "decimal",
    "aria-label": `Rate ${space.names[item]}, from ${short(scaleLow)} to ${short(scaleHigh)}`,
    oninput: ({ target }) =>
      rated(item, target.value === "" || !target.validity.valid ? undefined : target.valueAsNumber),
  });
  input.value = yours.ratings.get(item) ?? "";
  return { element: input, press: () => {} };
}

/** The items to rate, and a field to find others. */
function ratingCard(changed) {
  const list = h("ul", { class: "plain rating" });
  function rated(item, value) {
    if (value === undefined) yours.ratings.delete(item);
    else yours.ratings.set(item, value);
    rows.get(item).press();
    changed();
  }
  const control = data.newcomer.values.length ? valueButtons : valueField;
  let rows;
  function draw() {
    rows = new Map(yours.shown.map((item) => [item, control(item, rated)]));
    list.replaceChildren(...yours.shown.map((item) => h("li", null, itemLink(item), rows.get(item).element)));
  }
  const show = (items) => ((yours.shown = items), draw());
  const finder = combobox({
    label: "Find an item to rate", find: findItems, names: space.names,
    hint: (i) => plural(space.ratings[i], "rating"),
    chosen: (item) => {
      show([item, ...yours.shown.filter((i) => i !== item)]);
      list.querySelector(".rating :is(button, input)").focus();
    },
  });
  const others = () => {
    const kept = yours.shown.filter((i) => yours.ratings.has(i));
    const fresh = everyItem.slice(yours.next).filter((i) => !kept.includes(i)).slice(0, OFFERED);
    yours.next = fresh.length < OFFERED ? 0 : (fresh.at(-1) + 1) % space.nItems;
    show([...kept, ...fresh]);
    announce(`${plural(fresh.length, "other item")} to rate`);
  };
  const again = () => {
    yours.ratings.clear();
    draw();
    changed();
  };
  draw();
  const button = (text, action) => h("button", { type: "button", onclick: action }, text);
  return h("section", { class: "card" },
    h("h3", null, "Rate what you know"),
    h("div", { class: "controls" }, finder,
      space.nItems > OFFERED ? button("Other items", others) : null, button("Start again", again)),
    list);
}

/** What the ratings come to, in a few lines. */
function yourCard(person) {
  const { pmf, count } = person;
  const top = pmf.indexOf(Math.max(...pmf));
  const p = chancesUnder(pmf);
  const best = unratedBy(person).sort((a, b) => p(b) - p(a) || space.ratings[b] - space.ratings[a]).slice(0, BEST);
  const entry = (i) => h("li", null, h("span", { class: "figure" }, percent(p(i))), " ", itemLink(i));
  return [
    h("h3", null, count ? "What you would like next" : "What most would like"),
    h("p", { class: "quiet" }, count
      ? `From ${plural(count, "rating")}. Your heaviest event, ${top}, has ${percent(pmf[top])} of your mass; ` +
        `in the population ${percent(space.mass[top])}.`
      : "Without ratings, this is the population's."),
    h("ol", { class: "plain" }, best.map(entry)),
  ];
}

function youView(main) {
  const [card, chart, results] = [h("section", { class: "card", role: "status" }), h("div"), h("div")];
  function draw() {
    const person = you();
    const [pmf, ...parts] = personParts(person);
    card.replaceChildren(...yourCard(person));
    chart.replaceChildren(pmf);
    results.replaceChildren(...parts);
  }
  const links = [["ask", "Ask about you"], ...(data.users.name.length ? [["compare/you", "Compare with a user"]] : [])];
  main.append(
    heading("You"),
    h("p", { class: "lead" }, "Rate a few items, and the page solves for your distribution over the events, as " +
      "Python's transform does. Your ratings go nowhere, and are forgotten when you close the page."),
    h("div", { class: "columns" }, h("div", null, ratingCard(draw), card), chart), results,
    h("p", { class: "actions" }, links.map(([at, text]) => h("a", { class: "button", href: `#/${at}` }, text))),
  );
  draw();
  return "You";
}
