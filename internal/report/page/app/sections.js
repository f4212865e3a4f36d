// The sections below the first screen, except Time: tables of what the report has. A section
// without data returns nothing and is left out.
//
// Their argument is the page: data, job (one of data.jobs) and s (the job's summary).

const sections = [
  ["time", "Time", timeSection], ["balance", "Balance and nodes", balanceSection],
  ["placement", "Placement", placementSection], ["patterns", "Patterns", patternsSection],
  ["calls", "Calls", callsSection], ["sites", "Call sites", sitesSection],
  ["communicators", "Communicators", communicatorsSection], ["sizes", "Sizes", sizesSection],
  ["phases", "Phases", phasesSection], ["physical", "Physical next to logical", physicalSection],
  ["unexpected", "Unexpected messages", unexpectedSection],
  ["variables", "Performance variables", variablesSection], ["waits", "Waits", waitsSection],
  ["timeline", "Timeline", timelineSection], ["settings", "Settings", settingsSection],
  ["ends", "How ranks ended", endsSection], ["completeness", "Completeness", completenessSection],
];

// facts returns a list of names and values. Missing values are left out.
function facts(...pairs) {
  const known = pairs.filter((p) => p && p[1]);
  return h("dl", { class: "list" }, known.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

const bullets = (items) => items.length > 0 && h("ul", { class: "plain" }, items.map((i) => h("li", null, i)));

// seconds returns s as a duration, with its standard error if it is an estimate.
const seconds = (s, error) => isMissing(s) ? "–" : duration(1e9 * s) + (error ? " ± " + duration(1e9 * error) : "");

// ranksText returns "rank 3" or "ranks 0-2, 5" from the text of a set of ranks.
const ranksText = (set) => (/^\d+$/.test(set) ? "rank " : "ranks ") + set.replaceAll(",", ", ");

// classWords are the names of the classes of matrices.
const classWords = {
  all: "all that the program asked for", external: "point-to-point",
  internal: "the library's own", osc: "one-sided",
  coll: "collectives (logical volume)",
};

const setsUp = (call) => /^(Init|Init_thread|Finalize|Session_init|Session_finalize)$/.test(call);

const timed = (s) => s.timing !== "off";

// totalColumns are the columns that all sums of calls have.
function totalColumns(s) {
  const text = (c) => exact(seconds(c.time_ns / 1e9, c.time_error_ns / 1e9), count(c.time_ns) + " ns");
  const share = (c) => (setsUp(c.call || "") || !s.mpi_time_s ? null : c.time_ns / 1e9 / s.mpi_time_s);
  const time = { head: "time", numeric: true, value: (c) => c.time_ns, text };
  return [countColumn("calls", (c) => c.calls), timed(s) && [time, percentColumn("% of MPI", share)]];
}

function timeSection(page) {
  const { s, job } = page, p = job.analysis && job.analysis.pop;
  const active = job.ranks.activity_ns.some((column) => column.some((ns) => ns > 0));
  return [timeFacts(s), active && timeChart(page),
    h("div", { class: "columns" }, histogram(job.ranks), p && efficiencyTable(p)), rankTable(page)];
}

function timeFacts(s) {
  const { mpi_share: share } = s, setup = `; Init and Finalize ${seconds(s.init_finalize_time_s)} besides`;
  return facts(
    ["wall time", seconds(s.wall_time_s)], ["application", `${seconds(s.application_time_s)} over all ranks`],
    s.thread_time_s > s.application_time_s && ["threads", `${seconds(s.thread_time_s)} over all threads`],
    ["in MPI", timed(s) ? seconds(s.mpi_time_s, s.mpi_time_error_s) + setup : "not timed"],
    timed(s) && ["share of MPI", `mean ${percent(share.mean)}, ` +
      `least ${percent(share.min)} (rank ${share.min_rank}), most ${percent(share.max)} (rank ${share.max_rank})`],
    timed(s) && s.lifetimes_unknown_ranks && ["threads' lifetimes",
      `not recorded of ${plural(s.lifetimes_unknown_ranks, "rank")}: each counts with the whole run`],
    ...s.oversubscribed.map((o) => ["shared cores", oversubscribed(o)]));
}

function efficiencyTable(p) {
  const runtime = seconds(p.runtime_s), ideal = seconds(p.ideal_runtime_s);
  const mean = seconds(p.useful_mean_s), most = seconds(p.useful_max_s);
  const busiest = `rank ${p.useful_max_rank} computes ${most}`;
  const because = textColumn("because", (r) => r[2]);
  return table([textColumn("efficiency", (r) => r[0]), percentColumn("", (r) => r[1]), because], [
    ["parallel efficiency", p.parallel_efficiency, `ranks compute ${mean} of ${runtime} on average`],
    ["load balance", p.load_balance, `${busiest}, the mean is ${mean}`],
    ["communication", p.communication_efficiency, `${busiest} of ${runtime}`],
    ["– serialisation", p.serialisation, `${most} of ${ideal} on an ideal network`],
    ["– transfer", p.transfer, `${ideal} of ${runtime}; the rest is lost in messages and calls`],
  ], { caption: "Efficiencies from the trace" });
}

function oversubscribed(o) {
  const who = ranksText(o.ranks) + (o.host ? " on " + o.host : "");
  const cores = {
    "cpu-limit": ` may use the time of ${o.cpu_limit} cores`,
    shared: " shared their cores with other processes or threads",
  }[o.reason] || ` (${plural(o.threads, "thread")}) ran on ${plural(o.processor_count, "processor")} (${o.processors})`;
  return `${who}${cores}. Waiting includes waiting for a core.${o.cpu ? coreUse(o.cpu) : ""}`;
}

// coreUse returns what the operating system says about ranks that share cores.
function coreUse(cpu) {
  const waited = cpu.without_processor === null ? ""
    : `waited for a core ${percent(cpu.without_processor)} of their time and `;
  const switches = count(Math.round(cpu.involuntary_switches_per_s));
  return ` They ${waited}used one ${percent(cpu.used)}; ${switches} involuntary context switches a second each.`;
}

function balanceSection({ s, job }) {
  const spread = [...(s.balance || []), ...(s.direct_balance || [])].filter((b) => b.max > 0);
  return s.ranks_recorded > 1 && spread.length > 0 && [h("div", { class: "columns" },
    spreadTable(spread),
    s.hosts.length > 1 && s.locality && localityTable(s.locality),
    !job.placement && s.orders && s.orders.length > 0 && ordersTable(s.orders),
    s.hosts.length > 1 && table([textColumn("node", (n) => n.name), countColumn("ranks", (n) => n.ranks)], s.hosts,
      { caption: "Nodes", limit: 8, filter: (n) => n.name }),
    s.top_pairs.length > 0 && topPairsTable(s))];
}

const quantityNames = {
  mpi_time_ns: "time in MPI", sent_bytes: "bytes sent", received_bytes: "bytes received",
  messages: "messages, p2p and one-sided", bytes: "bytes, p2p and one-sided",
};

// spreadTable returns how much of each quantity the ranks have.
function spreadTable(spread) {
  const amount = ({ quantity }, v) => {
    if (quantity === "mpi_time_ns") return duration(v);
    return quantity === "messages" ? number(v) : bytes(Math.round(v));
  };
  const column = (head, of, rank) =>
    ({ head, numeric: true, value: of, text: (b) => amount(b, of(b)) + (rank ? ` (${rank(b)})` : "") });
  const outliers = (b) => {
    const more = b.outlying - b.standouts.length;
    const named = b.standouts.map((o) => `rank ${o.rank} ${amount(b, o.value)}`).join(", ");
    return named + (more > 0 ? ` and ${plural(more, "more rank")}` : "") || null;
  };
  return table([
    textColumn("quantity", (b) => quantityNames[b.quantity]), column("mean", (b) => b.mean),
    column("median", (b) => b.median), column("least (rank)", (b) => b.min, (b) => b.min_rank),
    column("most (rank)", (b) => b.max, (b) => b.max_rank), percentColumn("above mean", (b) => b.imbalance),
    { head: "stand out", value: (b) => b.outlying, text: outliers },
  ], spread, { caption: "What the ranks did, over the ranks" });
}

function localityTable(locality) {
  const all = (l) => l.within_nodes.bytes + l.between_nodes.bytes + l.unknown.bytes;
  return table([
    textColumn("class", (l) => classWords[l.class] || l.class),
    bytesColumn("within nodes", (l) => l.within_nodes.bytes),
    bytesColumn("between nodes", (l) => l.between_nodes.bytes),
    percentColumn("between", (l) => l.between_nodes.bytes / (all(l) || 1)),
    bytesColumn("not known", (l) => l.unknown.bytes),
  ], locality, { caption: "Bytes within and between nodes" });
}

function topPairsTable({ top_pairs, direct_traffic: all }) {
  return table([
    { head: "from → to", value: (p) => p.from, text: (p) => `${p.from} → ${p.to}` },
    bytesColumn("bytes", (p) => p.bytes),
    percentColumn("% of bytes", (p) => (all.bytes ? p.bytes / all.bytes : null)),
    countColumn("messages", (p) => p.messages), bytesColumn("mean size", meanSize),
    bytesColumn("in collectives", (p) => p.collective.bytes, "logical volume"),
  ], top_pairs, { caption: "Pairs that send most, point-to-point and one-sided" });
}

const meanSize = (sum) => (sum.messages ? Math.round(sum.bytes / sum.messages) : null);

const classMeaning = {
  p2p: " (point-to-point)", O2A: " (one to all)", A2O: " (all to one)", A2A: " (all to all)",
  sync: " (of windows)", io: " (files)", other: ", with Init and Finalize",
};

// received returns the bytes that a call received. It is null if that was not recorded,
// because 0 would look like lost data.
function received(c, s) {
  const nothing = !c.received.bytes && !c.received.messages;
  return nothing && (["O2A", "A2O", "A2A"].includes(c.class) || s.receives !== "on") ? null : c.received.bytes;
}

function callsSection({ s, job }) {
  if (s.calls.length === 0) return null;
  const waits = new Map((job.analysis ? job.analysis.calls : []).map((c) => [c.call, c]));
  const traced = (field) => (c) => (waits.has(c.call) ? 1e9 * waits.get(c.call)[field] : null);
  const times = [timeColumn("mean", (c) => c.mean_ns), timeColumn("shortest", (c) => c.min_ns),
    timeColumn("longest", (c) => c.max_ns)];
  const waiting = [timeColumn("waiting for others", traced("waiting_s")),
    timeColumn("undecided", traced("undecided_s"), "waits that the trace does not prove")];
  return [
    table([
      textColumn("call", (c) => c.call), totalColumns(s), timed(s) && times, trafficColumns((c) => c.sent, " sent"),
      bytesColumn("received", (c) => received(c, s)), waits.size > 0 && waiting,
    ], s.calls, { caption: "MPI calls, over all ranks", filter: (c) => c.call, limit: 30 }),
    table([
      { head: "class", value: (c) => c.class, text: (c) => c.class + (classMeaning[c.class] || "") },
      totalColumns(s).flat().slice(0, 2), trafficColumns(),
    ], s.classes, { caption: "Classes of calls" }),
    s.untimed_calls > 0 && h("p", null, `Not timed: ${plural(s.untimed_calls, "call")} from Fortran, ` +
      "whose bindings do it without MPI's functions in C."),
  ];
}

// siteCell returns a call site with its callers and, if the page has them, source lines.
function siteCell(site, sources) {
  const lines = sources && sources[`${site.file}:${site.line}`];
  return [site.label, callerLines(site), lines && sourceLines(lines, site.line)];
}

const callerLines = (site) => (site.callers || []).map((c) => h("div", { class: "faint" }, "← " + c.label));

function sourceLines(source, line) {
  const numberOf = (i) => source.first + i;
  const numbered = source.lines.map((text, i) =>
    h("span", { class: numberOf(i) === line && "here" }, `${numberOf(i)}  ${text}\n`));
  return h("details", null, h("summary", { class: "faint" }, "source"), h("pre", null, numbered));
}

const siteColumn = (sources) =>
  ({ head: "call site", value: (c) => c.label, text: (c) => h("span", null, siteCell(c, sources)) });

function sitesSection(page) {
  const { s, job } = page;
  if (s.callsites.length === 0) return null;
  const moved = (c) => (c.sent.bytes || c.sent.messages ? c.sent : c.received);
  const receives = (call) => /^(Irecv|Imrecv|Recv_init|Start|Startall|Irecv.*)$/.test(call);
  const unknown = (c) => s.receives !== "on" && !moved(c).messages && receives(c.call);
  const ofRank = (head, ns, rank) => ({ head, numeric: true, value: (c) => c.time_per_rank[ns],
    text: ({ time_per_rank: t }) => exact(`${duration(t[ns])} (${t[rank]})`, count(t[ns]) + " ns") });
  const extremes = [ofRank("least (rank)", "min_ns", "min_rank"), ofRank("most (rank)", "max_ns", "max_rank")];
  page.siteTable = table([
    siteColumn(job.sources), textColumn("call", (c) => c.call), totalColumns(s),
    timed(s) && s.ranks_recorded > 1 && extremes, trafficColumns((c) => (unknown(c) ? null : moved(c))),
  ], s.callsites, {
    caption: "Call sites, over all ranks", limit: 25,
    filter: (c) => [[c.label, ...(c.callers || []).map((p) => p.label)].join(" < "), c.call, c.file].join(" "),
  });
  return [page.siteTable, missingSymbols(s.callsites)];
}

// missingSymbols tells why call sites have no names or no line numbers.
function missingSymbols(callsites) {
  const modules = callsites.filter((c) => !c.function && c.module).map((c) => c.module.split("/").pop());
  const why = modules.length > 0
    ? `Call sites without names: ${[...new Set(modules)].join(", ")} without symbols (do not strip; compile with -g).`
    : "No line numbers: the program has no debug information (compile with -g).";
  return (modules.length > 0 || !callsites.some((c) => c.line > 0)) && h("p", { class: "faint" }, why);
}

function communicatorsSection({ s, job }) {
  const waits = (job.analysis && job.analysis.communicators) || [];
  const list = s.communicators || [];
  const mostly = ({ patterns: [first] }) => `${first.pattern}, ${seconds(first.time_s)}`;
  return list.length + waits.length > 0 && [
    list.length > 0 && table([
      textColumn("communicator", (c) => c.label || "others"), countColumn("size", (c) => c.size),
      countColumn("ranks", (c) => c.ranks, "processes that called on it"), totalColumns(s),
      trafficColumns((c) => c.sent, " sent"),
    ], list, { caption: "Calls by communicator", filter: (c) => c.label }),
    waits.length > 0 && table([
      textColumn("communicator", (c) => c.communicator),
      { head: "mostly", value: (c) => c.patterns[0].pattern, text: mostly },
      countColumn("waits", (c) => c.count), timeColumn("time", (c) => 1e9 * c.time_s),
      percentColumn("% of time", (c) => c.share),
    ], waits, { caption: "Waits by communicator", filter: (c) => c.communicator }),
  ];
}

function sizesSection({ s }) {
  if (s.message_sizes.length === 0) return null;
  const rows = s.message_sizes.flatMap((c) => c.sizes.map((size) => ({ ...size, call: c.call })));
  return [
    sizeChart(s.message_sizes),
    table([
      textColumn("call", (r) => r.call),
      { head: "size", numeric: true, value: (r) => r.size_class, text: (r) => sizeRange(r.least_bytes) },
      trafficColumns(), bytesColumn("mean size", meanSize), countColumn("calls", (r) => r.calls),
    ], rows, { caption: "Messages by call and size; for collectives, of their logical volume", filter: (r) => r.call }),
  ];
}

// sizeChart draws the messages of each size class, of one call or all.
function sizeChart(list) {
  const used = list.flatMap((c) => c.sizes.map((z) => z.size_class));
  const first = Math.min(...used), n = Math.max(...used) - first + 1;
  const barsOf = (call) => Array.from({ length: n }, (_, k) => {
    const least = first + k ? 2 ** (first + k - 1) : 0;
    const here = list.filter((c) => !call || c.call === call).flatMap((c) => c.sizes)
      .filter((z) => z.size_class === first + k);
    const [messages, sent] = ["messages", "bytes"].map((of) => here.reduce((sum, z) => sum + z[of], 0));
    const words = `${sizeRange(least)}: ${plural(messages, "message")}, ${bytes(sent)}`;
    return { n: messages, name: short(bytes(least)), words };
  });
  let bars = barsOf("");
  const chart = barChart("Messages by size. The table below has the values.", () => bars);
  const calls = [["", "all calls"], ...list.map((c) => [c.call, c.call])];
  const chosen = choice("messages by size, of", calls, "", (call) => { bars = barsOf(call); chart.redraw(); });
  return h("div", null, h("div", { class: "controls" }, chosen), chart);
}

const sizeRange = (least) => least ? `${short(bytes(least))} to < ${short(bytes(2 * least))}` : "0 B";

function phasesSection({ s }) {
  const columns = [textColumn("phase", (c) => c.slice), totalColumns(s), trafficColumns()];
  return s.slices.length > 1 &&
    table(columns, s.slices, { caption: "Phases, in order of start", filter: (c) => c.slice });
}

function physicalSection({ s }) {
  const p = s.physical;
  if (!p || !p.ranks_known) return null;
  const rows = [
    ...p.logical.map((l) => ["logical: " + (classWords[l.class] || l.class), l]),
    ["physical: point-to-point", p.external], ["physical: the library's own", p.internal],
    ["physical: all that the library sent", p.sum],
  ];
  const differs = p.external.bytes !== p.asked.bytes || p.external.messages !== p.asked.messages;
  const known = p.unknown.length ? ` (known for ${p.ranks_known} of ${s.ranks_expected} ranks)` : "";
  return [
    table([
      textColumn("traffic", (r) => r[0]), countColumn("pairs", (r) => r[1].pairs), trafficColumns((r) => r[1]),
    ], rows, { caption: `What the program asked for, and what the MPI library sent${known}` }),
    differs && h("p", null, "The library's count of point-to-point differs from the program's, " +
      `${plural(p.asked.messages, "message")} (${bytes(p.asked.bytes)}): ` +
      "it does not see persistent sends, and takes some of its own messages for the program's."),
    bullets(p.unknown.map((u) => `${u.ranks}: ${u.why}`)),
  ];
}

function unexpectedSection({ s, job }) {
  const from = (n) => (n >= 0 ? n : n === -3 ? "any" : n === -6 ? "another world" : "unknown");
  const over = !s.late_over || s.late_over === "mixed"
    ? "--watch-unexpected messages" : plural(Number(s.late_over), "message");
  const most = ({ most: [pair] }) => `${from(pair.from)} → ${pair.to} (${count(pair.late)})`;
  const queue = (l) => l.mean_queue_length;
  return s.late_receives.length > 0 && [table([
    siteColumn(job.sources), textColumn("call", (l) => l.call),
    textColumn("communicator", (l) => (l.others ? "others" : l.communicator || null)),
    countColumn("late", (l) => l.late), percentColumn("% of receives", (l) => l.share),
    { head: "mean queue", numeric: true, value: queue, text: (l) => threeDigits(queue(l)) },
    countColumn("ranks", (l) => l.ranks),
    { head: "most: from → to", value: (l) => l.most[0].late, text: most },
  ], s.late_receives, { filter: (l) => l.label + " " + l.call,
    caption: `Late receives: posted while more than ${over} waited to be received` })];
}

function variablesSection({ s }) {
  const amount = (v, n) => (v.class === "percentage" ? percent(n) : number(n));
  const rankOf = (v, rank) => (rank && s.ranks_recorded > 1 ? ` (${v[rank]})` : "");
  const value = (head, of, rank) =>
    ({ head, numeric: true, value: of, text: (v) => shownOr(of(v), (n) => amount(v, n) + rankOf(v, rank)) });
  const name = (v) => v.name + (v.elements > 1 && v.min !== null ? `[${v.elements}]` : "") +
    (v.others ? " of others" : v.object ? " of " + v.object : "");
  return s.performance_variables.length > 0 && [table([
    textColumn("variable", name), textColumn("class", (v) => v.class),
    value("sum", (v) => v.sum), value("mean", (v) => v.mean),
    value("least (rank)", (v) => v.min, "min_rank"), value("most (rank)", (v) => v.max, "max_rank"),
    textColumn("text", (v) => v.text),
  ], s.performance_variables, { caption: "MPI's own counters", filter: name, limit: 30 })];
}

// timingWords says what each value of --timing means.
const timingWords = {
  exact: "exact: every call", sampled: "sampled: times are estimates, ± is one standard error",
  off: "off: calls, messages and bytes are exact",
};

function settingsSection({ s, data }) {
  const run = data.run || {}, settings = run.settings || [], variables = run.cvars || [];
  return [
    facts(
      ["timing", timingWords[s.timing] || s.timing],
      ["nonblocking receives", s.receives === "on" ? "followed" : "not followed: what they received is not known"],
      ["launched by", run.command && h("span", { class: "code" }, run.command.join(" "))],
      ["in", run.working_directory], ["mpitrace", run.mpitrace]),
    h("div", { class: "columns" },
      settings.length > 0 && table([
        textColumns({ "setting of mpitrace": "name", value: "value" }), textColumn("from", (v) => v.set_by || v.source),
      ], settings, { caption: "Settings that are not the default" }),
      s.variables.length > 0 && table(
        textColumns({ "MPI variable": "name", value: "value", from: "from", ranks: "ranks", refused: "refused" }),
        s.variables, { caption: "MPI variables that the user set", filter: (v) => v.name }),
      variables.length > 0 && table(textColumns({ variable: "name", value: "value", default: "default" }), variables,
        { caption: "Control variables of the MPI that are not the default", filter: (v) => v.name, limit: 10 })),
  ];
}
