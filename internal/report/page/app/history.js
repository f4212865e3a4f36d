// The page of mpitrace history: all runs, their repetitions, how the program scales, and
// what changed from one version to the next. data.history is as in history --json.

function showHistory(root, data) {
  const page = { ...data.history, manyLibraries: severalLibraries(data.history.runs) };
  fillPage(root, historyHead(page), sectionsOf(historySections, page), data.made);
}

const historySections = [
  ["evolution", "What changed between versions", (page) => page.evolution.length > 0 &&
    page.evolution.map((e) => e.steps.map((s) => stepView(page, e, s)))],
  ["scaling", "Scaling", (page) => page.scaling.length > 0 && page.scaling.map((s) => scalingView(page, s))],
  ["repetitions", "Repetitions", repetitionsSection],
  ["runs", "Runs", runsSection],
];

// severalLibraries reports whether a version of a program ran with several MPI libraries.
function severalLibraries(runs) {
  const of = new Map();
  return runs.some((r) => {
    const other = of.has(r.version) && of.get(r.version) !== r.mpi_library;
    of.set(r.version, r.mpi_library);
    return other;
  });
}

function versionName(page, v) {
  return (v.version ? v.version.slice(0, 8) : "not known") + (page.manyLibraries ? ", " + v.mpi_library : "");
}

const commandOf = (c) => [c.program, ...c.arguments].join(" ");

function historyHead(page) {
  const programs = new Set(page.runs.map((r) => r.program));
  const versions = new Set(page.runs.map((r) => r.program + r.version));
  const steps = page.evolution.flatMap((e) => e.steps);
  const changed = steps.filter((s) => s.spread_known && s.changes.length > 0).length;
  const worse = steps.some((s) => (s.exceeded || []).length > 0);
  const facts = [plural(page.runs.length, "run"), plural(programs.size, "program"), plural(versions.size, "version"),
    page.evolution.length > 0 && (changed ? plural(changed, "step") + " with changes" : "no changes beyond the spread"),
    worse && h("span", { class: "bad" }, "exceeds --fail-if-worse")];
  return h("div", null,
    pageHead("Runs of " + [...programs].join(", "), factLine(facts)),
    page.skipped.length > 0 && h("div", { class: "notice" }, h("p", null, "Left out:"),
      bullets(page.skipped.map((s) => `${s.run}: ${s.why}`))));
}

function runsSection(page) {
  const record = (r) => (!r.compared ? "unfinished" : r.complete ? "complete" : "incomplete");
  return [table([
    textColumn("run", (r) => r.run + (r.jobs > 1 ? ", job " + r.job : "")), textColumn("program", (r) => r.program),
    textColumn("version", (r) => versionName(page, r)), textColumn("arguments", (r) => r.arguments.join(" ")),
    countColumn("ranks", (r) => r.ranks), textColumn("started", (r) => startText(r.started)),
    timeColumn("wall time", (r) => 1e9 * r.wall_time_s || null),
    percentColumn("efficiency", (r) => r.pop && r.pop.parallel_efficiency),
    percentColumn("in MPI", (r) => r.mpi_share), bytesColumn("bytes sent", (r) => r.bytes),
    { head: "findings", numeric: true, value: (r) => r.findings.length,
      text: (r) => h("span", { title: r.findings.map((f) => f.rule).join(", ") }, r.findings.length) },
    { head: "record", value: record, text: (r) => h("span", { title: r.problems.join("; ") }, record(r)) },
  ], page.runs, { caption: "All runs", limit: 50, filter: (r) => [r.run, commandOf(r), r.version].join(" ") }),
  page.runs.some((r) => !r.compared) &&
    h("p", { class: "faint" }, "Unfinished: a rank did not finalize; not compared.")];
}

// spreadColumn shows a median and, in brackets, the largest minus the smallest value.
function spreadColumn(head, of, text) {
  return { head, numeric: true, value: (r) => of(r) && of(r).median, text: (r) => of(r) && withSpread(of(r), text) };
}

function withSpread(q, text) {
  const range = `${text(q.min)} to ${text(q.max)} in ${plural(q.runs, "run")}`;
  return exact(text(q.median) + (q.spread === null ? "" : ` (${text(q.spread)})`), range);
}

function repetitionsSection(page) {
  const list = page.configurations.filter((c) => c.runs.length > 1);
  return list.length > 0 && [table([
    textColumn("program", commandOf), textColumn("version", (c) => versionName(page, c)),
    countColumn("ranks", (c) => c.ranks), countColumn("runs", (c) => c.runs.length),
    spreadColumn("wall time", (c) => c.wall_time_s, (s) => duration(1e9 * s)),
    spreadColumn("efficiency", (c) => c.parallel_efficiency, percent),
    spreadColumn("in MPI", (c) => c.mpi_share, percent),
    spreadColumn("bytes sent", (c) => c.bytes, bytes),
  ], list, { caption: "Median (spread: largest − smallest value)", filter: commandOf })];
}

// The efficiencies of a scaling: field, name, colour, and the dashes of its line.
const scalingLines = [
  ["parallel_efficiency", "parallel efficiency", "--accent", []],
  ["load_balance", "load balance", "--imbalance", [6, 3]],
  ["communication_efficiency", "communication", "--serial", [2, 3]],
  ["computation_scaling", "computation scaling", "--compute", [10, 3, 2, 3]],
  ["global_efficiency", "global efficiency", "--ink", []],
];

function scalingView(page, s) {
  const largest = s.points[s.points.length - 1].ranks;
  const rows = [...s.callsites, ...(s.outside_mpi ? [s.outside_mpi] : [])];
  const on = (g, ranks) => (g.points.find((p) => p.ranks === ranks) || { time_per_rank_ns: null }).time_per_rank_ns;
  return [h("h3", null, `${commandOf(s)}, version ${versionName(page, s)}`), h("div", { class: "columns" },
    h("div", { class: "wide" }, scalingChart(s.points), scalingLegend()),
    table([countColumn("ranks", (p) => p.ranks), countColumn("runs", (p) => p.runs),
      timeColumn("wall time", (p) => 1e9 * p.wall_time_s || null),
      ...scalingLines.map(([field, name]) => percentColumn(name, (p) => p[field]))],
    s.points, { caption: "Efficiencies by number of ranks; ideal: 100 %" })),
  table([
    { head: "call site", value: (g) => g.label, text: (g) => h("span", null, g.label, labelledCallers(g)) },
    textColumn("call", (g) => g.call),
    { head: "exponent", numeric: true, value: (g) => g.exponent, text: exponentText,
      note: "−1: divided among the ranks; 0: constant; 1: proportional to the number of ranks" },
    timeColumn(`per rank on ${count(s.points[0].ranks)}`, (g) => on(g, s.points[0].ranks)),
    timeColumn(`on ${count(largest)}`, (g) => on(g, largest)),
    percentColumn(`share on ${count(largest)}`, (g) => g.share),
  ], rows, { caption: "Time per rank as a power of the number of ranks", sort: 2, limit: 15,
    filter: (g) => `${g.label} ${g.call || ""}` })];
}

function exponentText(g) {
  const sign = g.exponent < 0 ? "−" : "+";
  const error = g.exponent_error === null ? "" : " ± " + g.exponent_error.toFixed(2);
  return sign + Math.abs(g.exponent).toFixed(2) + error;
}

// scalingChart draws the efficiencies over the number of ranks, which is logarithmic.
function scalingChart(points) {
  const most = Math.max(1, ...points.flatMap((p) => scalingLines.map(([field]) => p[field])));
  const label = "Efficiencies by number of ranks. The table beside it has the values.";
  return canvas({ class: "chart high", role: "img", "aria-label": label }, (context, width, height) => {
    const left = 52, right = width - 14, top = 10, bottom = height - 24;
    const first = Math.log(points[0].ranks), last = Math.log(points[points.length - 1].ranks);
    const x = (ranks) => left + (right - left) * (Math.log(ranks) - first) / (last - first);
    const y = (share) => bottom - (bottom - top) * share / (1.05 * most);
    efficiencyAxes(context, { points, x, y, left, right, bottom, most });
    for (const [field, , color, dashes] of scalingLines) {
      context.strokeStyle = context.fillStyle = cssColor(color);
      context.lineWidth = 2;
      context.setLineDash(dashes);
      context.beginPath();
      points.forEach((p) => context.lineTo(x(p.ranks), y(p[field])));
      context.stroke();
      points.forEach((p) => context.fillRect(x(p.ranks) - 3, y(p[field]) - 3, 6, 6));
    }
    context.setLineDash([]);
  });
}

function efficiencyAxes(context, { points, x, y, left, right, bottom, most }) {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let share = 0; share <= 1.05 * most; share += most > 2 ? Math.ceil(most / 5) : 0.25) {
    context.fillStyle = cssColor(share === 1 ? "--good" : "--line");
    context.fillRect(left, Math.round(y(share)), right - left, share === 1 ? 2 : 1);
    context.fillStyle = cssColor("--faint");
    context.fillText(Math.round(100 * share) + " %", left - 6, y(share));
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  let end = -Infinity;
  points.forEach((p, i) => {
    const text = (i === 0 ? "ranks " : "") + count(p.ranks), half = context.measureText(text).width / 2;
    const at = Math.min(right - half, x(p.ranks));
    if (at - half < end + 8) return;
    context.fillText(text, at, bottom + 6);
    end = at + half;
  });
}

// scalingLegend shows each line as it is drawn, and the ideal.
function scalingLegend() {
  const swatch = ([, name, color, dashes]) => {
    const line = svg("line", { x1: 0, y1: 5, x2: 28, y2: 5, "stroke-width": 2,
      "stroke-dasharray": dashes.join(" ") || null });
    line.style.stroke = `var(${color})`;
    return h("li", null, svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, line), " " + name);
  };
  return h("ul", { class: "legend" }, [...scalingLines, [null, "ideal", "--good", []]].map(swatch));
}

function stepView(page, e, s) {
  const many = page.evolution.length > 1 || e.steps.length > 1;
  const notes = [!s.spread_known && "The spread is not known, as a version ran only once: these differences may "
    + "be noise. Run each version three times.",
  !s.times_compared && "Times of calls are not compared, as calls were not timed in all runs.",
  ...[["A", s.a], ["B", s.b]].map(([name, side]) => side.oversubscribed > 0 &&
    `Ranks shared cores in ${side.oversubscribed} of ${plural(side.runs.length, "run")} of ${name}: `
    + "times are uncertain.")];
  return h("details", { open: !many || s.changes.length > 0 },
    h("summary", null, h("strong", null, `${commandOf(e)} on ${plural(e.ranks, "rank")}`),
      `: ${versionName(page, s.a)} (A) to ${versionName(page, s.b)} (B): `,
      s.changes.length ? plural(s.changes.length, s.spread_known ? "change" : "difference") : "no changes"),
    facts(["A", sideText(page, s.a)], ["B", sideText(page, s.b)]),
    notes.filter(Boolean).map((n) => h("p", { class: "faint" }, n)),
    s.changes.length > 0 ? changesTable(s) : h("p", { class: "good" }, "Nothing changed by more than the spread."),
    findingsChanged("Findings that appeared", s.findings_appeared),
    findingsChanged("Findings that disappeared", s.findings_disappeared),
    s.exceeded && exceededMeasures(s.exceeded), stepSettings(s));
}

function sideText(page, side) {
  return [`version ${versionName(page, side)}`, plural(side.runs.length, "run"), side.mpi_library,
    "wall time ", withSpread(side.wall_time_s, (s) => duration(1e9 * s)), `; median run ${side.median_run}`]
    .map((part, i) => (i > 0 && i < 4 ? [", ", part] : part));
}

function changesTable(s) {
  const text = (c) => measureText[c.measure] || ((n) => count(Math.round(n)));
  const name = (c) => c.name + (c.moved_from ? ` (A: ${c.moved_from.line})` : "") + (c.call ? " " + c.call : "");
  const relative = (c) => {
    if (c.status !== "changed") return c.status;
    if (!c.a.median) return "from 0";
    const r = (c.b.median - c.a.median) / c.a.median;
    return r >= 10 ? "× " + threeDigits(r + 1) : (r > 0 ? "+" : "−") + (100 * Math.abs(r)).toFixed(1) + " %";
  };
  return table([
    { head: "where", value: name, text: (c) => h("span", null, name(c),
      (c.callers || []).map((p) => h("div", { class: "faint" }, "← " + p.label))) },
    textColumn("of", (c) => (c.of === "callsite" ? "call site" : c.of)), textColumn("measure", (c) => c.measure),
    { head: "A", numeric: true, value: (c) => c.a.median, text: (c) => withSpread(c.a, text(c)) },
    { head: "B", numeric: true, value: (c) => c.b.median, text: (c) => withSpread(c.b, text(c)) },
    { head: "change", numeric: true, value: (c) => c.b.median - c.a.median,
      text: (c) => (c.b.median > c.a.median ? "+" : "−") + text(c)(Math.abs(c.b.median - c.a.median)) },
    { head: "relative", numeric: true, value: (c) => (c.a.median ? c.b.median / c.a.median : null), text: relative },
  ], s.changes, { filter: name,
    caption: s.spread_known ? "Changes that exceed the spread: median (spread)" : "Differences" });
}

function findingsChanged(title, list) {
  return list.length > 0 && [h("h3", null, title), bullets(list.map((f) => `${f.rule}: ${f.text}`))];
}

function stepSettings(s) {
  if (s.diff && !s.diff.settings) {
    return h("p", { class: "notice" },
      "A or B was read from Arrow files: settings and MPI variables are not compared.");
  }
  const rows = s.diff ? [...(s.diff.settings || []), ...(s.diff.variables || [])] : [];
  return rows.length > 0 && table([textColumn("name", (c) => c.name), textColumn("A", (c) => c.a ?? "not set"),
    textColumn("B", (c) => c.b ?? "not set")], rows, { caption: "Settings and MPI variables that differ" });
}
