// You: rate a few items, and see your own distribution, what to try next, and why.

const OFFERED = 8; // items at a time
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
  const kept = () => yours.shown.filter((i) => yours.ratings.has(i));
  const finder = combobox({
    label: "Find an item to rate", find: findItems, names: space.names,
    hint: (i) => plural(space.ratings[i], "rating"),
    chosen: (item) => {
      show([item, ...yours.shown.filter((i) => i !== item)]);
      list.querySelector(".rating :is(button, input)").focus();
    },
  });
  const others = () => {
    const own = new Set(kept());
    const fresh = [];
    for (let i = yours.next; i < space.nItems && fresh.length < OFFERED; i += 1, yours.next = i)
      if (!own.has(i)) fresh.push(i);
    if (yours.next >= space.nItems) yours.next = 0;
    show([...own, ...fresh]);
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

/** What the ratings come to, in a line. */
function yourSentence({ pmf, count }) {
  if (!count) return "No ratings yet: below is what holds of the population.";
  const top = pmf.indexOf(Math.max(...pmf));
  return `${plural(count, "rating")}. Your heaviest event is event ${top}, with ${percent(pmf[top])} of your mass; ` +
    `in the population it has ${percent(space.mass[top])}.`;
}

function youView(main) {
  const [sentence, chart, results] = [h("p", { class: "lead", role: "status" }), h("div"), h("div")];
  function draw() {
    const person = you();
    const [pmf, ...parts] = personParts(person);
    sentence.textContent = yourSentence(person);
    chart.replaceChildren(pmf);
    results.replaceChildren(...parts);
  }
  const links = [["ask", "Ask about you"], ...(data.users.name.length ? [["compare/you", "Compare with a user"]] : [])];
  main.append(
    heading("You"),
    h("p", { class: "lead" }, "Rate a few items, and the page solves for your distribution over the events: the " +
      "optimum that Python's transform finds. It is forgotten when the page is closed, and sent nowhere."),
    h("div", { class: "columns" }, ratingCard(draw), chart), sentence, results,
    h("p", { class: "actions" }, links.map(([at, text]) => h("a", { class: "button", href: `#/${at}` }, text))),
  );
  draw();
  return "You";
}
