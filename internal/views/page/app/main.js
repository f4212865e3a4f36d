// The page: what ran and what stands out on the first screen, then the sections.

function start() {
  const root = document.getElementById("page"), dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches);
  dark.addEventListener("change", () => setTheme(dark.matches));
  prepareForPrint();
  if (served.start) return served.start(root);
  if (typeof DecompressionStream === "undefined") {
    return root.replaceChildren(notice("This browser is too old to unpack the data of this page. Use Chrome or " +
      "Edge 80, Firefox 113, Safari 16.4 or newer, or run mpitrace report for the same numbers as text."));
  }
  const failed = (error) => root.replaceChildren(notice(`The data of this page cannot be shown (${error.message}). ` +
    "The file may be damaged or incomplete; make it again with mpitrace report RUN --html FILE."));
  inflate(document.getElementById("data")).then((data) => showJob(root, data, 0)).then(tellReady).catch(failed);
}

// tellReady tells tests that the first screen is drawn, which takes two frames: in the
// first, canvases learn their size.
function tellReady() {
  requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = "yes"; }));
}

const notice = (text) => h("p", { class: "notice", role: "alert" }, text);

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  redraws.forEach((redraw) => redraw());
}

const isDarkTheme = () => document.documentElement.dataset.theme === "dark";

// prepareForPrint makes the printed page light and complete: paper cannot be opened.
function prepareForPrint() {
  let dark = false;
  addEventListener("beforeprint", () => {
    dark = isDarkTheme();
    document.querySelectorAll("details").forEach((d) => { d.open = true; });
    setTheme(false);
  });
  addEventListener("afterprint", () => setTheme(dark));
}

function showJob(root, data, index) {
  redraws.length = highlight.listeners.length = 0;
  highlight.ranks = null;
  const job = data.kind === "history" ? { sections: data.sections } : data.jobs[served.job = index];
  const noJobs = "This run has no jobs that were recorded. " + (data.missing || []).join(". ");
  if (!job) return root.replaceChildren(notice(noJobs));
  const page = { data, job };
  page.parts = new Map(job.sections.map((part) => [part.id, part]));
  const parts = renderSections(job.sections.filter(({ id }) => !onFirstScreen.includes(id)), page);
  fillPage(root, firstScreens[data.kind](page, () => jobTable(root, data, index)), parts, data.made);
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target) target.scrollIntoView(); // the browser looked for it before it was there
}

// firstScreens return what is above the sections, by the kind of the page.
const firstScreens = {
  report: (page, jobs) => [reportHead(page), jobs(),
    firstPart("verdict", "Verdict", null, blocksOf(page, "verdict")), reportFirst(page)],
  diff: (page, jobs) => [titleHead(page, "sides"), jobs(), diffFirst(page)],
  history: (page) => titleHead(page, "overview"),
};

// onFirstScreen are the sections that are not below it.
const onFirstScreen = ["verdict", "run", "findings", "efficiency", "matrix",
  "sides", "efficiency-a", "efficiency-b", "totals", "limits", "largest", "overview"];

// fillPage shows the first screen and the sections, with links to them.
function fillPage(root, first, parts, made) {
  const links = parts.map((part) => h("a", { href: "#" + part.id }, part.firstChild.textContent));
  const at = String(made.at || "").replace("T", " ").replace(/\.\d+|Z$/g, "");
  refill(root, first, h("nav", { "aria-label": "Sections" }, h("a", { href: "#page" }, "Top"), links), parts,
    h("footer", { class: "faint" }, h("p", null, `Made by mpitrace ${made.mpitrace || ""} at ${at} UTC.`)));
}

// jobTable returns the jobs of the run, if there are several, with a button to show each.
function jobTable(root, data, index) {
  const open = (row, text) => {
    const { rows } = data.sections[0].blocks[0].table, at = rows.indexOf(row);
    return button(text, () => showJob(root, data, at), { pressed: at === index });
  };
  return data.sections?.map(({ blocks }) => renderBlocks(blocks, { job: {}, open }));
}

const recordFact = (problems) => problems.length > 0
  ? h("a", { href: "#problems", class: "bad" }, "incomplete") : h("span", { class: "good" }, "complete");

function themeButton() {
  const name = () => { change.textContent = isDarkTheme() ? "Light" : "Dark"; };
  const change = button("", () => { setTheme(!isDarkTheme()); name(); }, { title: "Change between light and dark" });
  redraws.push(name);
  name();
  return h("div", { class: "tools" }, change);
}

// pageHead returns the title of the page, with lines below it.
const pageHead = (title, ...lines) =>
  h("header", { class: "head" }, h("div", null, h("h1", null, title), lines), themeButton());

const titleHead = (page, id) => pageHead(page.parts.get(id).title,
  h("div", { class: "verdict" }, blocksOf(page, "verdict")), blocksOf(page, id));

function reportHead({ job, parts }) {
  const [what, ...lines] = parts.get("run").blocks;
  const problems = parts.get("problems").blocks.flatMap(({ list }) => (list ? list.items : []));
  const more = problems.length - 2;
  return [
    pageHead(job.title, factLine([what.text.text, recordFact(problems)]),
      lines.map(({ text, fact }) => h("p", { class: "faint" }, text ? text.text : [fact.name, ": ", fact.value]))),
    problems.length > 0 && h("div", { class: "notice" }, problems.slice(0, 2).map((p) => h("p", null, p.text)),
      more > 0 && h("a", { href: "#problems" }, `and ${plural(more, "more problem")}`)),
  ];
}

// firstPart returns a part of the first screen, with a small heading if it has one.
const firstPart = (name, label, heading, ...content) =>
  h("section", { class: name, "aria-label": label }, heading && h("h2", { class: "caps" }, heading), content);

// blocksOf returns the elements of a section; none if there is no such section.
const blocksOf = (page, id) => renderBlocks(page.parts.get(id)?.blocks || [], page);

function reportFirst(page) {
  const { ranks } = page.job;
  const bars = {
    layers: [{ name: "compute", color: "--compute", values: ranks.useful_ns }], order: [...ranks.rank.keys()],
    size: "low", mean: ranks.useful_mean_ns, most: ranks.useful_most_ns,
    label: "Compute time of each rank. The table in section Time has the values.",
  };
  return h("div", { class: "first" },
    firstPart("efficiency", "Parallel efficiency", null, blocksOf(page, "efficiency")),
    firstPart("stands-out", page.parts.get("findings").title, null, blocksOf(page, "findings")),
    firstPart("bars", "Compute time of each rank", "Compute time by rank", markedLine(),
      ranks.useful_ns.some((ns) => ns !== null) ? rankChart(ranks, bars) : h("p", { class: "faint" }, "Not known.")),
    firstPart("pairs", "Matrix", page.parts.get("matrix")?.title, blocksOf(page, "matrix")));
}

function diffFirst(page) {
  const titleOf = (id) => page.parts.get(id).title;
  const side = (id) => h("div", null, h("h2", { class: "caps" }, titleOf(id)), blocksOf(page, id));
  return h("div", { class: "first" },
    firstPart("efficiency two", "Efficiency", null, side("efficiency-a"), side("efficiency-b")),
    firstPart("stands-out", titleOf("totals"), titleOf("totals"), blocksOf(page, "totals"), blocksOf(page, "limits")),
    firstPart("bars", titleOf("largest"), titleOf("largest"), blocksOf(page, "largest")),
    firstPart("pairs", "Matrix", null, drawings.matrix(page)));
}

// finding returns what stands out, with links to its details and to what shows its ranks.
function finding(page, f, i) {
  const details = page.parts.get(f.section), ranks = f.ranks ? parseRanks(f.ranks) : [];
  const show = button("show ranks", () => setHighlight(toggled(ranks)), { pressed: false });
  onHighlight(() => show.setAttribute("aria-pressed", String(toggled(ranks) === null)));
  const toSite = () => document.querySelector("[data-table=sites]")?.find(f.callsite);
  return h("details", { open: i < 4 },
    h("summary", null, h("span", { class: "number" }, i + 1), h("span", { class: "rule" }, f.rule),
      h("span", { class: "share" }, f.share)),
    h("div", { class: "body" }, h("p", null, f.text), h("p", null, h("strong", null, "Try: "), f.try),
      h("div", { class: "acts" },
        ranks.length > 0 && show,
        details && h("a", { href: "#" + details.id }, details.title),
        f.callsite && page.parts.has("sites") && h("a", { href: "#sites", onclick: toSite }, "Call site"),
        f.uncertain && h("span", { class: "bad" }, "Uncertain: " + f.uncertain))));
}

// parseRanks returns the ranks of a set such as "0,2-5".
function parseRanks(text) {
  return text.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, k) => first + k);
  });
}

// ranksText returns "rank 3" or "ranks 0-2, 5" from the text of a set of ranks.
const ranksText = (set) => (/^\d+$/.test(set) ? "rank " : "ranks ") + set.replaceAll(",", ", ");

// markedLine names the ranks that are highlighted, with a button that ends it.
function markedLine() {
  const text = h("span");
  const line = h("p", { class: "controls", hidden: true }, text, button("clear", () => setHighlight(null)));
  onHighlight(() => {
    const list = [...(highlight.ranks || [])];
    line.hidden = !highlight.ranks;
    text.textContent = `Marked: ${list.length > 12 ? count(list.length) + " ranks" : ranksText(list.join(","))}`;
  });
  return line;
}

start();
