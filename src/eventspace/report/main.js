// The page as a whole: which view is shown, by the part of the address after #; light or dark.

const VIEWS = {
  events: "Events", lattice: "Lattice", rules: "Rules", items: "Items", users: "Users", you: "You", ask: "Ask",
  fit: "Fit",
};
const BELONGS = { event: "events", item: "items", user: "users", compare: "users" };
const content = document.getElementById("content");

/** What an address asks for: a view, and perhaps the number of an event, item or user, or of two users. */
function route() {
  const [, view = "events", text, second] = location.hash.split("/");
  const at = text === undefined ? undefined : Number(text);
  const known = (n) => Number.isInteger(at) && at >= 0 && at < n;
  const nUsers = data.users.name.length;
  const someone = (part) => (part === "you" || (/^\d+$/.test(part) && Number(part) < nUsers) ? part : undefined);
  const shows = new Map(Object.entries({
    events: eventsView, rules: rulesView, items: itemsView, users: usersView, fit: fitView,
    you: youView, ask: askView,
    ...(nUsers > (text === "you" ? 0 : 1) && {
      compare: (main) => compareView(main, someone(text), someone(second)),
    }),
    lattice: (main) => latticeView(main, known(space.nItems) ? at : undefined),
    ...(known(space.nEvents) && { event: (main) => eventView(main, at) }),
    ...(known(space.nItems) && { item: (main) => itemView(main, at) }),
    ...(known(data.users.name.length) && { user: (main) => userView(main, at) }),
  }));
  return shows.has(view) ? [view, shows.get(view)] : ["events", eventsView];
}

function nothingView(main) {
  main.append(heading("Nothing to show"), "No item has ratings.");
  return "Nothing";
}

function show(moved) {
  if (content.hasChildNodes() && location.hash && !location.hash.startsWith("#/")) return; // a link within
  const [view, draw] = route();
  content.replaceChildren();
  const title = (space.nItems ? draw : nothingView)(content);
  document.title = `${title} · ${data.title}`;
  for (const a of document.querySelectorAll("#views a")) {
    const here = a.dataset.view === (BELONGS[view] ?? view);
    if (here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  if (!moved) return;
  scrollTo(0, 0);
  content.querySelector("h2")?.focus({ preventScroll: true });
}

const themes = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");
function paint(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.textContent = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[theme];
  themeButton.setAttribute("aria-label", `Colours: ${theme}. Change`);
}
let theme = "auto";
try {
  theme = themes.find((t) => t === localStorage.getItem("eventspace-theme")) ?? "auto";
} catch { /* a page from disk may have no storage */ }
themeButton.addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  paint(theme);
  try {
    localStorage.setItem("eventspace-theme", theme);
  } catch { /* then it is forgotten */ }
});
paint(theme);

document.getElementById("title").append(data.title);
document.getElementById("subtitle").append([
  plural(space.nEvents, "event"), plural(data.counts.users, "user"), plural(data.counts.items, "item"),
  plural(data.counts.observed, "rating"),
].join(" · "));
document.getElementById("search").append(
  combobox({
    label: "Find an item ( / )", find: findItems, names: space.names, shortcut: "/",
    hint: (i) => plural(space.ratings[i], "rating"), chosen: (i) => (location.hash = `#/item/${i}`),
  }),
);
document.getElementById("views").append(
  h("ul", null, Object.entries(VIEWS).map(([view, text]) =>
    h("li", null, h("a", { href: `#/${view}`, "data-view": view }, text)))),
);
document.getElementById("footer").append(
  ...data.notes.map((note) => h("p", null, note)),
  h("p", null, `Made by eventspace ${data.version}. Everything is in this file: it loads nothing and sends nothing.`),
);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
addEventListener("hashchange", () => show(true));
addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector("#search input").focus();
});
window.eventspace = {
  data, space, hasse, classesWith, related, explain, headOf, personOf, newPmf, chancesUnder, setOf, probabilityIn,
};
show(false);
