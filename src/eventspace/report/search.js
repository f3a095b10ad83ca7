// Finding an item or a user by a part of its name, by keyboard or pointer.

const plain = (text) =>
  text.normalize("NFD").replace(/\p{Diacritic}/gu, "").toLocaleLowerCase("en");

/** What finds names: those that begin with the words come first, then those better known. */
function index(names) {
  let folded;
  return (wanted, most) => {
    const text = plain(wanted.trim());
    if (!text) return [];
    folded ??= names.map(plain);
    const found = [[], [], []];
    for (let i = 0; i < folded.length && found[0].length < most; i += 1) {
      const at = folded[i].indexOf(text);
      if (at < 0) continue;
      const rank = at === 0 ? 0 : /[\p{L}\p{N}]/u.test(folded[i][at - 1]) ? 2 : 1;
      if (found[rank].length < most) found[rank].push(i);
    }
    return found.flat().slice(0, most);
  };
}

const findItems = index(data.items.name);
const findUsers = index(data.users.name);
const SUGGESTED = 10;
const LIKE = 0.5; // the least share of common pairs of letters of a name that may be meant
const SEARCHED = 10_000; // names among which a misspelt one is looked for

const pairsOf = (text) => new Set([...text].slice(1).map((letter, k) => text[k] + letter));

/** Of the items best known, those whose names have most pairs of letters in common with a text; or contain it. */
function alike(text, most) {
  const wanted = pairsOf(plain(text));
  const likeness = (i) => {
    const own = pairsOf(plain(space.names[i]));
    return (2 * [...own].filter((pair) => wanted.has(pair)).length) / (own.size + wanted.size || 1);
  };
  const found = everyItem.slice(0, SEARCHED).map((i) => [i, likeness(i)]).filter(([, share]) => share >= LIKE);
  const near = found.sort((a, b) => b[1] - a[1]).slice(0, most).map(([i]) => i);
  return near.length ? near : findItems(text, most);
}

/** A field that suggests names (ARIA's combobox with a list); a choice calls chosen(number). */
function combobox({ label, find, names, hint, chosen, shortcut }) {
  const [listId, inputId] = [unique("list"), unique("find")];
  let [results, active] = [[], -1];
  const list = h("ul", { id: listId, role: "listbox", "aria-label": label, hidden: true });
  const input = h("input", {
    id: inputId, type: "search", role: "combobox", autocomplete: "off", spellcheck: "false",
    placeholder: label, "aria-label": label, "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": listId, "aria-keyshortcuts": shortcut,
  });

  function close() {
    [results, active] = [[], -1];
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }
  function choose(k) {
    const found = results[k];
    input.value = "";
    close();
    chosen(found);
  }
  function mark(k) {
    active = k;
    Array.from(list.children).forEach((option, j) => option.setAttribute("aria-selected", String(j === k)));
    if (k < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", list.children[k].id);
    return list.children[k].scrollIntoView({ block: "nearest" });
  }
  function suggest() {
    if (!input.value.trim()) return close();
    results = find(input.value, SUGGESTED);
    const options = results.map((i, k) =>
      h(
        "li",
        {
          id: `${listId}-${k}`, role: "option", "aria-selected": "false",
          onpointerdown: (event) => event.preventDefault(), onclick: () => choose(k),
        },
        name(names[i]), h("span", { class: "quiet" }, hint(i)),
      ),
    );
    const nothing = h("li", { role: "option", "aria-disabled": "true", class: "quiet" }, "Nothing of that name");
    list.replaceChildren(...(options.length ? options : [nothing]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    announce(`${results.length === SUGGESTED ? `First ${SUGGESTED}` : results.length} found`);
    return mark(results.length ? 0 : -1);
  }
  const moves = {
    ArrowDown: () => results.length && mark((active + 1) % results.length),
    ArrowUp: () => results.length && mark((active + results.length - 1) % results.length),
    Enter: () => active >= 0 && choose(active),
    Escape: close,
  };
  input.addEventListener("input", suggest);
  input.addEventListener("focus", suggest);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (!moves[event.key]) return;
    moves[event.key]();
    event.preventDefault();
  });
  return h("div", { class: "combobox" }, input, list);
}
