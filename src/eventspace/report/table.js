// Tables that sort and turn pages: rows are numbers, columns say what to show of each.

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const PAGE = 25;
const COLLATED = 20_000; // more names than this are sorted by their letters' codes: a second less

/**
 * look: a class of the table; one of "rules" is stacked where the screen is narrow.
 * columns: { label, unseen?, value(row)?, cell(row)?, title?, text?, class? }; value is what is sorted by,
 * an unseen label is only heard.
 * Gives { element, show(rows) }; sorted by the column numbered `by`, downwards if `down`. Without `by` the rows are
 * in the order given, which comes back when a column is pressed a third time.
 */
function dataTable({ caption, look, columns, rows, by = -1, down = true, page = PAGE, empty = "Nothing to show." }) {
  const asGiven = by < 0;
  let [shown, sorted, start] = [rows, rows, 0];
  const body = h("tbody", { role: "rowgroup" });
  const range = h("span", { class: "quiet" });
  const turners = ["First", "Previous", "Next", "Last"].map((text) => h("button", { type: "button" }, text));
  const heads = columns.map((column, k) =>
    h(
      "th",
      { scope: "col", role: "columnheader", class: column.class ?? (column.text ? "" : "number") },
      column.value
        ? h("button", { type: "button", title: column.title, onclick: () => sortBy(k) }, column.label)
        : h("span", { class: column.unseen && "unseen" }, column.label),
    ),
  );

  function compare(k) {
    const { value, text } = columns[k];
    const many = text && shown.length > COLLATED;
    const keys = new Map(Array.from(shown, (row) => [row, many ? plain(value(row)) : value(row)]));
    const sign = down ? -1 : 1;
    return (a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === null || y === null) return (x === null) - (y === null); // what is missing comes last
      if (many) return sign * ((x > y) - (x < y));
      return sign * (text ? collator.compare(x, y) : x - y);
    };
  }
  function sortBy(k) {
    const downFirst = !columns[k].text;
    const twice = by === k && down !== downFirst;
    down = by === k ? !down : downFirst;
    by = twice && asGiven ? -1 : k;
    start = 0;
    order();
    announce(by < 0 ? "As at first" : `Sorted by ${columns[k].label}, ${down ? "descending" : "ascending"}`);
  }
  function order() {
    sorted = by < 0 ? shown : Array.from(shown).sort(compare(by));
    heads.forEach((head, k) => {
      if (columns[k].value) head.setAttribute("aria-sort", k !== by ? "none" : down ? "descending" : "ascending");
    });
    draw();
  }
  function turn(to) {
    start = to;
    draw();
    announce(`Rows ${integer(start + 1)} to ${integer(Math.min(start + page, sorted.length))}`);
  }
  function draw() {
    body.replaceChildren(
      ...Array.from(sorted.slice(start, start + page), (row) =>
        h(
          "tr",
          { role: "row" },
          columns.map((column) =>
            h(
              "td",
              { role: "cell", class: column.class ?? (column.text ? "" : "number"), "data-label": column.label },
              column.cell ? column.cell(row) : short(column.value(row)),
            ),
          ),
        ),
      ),
    );
    if (!sorted.length) body.append(h("tr", null, h("td", { colspan: columns.length, class: "quiet" }, empty)));
    const last = Math.floor(Math.max(0, sorted.length - 1) / page) * page;
    const to = [0, start - page, start + page, last];
    turners.forEach((button, k) => {
      // not "disabled", which would take the focus away from who has just pressed it
      button.setAttribute("aria-disabled", String(k < 2 ? start === 0 : start >= last));
      button.hidden = sorted.length <= page;
      button.onclick = () => button.getAttribute("aria-disabled") === "false" && turn(to[k]);
    });
    const end = Math.min(start + page, sorted.length);
    range.textContent = sorted.length ? `${integer(start + 1)}–${integer(end)} of ${integer(sorted.length)}` : "";
  }
  const captionId = unique("caption");
  const element = h(
    "div",
    { class: "table" },
    h(
      "div",
      { class: "scroll", role: "region", "aria-labelledby": captionId, tabindex: "0" },
      h("table", { role: "table", class: look }, // roles, for they are lost where a table is stacked
        h("caption", { id: captionId }, caption),
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads)), body),
    ),
    h("div", { class: "pager" }, range, turners),
  );
  order();
  return {
    element,
    sorted: () => sorted,
    show(newRows) {
      [shown, start] = [newRows, 0];
      order();
    },
  };
}

/** An action that waits until someone stops typing: make it once, call it at every key. */
function later(action) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 120);
  };
}
