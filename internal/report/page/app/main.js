// The page: what ran and what stands out on the first screen, then the sections.

function start() {
  const root = document.getElementById("page");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches);
  dark.addEventListener("change", () => setTheme(dark.matches));
  prepareForPrint();
  if (served.start) return served.start(root);
  if (typeof DecompressionStream === "undefined") {
    return root.replaceChildren(notice("This browser is too old to unpack the data of this page. Use Chrome or Edge 80, Firefox 113, Safari 16.4 or newer, or run mpitrace report for the same numbers as text."));
  }
  inflate(document.getElementById("data")).then((data) => showJob(root, data, 0)).then(tellReady)
    .catch((error) => root.replaceChildren(notice(`The data of this page cannot be shown (${error.message}). The file may be damaged or incomplete; make it again with mpitrace report RUN --html FILE.`)));
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
  if (data.kind === "history") return showHistory(root, data);
  const job = data.jobs[served.job = index];
  if (!job) return root.replaceChildren(notice("This run has no jobs that were recorded. " + (data.missing || []).join(". ")));
  const page = { data, job, s: job.summary };
  const diff = data.kind === "diff";
  const parts = (diff ? diffSections : sections).map(([id, title, make]) => {
    const content = make(page);
    return content && h("section", { class: "part", id, "aria-labelledby": id + "-title" }, h("h2", { id: id + "-title" }, title), content.flat().filter(Boolean));
  }).filter(Boolean);
  page.sections = new Set(parts.map((p) => p.id));
  root.replaceChildren(...(diff ? diffHead(page) : reportHead(page)), ...jobTable(root, data, index), diff ? diffFirst(page) : reportFirst(page),
    h("nav", { "aria-label": "Sections" }, h("a", { href: "#page" }, "Top"), parts.map((p) => h("a", { href: "#" + p.id }, p.firstChild.textContent))), ...parts,
    h("footer", { class: "faint" }, h("p", null, madeText(data.made))));
  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named) named.scrollIntoView(); // the browser looked for it before it was there
}

function madeText(made) {
  return `Made by mpitrace ${made.mpitrace || ""} at ${String(made.at || "").replace("T", " ").replace(/\.\d+|Z$/g, "")} UTC.`;
}

// jobTable returns the jobs of the run, if there are several, with a button to show each.
function jobTable(root, data, index) {
  if (data.jobs.length < 2) return [];
  const s = (j) => j.summary || j.diff.b, time = (j) => (j.summary ? 1e9 * s(j).wall_time_s : j.diff.wall_time_ns.b);
  const rows = data.jobs.map((j, i) => ({ j, i }));
  return [table([countColumn("job", (r) => r.i + 1), { head: "program", value: (r) => s(r.j).program, text: (r) => h("button", { type: "button", "aria-pressed": String(r.i === index), onclick: () => showJob(root, data, r.i) }, s(r.j).program) },
    countColumn("ranks", (r) => s(r.j).ranks_expected), textColumn("started", (r) => startText(s(r.j).started)), timeColumn("wall time", (r) => time(r.j)),
    { head: "record", value: (r) => s(r.j).problems.length, text: (r) => (s(r.j).problems.length ? "incomplete" : "complete") }],
  rows, { caption: `Jobs of this run; job ${index + 1} is shown`, limit: 6, filter: (r) => s(r.j).program })];
}

const startText = (started) => started.startsWith("0001") ? null : started.slice(0, 19).replace("T", " ") + " UTC";
const libraryName = (line) => line.startsWith("Open MPI") ? line.split(",")[0] : line;
const commandText = (side) => [side.program, ...(side.command || []).slice(1)].join(" ");

function themeButton() {
  const button = h("button", { type: "button", title: "Change between light and dark", onclick: () => { setTheme(!isDarkTheme()); name(); } });
  const name = () => { button.textContent = isDarkTheme() ? "Light" : "Dark"; };
  redraws.push(name);
  name();
  return h("div", { class: "tools" }, button);
}

function reportHead({ s, job, data }) {
  const problems = [...s.problems, ...(data.missing || [])];
  const timing = { exact: "exact times", sampled: "times are estimates", off: "calls not timed" }[s.timing] || "timing differs between ranks";
  return [h("header", { class: "head" }, h("div", null, h("h1", null, commandText(s)), h("p", { class: "facts" }, [
    (s.ranks_recorded < s.ranks_expected ? count(s.ranks_recorded) + " of " : "") + plural(s.ranks_expected, "rank"), plural(s.hosts.length, "node"), libraryName(s.mpi_library), seconds(s.wall_time_s),
    problems.length ? h("a", { href: "#completeness", class: "bad" }, "incomplete") : h("span", { class: "good" }, "complete"), timing, job.analysis ? "traced" : "profile only (no trace)", startText(s.started),
  ].filter(Boolean).map((f) => h("span", null, f)))), themeButton()),
  problems.length > 0 && h("div", { class: "notice" }, problems.slice(0, 2).map((p) => h("p", null, p)), problems.length > 2 && h("a", { href: "#completeness" }, `and ${plural(problems.length - 2, "more problem")}`))].filter(Boolean);
}

function reportFirst(page) {
  const { s, job } = page, { ranks } = job;
  const order = ranks.rank.map((_, i) => i);
  return h("div", { class: "first" },
    h("section", { class: "efficiency", "aria-label": "Parallel efficiency" }, efficiencyBar(s.pop, s.ranks_expected, job.analysis && job.analysis.pop)),
    h("section", { class: "stands-out", "aria-label": "What stands out" }, findingsList(page)),
    h("section", { class: "bars", "aria-label": "Compute time of each rank" }, h("h2", { class: "caps" }, "Compute time by rank"), markedLine(),
      ranks.useful_ns.some((ns) => ns !== null) ? rankChart(ranks, { layers: [{ name: "compute", color: "--compute", values: ranks.useful_ns }], order, size: "low", mean: s.pop && s.pop.useful_mean_ns, most: ranks.useful_most_ns, label: "Compute time of each rank. The table in section Time has the values." })
        : h("p", { class: "faint" }, s.timing === "off" ? "Not known: the calls were not timed." : "Not known: no rank finalized.")),
    h("section", { class: "pairs", "aria-label": "Matrix" }, h("h2", { class: "caps" }, "Who sends to whom"), job.matrices.length ? matrixView({ sheets: job.matrices, ranks, pairs: job.pairs || served.pairs, summary: s }) : h("p", { class: "faint" }, "No rank sent anything to another.")));
}

// efficiencyBar returns the efficiency as a formula and as a bar of what the time of all
// ranks was spent on. traced, if there, divides what is lost in MPI.
function efficiencyBar(pop, expected, traced) {
  if (!pop) return h("p", null, h("strong", null, "Parallel efficiency: not known"));
  const error = pop.parallel_efficiency_error ? ` ± ${(Math.ceil(1000 * pop.parallel_efficiency_error - 1e-9) / 10).toFixed(1)}` : "";
  const lost = 1 - pop.communication_efficiency, ce = traced ? traced.communication_efficiency : 1;
  const transfer = ce < 1 ? lost * (1 - traced.transfer) / (1 - ce) : 0;
  const parts = [["compute", pop.parallel_efficiency, "compute"], ["imbalance", pop.communication_efficiency - pop.parallel_efficiency, "imbalance"],
    ...(ce < 1 ? [["serialisation (ranks wait in a chain)", lost - transfer, "serial"], ["transfer (messages and calls)", transfer, "transfer"]] : [["other time in MPI", lost, "mpi"]])].map(([name, share, kind]) => ({ name, share: Math.max(0, share), kind }));
  return [h("p", null, h("strong", null, `Parallel efficiency ${percent(pop.parallel_efficiency)}${error}`), ` = load balance ${percent(pop.load_balance)} × communication ${percent(pop.communication_efficiency)}`, expected > pop.ranks && ` (of ${count(pop.ranks)} of ${plural(expected, "rank")})`,
    h("span", { class: "faint" }, ` · Ranks compute ${duration(pop.useful_mean_ns)} of ${duration(pop.runtime_ns)} on average; rank ${pop.useful_max_rank} computes most, ${duration(pop.useful_max_ns)}.`)),
  h("div", { class: "bar", "aria-hidden": "true" }, parts.map((p) => {
    const part = h("span", { class: p.kind, title: `${p.name} ${percent(p.share)}` });
    part.style.width = 100 * p.share + "%";
    return part;
  })),
  h("ul", { class: "legend" }, parts.map((p) => h("li", null, h("span", { class: "swatch " + p.kind }), `${p.name} ${percent(p.share)}`)))];
}

// detailsOf says which section has the details of a finding.
const detailsOf = { "ended badly": "ends", "not measured": "completeness", oversubscribed: "time", "load imbalance": "time", "waiting in collectives": "waits", "late sender": "waits", "late receiver": "waits",
  "serial chain": "waits", "many small messages": "sizes", "hot rank": "balance", "bytes between nodes": "balance" };

function findingsList(page) {
  const list = page.s.findings || [];
  return [h("h2", { class: "caps" }, list.length ? "What stands out" : "Nothing stands out"),
    h("ol", { class: "findings" }, list.map((f, i) => h("li", null, finding(page, f, i)))),
    page.job.waits_unknown && h("p", { class: "faint" }, "To record why ranks wait: ", h("code", null, "mpitrace run --trace"))];
}

function finding(page, f, i) {
  const share = f.share > 0 ? percent(f.share) + (f.of === "bytes" ? " of bytes" : " of the run") : "";
  const section = page.sections.has(detailsOf[f.rule]) ? detailsOf[f.rule] : null;
  const ranks = f.ranks ? parseRanks(f.ranks) : [];
  const show = h("button", { type: "button", "aria-pressed": "false", onclick: () => setHighlight(toggled(ranks)) }, "show ranks");
  onHighlight(() => show.setAttribute("aria-pressed", String(toggled(ranks) === null)));
  const title = page.sections.has(section) && sections.find((part) => part[0] === section)[1];
  return h("details", { open: i < 3 || page.s.findings.length < 5 }, h("summary", null, h("span", { class: "number" }, i + 1), h("span", { class: "rule" }, f.rule), h("span", { class: "share" }, share)),
    h("div", { class: "body" }, h("p", null, f.text), h("p", null, h("strong", null, "Try: "), f.try, f.saves_s > 0 && !f.try.includes("shorter") && ` Saves at most ${seconds(f.saves_s)}.`),
      h("div", { class: "acts" }, ranks.length > 0 && show, section && h("a", { href: "#" + section }, title),
        f.callsite && page.siteTable && h("a", { href: "#sites", onclick: () => page.siteTable.find(f.callsite) }, "Call site"), f.uncertain && h("span", { class: "bad" }, "Uncertain: " + f.uncertain))));
}

// parseRanks returns the ranks of a set such as "0,2-5".
function parseRanks(text) {
  return text.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, k) => first + k);
  });
}

// markedLine names the ranks that are highlighted, with a button that ends it.
function markedLine() {
  const text = h("span");
  const line = h("p", { class: "controls", hidden: true }, text, h("button", { type: "button", onclick: () => setHighlight(null) }, "clear"));
  onHighlight(() => {
    line.hidden = !highlight.ranks;
    const list = [...(highlight.ranks || [])];
    text.textContent = `Marked: ${list.length > 12 ? count(list.length) + " ranks" : ranksText(list.join(","))}`;
  });
  return line;
}

start();
