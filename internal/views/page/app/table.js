// Tables that the user can sort by each column and filter, with the mouse or the keyboard.

// table returns a table. A column is {head, value(row), text(row), numeric, note}: value is
// what it sorts by, text what it shows (a string or an element), note explains the head.
// Without text it shows the value. The first column names the row. Options are id, caption,
// filter(row), which returns the text that the filter box searches, and limit, the rows shown
// at first.
function table(columns, rows, { id, caption, filter: textOf, limit = 20 }) {
  let sorted = -1, down = false, wanted = "", shown = limit;
  const body = h("tbody");
  const heads = columns.map((c, i) => h("th", { scope: "col", class: c.numeric && "numeric", "aria-sort": "none" },
    button(c.head, () => sortBy(i), { title: c.note })));
  const found = h("span", { role: "status", class: "faint" });
  const more = button("", () => { shown = Math.max(200, shown * 5); draw(); });
  const box = rows.length > 5 && h("input", { type: "search", placeholder: "Filter",
    "aria-label": "Filter " + (caption || id), oninput: () => filter(box.value) });

  function sortBy(i) {
    down = sorted === i ? !down : Boolean(columns[i].numeric);
    sorted = i;
    heads.forEach((head, k) => head.setAttribute("aria-sort", k !== i ? "none" : down ? "descending" : "ascending"));
    draw();
  }

  function filter(text) {
    wanted = text.toLowerCase();
    shown = limit;
    draw();
  }

  function draw() {
    let list = wanted ? rows.filter((r) => textOf(r).toLowerCase().includes(wanted)) : rows.slice();
    if (sorted >= 0) {
      const keyed = list.map((row) => [columns[sorted].value(row), row]);
      list = keyed.sort((a, b) => compareKeys(a[0], b[0], down)).map((k) => k[1]);
    }
    body.replaceChildren(...list.slice(0, shown).map((row) =>
      h("tr", { class: row.tone }, columns.map((c, i) => cell(c, i, row)))));
    const left = list.length - shown;
    more.hidden = left <= 0;
    more.textContent = `Show more (${count(left)} left)`;
    found.textContent = wanted ? `${count(list.length)} of ${count(rows.length)}` : "";
  }

  draw();
  const element = h("div", { class: "table", "data-table": id },
    h("div", { class: "scroll" },
      h("table", { "aria-label": caption || id },
        (caption || box) && h("caption", null, caption && h("span", null, caption), box && [box, " ", found]),
        h("thead", null, h("tr", null, heads)), body)),
    h("div", { class: "controls" }, more));
  const setRows = (list) => { rows = list; draw(); };
  return Object.assign(element, { setRows, find: (text) => box && filter(box.value = text) });
}

function cell(column, i, row) {
  const text = (column.text || column.value)(row) ?? "–", numeric = column.numeric && "numeric";
  return i === 0 ? h("th", { scope: "row", class: numeric }, text) : h("td", { class: numeric }, text);
}

// compareKeys orders numbers, BigInts and texts. A missing value comes last in both
// directions.
function compareKeys(a, b, down) {
  if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
  const order = typeof a === "string" && typeof b === "string" ? collator.compare(a, b) : a < b ? -1 : a > b ? 1 : 0;
  return down ? -order : order;
}

const collator = new Intl.Collator("en", { numeric: true });
