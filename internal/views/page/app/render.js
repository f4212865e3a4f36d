// How the page shows sections, which Go makes (internal/views). It decides nothing about them:
// words, units, columns and their order come from there.

// renderSections returns the elements of sections. Parts of a section stand in it.
function renderSections(sections, page) {
  const out = [];
  for (const { id, title, sub, blocks } of sections) {
    const within = sub && out[out.length - 1];
    const made = h("section", { class: within ? "sub" : "part", id, "aria-labelledby": id + "-title" },
      h(within ? "h3" : "h2", { id: id + "-title" }, title), renderBlocks(blocks, page));
    if (within) within.append(made);
    else out.push(made);
  }
  return out;
}

// groups return the element that holds blocks of a kind that follow each other.
const groups = { fact: () => h("dl", { class: "list" }), table: () => h("div", { class: "columns" }) };

function renderBlocks(blocks, page) {
  const out = [];
  let last = "", group = null;
  for (const block of blocks) {
    const [kind] = Object.keys(block), made = renderers[kind](block[kind], page);
    if (kind !== last) group = groups[kind]?.();
    if (group && kind !== last) out.push(group);
    if (group) fill(group, null, [made]);
    else out.push(made);
    last = kind;
  }
  return out;
}

// renderers return the elements of a block of each kind.
const renderers = {
  text: ({ text, tone }) => h("p", { class: tone }, text),
  fact: ({ name, value, tone }) => [h("dt", null, name), h("dd", { class: tone }, value)],
  list: ({ head, items, tone }) => [head && h("h3", { class: tone }, head), renderItems(items)],
  table: (t, page) => renderTable(t, page),
  findings: (list, page) => h("ol", { class: "findings" }, list.map((f, i) => h("li", null, finding(page, f, i)))),
  bar: ({ parts }) => [
    h("div", { class: "bar", "aria-hidden": "true" }, parts.map(({ name, share, text, color, hatched }) =>
      h("span", { class: hatched && "hatched", title: `${name} ${text}`,
        style: { width: 100 * share + "%", background: `var(${color})` } }))),
    legend(parts.map(({ name, text, color, hatched }) => [`${name} ${text}`, color, hatched]))],
  drawing: (drawing, page) => drawings[drawing.name](page, drawing) || [],
};

// drawings return the elements of drawings by their name.
const drawings = {
  matrix: ({ job }) => job.matrices.length > 0 && matrixView({ sheets: job.matrices, ranks: job.ranks,
    pairs: job.pairs || served.pairs, placement: job.placement }),
  times: ({ job, data }) => job.ranks.activity_ns.some((column) => column.some((ns) => ns > 0)) && timeChart(job, data),
  scaling: (page, drawing) => scalingView(drawing),
  bars: ({ job }, drawing) => barChart(job.ranks, drawing),
  ranks: ({ job }, { title, columns }) => rankTable(job.ranks, title, columns),
  timeline: ({ job, data }) => new TimelineChart(job, data.activities).element,
};

const renderItems = (items) => h("ul", { class: "plain" }, items.map((i) =>
  h("li", null, i.text, callerLines(i.callers), i.items && renderItems(i.items))));

const callerLines = (callers) => (callers || []).map((c) => h("div", { class: "faint" }, "← " + c));

// renderTable returns a table that can be sorted and filtered.
function renderTable(t, page) {
  const columns = t.columns.map(({ head, unit, help }, i) =>
    ({ head, numeric: unit !== "", note: help, value: (row) => sortKey(row.cells[i]),
      text: (row) => tableCell(row, i, unit, page) }));
  const words = t.columns.flatMap(({ unit }, i) => (unit === "" ? [i] : []));
  const rows = table(columns, t.rows, { id: t.id, caption: t.name, limit: t.limit < 0 ? undefined : t.limit,
    filter: (row) => [...words.map((i) => row.cells[i].text), ...(row.callers || [])].join(" ") });
  if (t.rest > 0) rows.append(h("p", null, `and ${plural(t.rest, "more " + t.noun)}`));
  return rows;
}

// sortKey returns what a cell is sorted by. Digits in a string are a number above 2^53.
function sortKey({ value, text }) {
  if (typeof value === "string") return BigInt(value);
  return value ?? (text === "–" ? null : text);
}

// tableCell returns what a cell shows. The first cell of a row also has its callers and, if the
// page has them, the lines of source.
function tableCell(row, i, unit, page) {
  const { text, value } = row.cells[i];
  const own = unit === "mixed" ? row.unit : unit;
  const shown = i > 0 ? exactCell(value, own, text) : page.open ? page.open(row, text)
    : row.ranks ? markButton(parseRanks(row.ranks), text) : exactCell(value, own, text);
  if (i > 0 || !(row.callers || row.below || row.place)) return shown;
  const lines = page.job.sources?.[row.place];
  return h("span", null, shown, callerLines(row.callers), row.below && h("div", { class: "faint" }, row.below),
    lines && sourceLines(lines, Number(row.place.split(":").pop())));
}

// markButton marks ranks in all charts.
const markButton = (ranks, text) => button(text, () => setHighlight(toggled(ranks)), { title: "Mark these ranks" });

// exactCell returns the text of a value. The exact number is the title of a rounded one.
function exactCell(value, unit, text) {
  if (isMissing(value)) return text ?? "–";
  const { exact } = units[unit] || {};
  return exact ? h("span", { title: count(value) + exact }, text ?? inUnit(unit, value)) : text;
}

function sourceLines(source, line) {
  const numberOf = (i) => source.first + i;
  const numbered = source.lines.map((text, i) =>
    h("span", { class: numberOf(i) === line && "here" }, `${numberOf(i)}  ${text}\n`));
  return h("details", null, h("summary", { class: "faint" }, "source"), h("pre", null, numbered));
}
