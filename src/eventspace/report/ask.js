// Ask: any Boolean expression over items, and how likely it is for the population, for you, for each user.

const asked = { text: space.nItems > 1 ? `${written(0)} & ~${written(1)}` : space.nItems ? written(0) : "" };
const OPERATORS = { "&": "and", "|": "or", "~": "not", "-": "but not", "^": "either or", "(": "(", ")": ")" };
const AROUND_ERROR = 50; // characters of the expression that are shown on either side of a mistake

/** The mistake, and the expression with the place of it marked. */
function mistake({ message, place }, text) {
  const at = [...text.slice(place)][0] ?? " ";
  const before = text.slice(Math.max(0, place - AROUND_ERROR), place);
  const after = text.slice(place + at.length, place + AROUND_ERROR);
  return [
    h("p", { class: "mistake" }, message),
    h("p", { class: "place", dir: "auto" }, before, h("mark", null, at), after),
  ];
}

/** What an expression comes to: its events, and its probability for all and for you. */
function answerCard(set) {
  const events = space.mass.map((_, d) => d).filter((d) => bit(...set, d));
  const known = [["in the population", space.mass], ...(yours.ratings.size ? [["for you", you().pmf]] : [])];
  const entry = (d) =>
    h("li", null, eventLink(d), h("span", { class: "figure" }, percent(space.mass[d])), eventLabel(d));
  return [
    facts([
      ...known.map(([who, pmf]) => [who, h("span", { class: "large" }, percent(probabilityIn(set, pmf), 2))]),
      ["events", `${events.length} of ${space.nEvents}`],
    ]),
    h("details", { class: "card" }, h("summary", null, "The events in which it comes true"),
      strip((d) => bit(...set, d)),
      events.length
        ? h("ul", { class: "plain events two" }, events.map(entry))
        : h("p", { class: "quiet" }, "None: it never comes true.")),
  ];
}

/** The users of the page and how likely it is for each. */
function askedUsers(set) {
  const p = data.users.pmf.map((pmf) => probabilityIn(set, pmf));
  return dataTable({
    caption: "For each user of this page", rows: data.users.name.map((_, u) => u), by: 1, page: 12,
    columns: [
      { label: "user", text: true, value: (u) => data.users.name[u], cell: userLink },
      { label: "probability", value: (u) => p[u], cell: (u) => percent(p[u], 2) },
      { label: "ratings", value: (u) => data.users.ratings[u] },
    ],
  });
}

/** The field for the expression, with buttons that write operators and items into it. */
function askField(changed) {
  const field = h("textarea", {
    rows: 2, spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    oninput: () => ((asked.text = field.value), changed()),
  });
  field.value = asked.text;
  const write = (text) => {
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.focus();
    asked.text = field.value;
    changed();
  };
  const finder = combobox({
    label: "Insert an item", find: findItems, names: space.names,
    hint: (i) => percent(probabilityOf(i)), chosen: (i) => write(written(i)),
  });
  const symbols = Object.entries(OPERATORS).map(([symbol, words]) =>
    h("button", { type: "button", class: "symbol", title: words, "aria-label": `Insert ${words}`,
      onclick: () => write(PRECEDENCE[symbol] < PRECEDENCE["~"] ? ` ${symbol} ` : symbol) }, symbol));
  return h("section", { class: "card ask" }, labelled("Expression", field),
    h("div", { class: "controls" }, finder, h("span", { class: "values" }, symbols)));
}

function askView(main) {
  const [answer, users] = [h("div", { role: "status" }), h("div")];
  const narrow = h("input", { type: "search" });
  const all = data.users.name.map((_, u) => u);
  let table;
  const find = () => table?.show(narrow.value.trim() ? findUsers(narrow.value, Infinity) : all);
  narrow.addEventListener("input", later(find));
  const people = h("div", null, h("div", { class: "controls" }, labelled("User's name contains", narrow)), users);
  function draw() {
    people.hidden = true;
    try {
      const set = setOf(asked.text);
      answer.replaceChildren(...answerCard(set));
      if (!data.users.name.length) return;
      table = askedUsers(set);
      users.replaceChildren(table.element);
      people.hidden = false;
      find();
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      answer.replaceChildren(...mistake(error, asked.text));
    }
  }
  main.append(
    heading("Ask"),
    h("p", { class: "lead" }, "How likely is any combination of items? ~ is not, - but not, & and, ^ either or, " +
      "| or; the first of these bind tightest. A title with such signs, parentheses or quotes in it stands in quotes."),
    askField(later(draw)), answer, people,
    yours.ratings.size ? "" : h("p", { class: "quiet" }, h("a", { href: "#/you" }, "Rate a few items"),
      " to have the answer for you."),
  );
  draw();
  return "Ask";
}
