// The page of mpitrace diff: what changed from run A to run B.

const diffSections = [
  ["calls", "Calls", ({ job: { diff } }) => changes("call", diff.calls, (c) => c.call, diff)],
  ["sites", "Call sites", ({ job: { diff } }) => changes("call site", diff.callsites, siteName, diff,
    "(A: n) is the line in A, if the call site moved")],
  ["communicators", "Communicators", ({ job: { diff } }) =>
    changes("communicator", diff.communicators, (c) => c.communicator, diff)],
  ["pairs", "Pairs", ({ job: { diff } }) =>
    changes("pair", diff.pairs.top || [], (c) => `${c.from} → ${c.to}`, diff, pairsNote(diff.pairs))],
  ["counters", "Counters and late receives", countersSection], ["settings", "Settings", diffSettings],
  ["completeness", "Completeness", diffCompleteness],
];

const siteName = (c) => c.label + (c.moved_from ? ` (A: ${c.moved_from.line})` : "") + " " + c.call;

function pairsNote(pairs) {
  const what = pairs.of === "all"
    ? "point-to-point, one-sided and collectives (logical volume)"
    : "point-to-point and one-sided, as the jobs are large";
  return `${plural(pairs.changed, "pair")} changed; ${what}`;
}

function diffCompleteness({ job }) {
  return [["A", job.diff.a], ["B", job.diff.b]].flatMap(([name, side]) => [
    h("h3", null, name), side.problems.length ? bullets(side.problems)
      : h("p", { class: "good" }, "Complete: all ranks finalized, nothing was lost."),
  ]);
}

// change returns "+1.2 MiB (+15.0 %)", or "" if nothing changed. A change of estimates counts
// if it is more than two standard errors.
function change(m, text, error = 0) {
  if (m === null || m.a === m.b) return "";
  if (isMissing(m.a) || isMissing(m.b)) return "–";
  if (Math.abs(m.b - m.a) <= 2 * error) return "within its error";
  return `${m.b > m.a ? "+" : "−"}${text(Math.abs(m.b - m.a))} (${relativeText(m.relative)})`;
}

// relativeText returns the text of a change relative to A; null if A is 0.
function relativeText(r) {
  if (r === null) return "from 0";
  if (r >= 10) return "× " + threeDigits(r + 1);
  if (Math.abs(r) < .0005) return "< 0.1 %";
  if (r > -1 && r < -.9995) return "< −99.9 %";
  return (r > 0 ? "+" : "−") + (100 * Math.abs(r)).toFixed(1) + " %";
}

// sideColumns are A and B of a measure. textOf(row) returns the function for its values.
function sideColumns(name, of, textOf) {
  const side = (head, key) => ({ head, numeric: true, value: (r) => of(r) && of(r)[key],
    text: (r) => shownOr(of(r), (m) => shownOr(m[key], (n) => exact(textOf(r)(n), count(n)))) });
  return [side(name + "A", "a"), side("B", "b")];
}

// measureColumns are A, B and the change of a measure.
function measureColumns(name, of, text) {
  return [sideColumns(name + " ", of, () => text), {
    head: "change", numeric: true, note: `change of ${name} from A to B`, value: (r) => of(r) && of(r).b - of(r).a,
    text: (r) => of(r) && change(of(r), text, text === duration ? r.time_error_ns : 0),
  }];
}

function changes(noun, rows, name, diff, note) {
  if (!rows || rows.length === 0) return false;
  return [
    note && h("p", { class: "faint" }, note),
    table([
      { head: noun, value: name, text: (r) => h("span", null, name(r), labelledCallers(r)) },
      textColumn("in", (r) => ({ new: "B\u00a0only", gone: "A\u00a0only" }[r.status] || "both")),
      measureColumns("bytes", (r) => r.bytes, bytes),
      measureColumns("messages", (r) => r.messages, count),
      rows[0].calls && measureColumns("calls", (r) => r.calls, count),
      diff.times_compared && rows[0].time_ns && measureColumns("time", (r) => r.time_ns, duration),
    ], rows, { caption: `Changed ${noun}s, the largest change first`, filter: name }),
  ];
}

function countersSection({ job }) {
  const late = job.diff.late_receives || [], counters = job.diff.counters || [];
  return late.length + counters.length > 0 && [
    late.length > 0 && table(
      [textColumn("call site", siteName), measureColumns("late receives", (r) => r.late, count)], late,
      { caption: "Late receives", filter: siteName }),
    counters.length > 0 && table([
      textColumn("variable", (c) => c.variable), textColumn("class", (c) => c.class),
      measureColumns("value", (c) => c, number),
    ], counters, { caption: "Counters of the MPI", filter: (c) => c.variable }),
  ];
}

function diffSettings({ job }) {
  const d = job.diff;
  const columns = (none) =>
    [textColumn("name", (c) => c.name), textColumn("A", (c) => c.a ?? none), textColumn("B", (c) => c.b ?? none)];
  const own = [
    ["--timing", d.a.timing, d.b.timing], ["--receives", d.a.receives, d.b.receives],
    d.settings ? ["--watch-unexpected", d.a.late_over || "off", d.b.late_over || "off"] : [],
    ["MPI", libraryName(d.a.mpi_library), libraryName(d.b.mpi_library)],
  ].filter((c) => c[1] !== c[2]).map(([name, a, b]) => ({ name, a, b }));
  const settings = [...own, ...(d.settings || [])], variables = d.variables || [];
  return settings.length + variables.length > 0 && [
    settings.length > 0 && table(columns("default"), settings, { caption: "Settings that differ" }),
    variables.length > 0 && table(columns("not set"), variables,
      { caption: "MPI variables that differ", filter: (c) => c.name }),
  ];
}

function diffHead({ data, job }) {
  const d = job.diff;
  return [
    pageHead("What changed from A to B: " + d.b.program, sideFacts("A", data.a, d.a, d.wall_time_ns.a),
      sideFacts("B", data.b, d.b, d.wall_time_ns.b)),
    d.a.ranks_expected !== d.b.ranks_expected && h("p", { class: "notice" }, "The runs have different sizes, " +
      `${plural(d.a.ranks_expected, "rank")} and ${count(d.b.ranks_expected)}: sums are over all ranks of each.`),
    !d.settings && h("p", { class: "notice" },
      "A or B was read from Arrow files: settings, MPI variables and late receives are not compared."),
    !d.times_compared && h("p", { class: "notice" },
      `--timing is ${d.a.timing} in A and ${d.b.timing} in B: times of calls are not compared.`),
  ];
}

// sideFacts returns what ran on a side of the comparison.
function sideFacts(name, path, s, wall) {
  const recorded = s.ranks_recorded < s.ranks_expected ? ` (${s.ranks_recorded} recorded)` : "";
  return factLine([
    h("strong", null, `${name}: ${path || ""}`), commandText(s), plural(s.ranks_expected, "rank") + recorded,
    plural(s.hosts, "node"), libraryName(s.mpi_library), shownOr(wall, duration), recordFact(s.problems),
    startText(s.started)]);
}

function diffFirst({ job }) {
  const d = job.diff;
  return h("div", { class: "first" },
    firstPart("efficiency two", "Efficiency", null, [["A", d.a.pop], ["B", d.b.pop]].map(([name, pop]) =>
      h("div", null, h("h2", { class: "caps" }, name), efficiencyBar(pop, pop ? pop.ranks : 0)))),
    firstPart("stands-out", "Totals", "Totals", totalsTable(d), d.exceeded && exceededMeasures(d.exceeded)),
    firstPart("bars", "Largest changes", "Largest changes",
      bullets(largestChanges(d)) || h("p", null, "Nothing changed in calls, bytes and messages.")),
    firstPart("pairs", "Matrix", null, job.matrices.length > 0 && matrixView({ sheets: job.matrices })));
}

function totalsTable(d) {
  const time = d.times_compared;
  const totals = [
    ["wall time", d.wall_time_ns, duration], ["application, over all ranks", d.application_time_ns, duration],
    time && ["in MPI", d.total.time_ns, duration, d.total.time_error_ns],
    time && ["Init and Finalize", d.init_finalize_time_ns, duration],
    ["calls", d.total.calls, count], ["bytes sent", d.total.bytes, bytes],
    ["messages sent", d.total.messages, count],
  ].filter((t) => t && t[1]).map(([name, values, text, error]) => ({ name, values, text, error }));
  const changed = (t) => change(t.values, t.text, t.error) || "none";
  return table([
    textColumn("total", (t) => t.name), sideColumns("", (t) => t.values, (t) => t.text),
    { head: "change", numeric: true, value: (t) => t.values.relative, text: changed },
  ], totals);
}

const measureText = { time: duration, bytes: (n) => bytes(Math.round(n)) };

// exceededMeasures returns what grew by more than --fail-if-worse allows.
function exceededMeasures(exceeded) {
  if (exceeded.length === 0) return h("p", { class: "good" }, "Nothing grew by more than --fail-if-worse allows.");
  const text = (e) =>
    `${e.of}: ${e.measure} ${change(e.values, measureText[e.measure] || count)}; +${e.limit_percent} % is allowed`;
  return [h("h3", { class: "bad" }, "Grew by more than --fail-if-worse allows"),
    bullets(exceeded.map((e) => h("span", { class: "bad" }, text(e))))];
}

// largestChanges returns a sentence for each of the call sites that changed most.
function largestChanges(d) {
  const longest = Math.max(d.total.time_ns.a, d.total.time_ns.b);
  const timeDiffers = (c) => d.times_compared && c.time_ns && Math.abs(c.time_ns.b - c.time_ns.a) > .01 * longest;
  const worth = (c) => [
    c.bytes.a !== c.bytes.b && "bytes " + change(c.bytes, bytes),
    c.messages.a !== c.messages.b && "messages " + change(c.messages, count),
    timeDiffers(c) && "time " + change(c.time_ns, duration),
  ].filter(Boolean);
  return (d.callsites || []).map((c) => [c, worth(c)]).filter(([, w]) => w.length).slice(0, 6)
    .map(([c, w]) => `${siteName(c)}${c.status === "changed" ? "" : ` (${c.status})`}: ${w.join(", ")}`);
}
