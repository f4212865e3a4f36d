// The sections below the first screen, except Time: tables of what the report has. A section
// without data returns nothing and is left out.
//
// Their argument is the page: data, job (one of data.jobs) and s (the job's summary).

const sections = [
  ["time", "Time", timeSection],
  ["balance", "Balance and nodes", balanceSection],
  ["calls", "Calls", callsSection],
  ["sites", "Call sites", sitesSection],
  ["communicators", "Communicators", communicatorsSection],
  ["sizes", "Sizes", sizesSection],
  ["phases", "Phases", phasesSection],
  ["physical", "Physical next to logical", physicalSection],
  ["unexpected", "Unexpected messages", unexpectedSection],
  ["variables", "Performance variables", variablesSection],
  ["waits", "Waits", waitsSection],
  ["timeline", "Timeline", (page) => page.job.timeline && [timelineView({ timeline: page.job.timeline, job: page.job, activities: page.data.activities })]],
  ["settings", "Settings", settingsSection],
  ["ends", "How ranks ended", endsSection],
  ["completeness", "Completeness", completenessSection],
];

// facts returns a list of names and values. Missing values are left out.
function facts(...pairs) {
  return h("dl", { class: "list" }, pairs.filter((p) => p && p[1]).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

const bullets = (items) => items.length > 0 && h("ul", { class: "plain" }, items.map((i) => h("li", null, i)));

// seconds returns s as a duration, with its standard error if it is an estimate.
function seconds(s, error) {
  return duration(1e9 * s) + (error ? " ± " + duration(1e9 * error) : "");
}

// ranksText returns "rank 3" or "ranks 0-2, 5" from the text of a set of ranks.
function ranksText(set) {
  return (/^\d+$/.test(set) ? "rank " : "ranks ") + set.replaceAll(",", ", ");
}

// classWords are the names of the classes of matrices.
const classWords = { all: "all that the program asked for", external: "point-to-point", internal: "the library's own", osc: "one-sided", coll: "collectives (logical volume)" };

const setsUp = (call) => /^(Init|Init_thread|Finalize|Session_init|Session_finalize)$/.test(call);

const timed = (s) => s.timing !== "off";

// totalColumns are the columns that all sums of calls have.
function totalColumns(s) {
  return [countColumn("calls", (c) => c.calls), ...(timed(s) ? [
    { head: "time", numeric: true, value: (c) => c.time_ns, text: (c) => exact(seconds(c.time_ns / 1e9, c.time_error_ns / 1e9), count(c.time_ns) + " ns") },
    percentColumn("% of MPI", (c) => (setsUp(c.call || "") || !s.mpi_time_s ? null : c.time_ns / 1e9 / s.mpi_time_s))] : [])];
}

function timeSection(page) {
  const { s, job } = page;
  const p = job.analysis && job.analysis.pop;
  const share = s.mpi_share;
  return [
    facts(["wall time", seconds(s.wall_time_s)], ["application", `${seconds(s.application_time_s)} over all ranks`],
      ["in MPI", timed(s) ? `${seconds(s.mpi_time_s, s.mpi_time_error_s)}; Init and Finalize ${seconds(s.init_finalize_time_s)} besides` : "not timed"],
      timed(s) && ["share of MPI", `mean ${percent(share.mean)}, least ${percent(share.min)} (rank ${share.min_rank}), most ${percent(share.max)} (rank ${share.max_rank})`],
      ...s.oversubscribed.map((o) => ["shared cores", oversubscribed(o)])),
    job.ranks.activity_ns.some((column) => column.some((ns) => ns > 0)) && timeChart(page),
    h("div", { class: "columns" }, histogram(job.ranks), p && efficiencyTable(p)),
    rankTable(page),
  ];
}

function efficiencyTable(p) {
  const most = `rank ${p.useful_max_rank} computes ${seconds(p.useful_max_s)}`;
  return table([textColumn("efficiency", (r) => r[0]), percentColumn("", (r) => r[1]), textColumn("because", (r) => r[2])], [
    ["parallel efficiency", p.parallel_efficiency, `ranks compute ${seconds(p.useful_mean_s)} of ${seconds(p.runtime_s)} on average`],
    ["load balance", p.load_balance, `${most}, the mean is ${seconds(p.useful_mean_s)}`],
    ["communication", p.communication_efficiency, `${most} of ${seconds(p.runtime_s)}`],
    ["– serialisation", p.serialisation, `${seconds(p.useful_max_s)} of ${seconds(p.ideal_runtime_s)} on an ideal network`],
    ["– transfer", p.transfer, `${seconds(p.ideal_runtime_s)} of ${seconds(p.runtime_s)}; the rest is lost in messages and calls`],
  ], { caption: "Efficiencies from the trace" });
}

function oversubscribed(o) {
  const who = ranksText(o.ranks) + (o.host ? " on " + o.host : "");
  const cores = { "cpu-limit": ` may use the time of ${o.cpu_limit} cores`, shared: " shared their cores with other processes or threads" }[o.reason]
    || ` (${plural(o.threads, "thread")}) ran on ${plural(o.processor_count, "processor")} (${o.processors})`;
  const c = o.cpu;
  const used = c ? ` They ${c.without_processor === null ? "" : `waited for a core ${percent(c.without_processor)} of their time and `}used one ${percent(c.used)}; ${count(Math.round(c.involuntary_switches_per_s))} involuntary context switches a second each.` : "";
  return `${who}${cores}. Waiting includes waiting for a core.${used}`;
}

function balanceSection({ s }) {
  const names = { mpi_time_ns: "time in MPI", sent_bytes: "bytes sent", received_bytes: "bytes received", messages: "messages, p2p and one-sided", bytes: "bytes, p2p and one-sided" };
  const amount = (b, v) => b.quantity === "mpi_time_ns" ? duration(v) : b.quantity === "messages" ? number(v) : bytes(Math.round(v));
  const column = (head, of, rank) => ({ head, numeric: true, value: of, text: (b) => amount(b, of(b)) + (rank ? ` (${rank(b)})` : "") });
  const spread = [...(s.balance || []), ...(s.direct_balance || [])].filter((b) => b.max > 0);
  const moved = (head, of) => bytesColumn(head, (l) => l[of].bytes);
  const from = (p) => `${p.from} → ${p.to}`;
  return s.ranks_recorded > 1 && spread.length > 0 && [h("div", { class: "columns" },
    table([textColumn("quantity", (b) => names[b.quantity]), column("mean", (b) => b.mean), column("median", (b) => b.median),
      column("least (rank)", (b) => b.min, (b) => b.min_rank), column("most (rank)", (b) => b.max, (b) => b.max_rank), percentColumn("above mean", (b) => b.imbalance),
      { head: "stand out", value: (b) => b.outlying, text: (b) => b.standouts.map((o) => `rank ${o.rank} ${amount(b, o.value)}`).join(", ") + (b.outlying > b.standouts.length ? ` and ${plural(b.outlying - b.standouts.length, "more rank")}` : "") || null }],
    spread, { caption: "What the ranks did, over the ranks" }),
    s.hosts.length > 1 && s.locality && table([textColumn("class", (l) => classWords[l.class] || l.class), moved("within nodes", "within_nodes"), moved("between nodes", "between_nodes"),
      percentColumn("between", (l) => l.between_nodes.bytes / (l.within_nodes.bytes + l.between_nodes.bytes + l.unknown.bytes || 1)), moved("not known", "unknown")],
    s.locality, { caption: "Bytes within and between nodes" }),
    s.orders && s.orders.length > 0 && table([textColumn("order of the ranks", (o) => o.name), moved("between nodes", "between_nodes"), moved("all", "all"),
      percentColumn("between", (o) => o.between_nodes.bytes / (o.all.bytes || 1))], s.orders, { caption: "Bytes between nodes in other orders" }),
    s.hosts.length > 1 && table([textColumn("node", (n) => n.name), countColumn("ranks", (n) => n.ranks)], s.hosts, { caption: "Nodes", limit: 8, filter: (n) => n.name }),
    s.top_pairs.length > 0 && table([{ head: "from → to", value: (p) => p.from, text: from }, bytesColumn("bytes", (p) => p.bytes), percentColumn("% of bytes", (p) => s.direct_traffic.bytes ? p.bytes / s.direct_traffic.bytes : null),
      countColumn("messages", (p) => p.messages), bytesColumn("mean size", (p) => p.messages ? Math.round(p.bytes / p.messages) : null), bytesColumn("in collectives", (p) => p.collective.bytes, "logical volume")],
    s.top_pairs, { caption: "Pairs that send most, point-to-point and one-sided" }))];
}

const classMeaning = { p2p: " (point-to-point)", O2A: " (one to all)", A2O: " (all to one)", A2A: " (all to all)", sync: " (of windows)", io: " (files)", other: ", with Init and Finalize" };

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
  return [
    table([textColumn("call", (c) => c.call), ...totalColumns(s), ...(timed(s) ? [timeColumn("mean", (c) => c.mean_ns), timeColumn("shortest", (c) => c.min_ns), timeColumn("longest", (c) => c.max_ns)] : []),
      countColumn("messages sent", (c) => c.sent.messages), bytesColumn("sent", (c) => c.sent.bytes), bytesColumn("received", (c) => received(c, s)),
      ...(waits.size ? [timeColumn("waiting for others", traced("waiting_s")), timeColumn("undecided", traced("undecided_s"), "waits that the trace does not prove")] : [])],
    s.calls, { caption: "MPI calls, over all ranks", filter: (c) => c.call, limit: 30 }),
    table([{ head: "class", value: (c) => c.class, text: (c) => c.class + (classMeaning[c.class] || "") }, ...totalColumns(s).slice(0, 2), countColumn("messages", (c) => c.messages), bytesColumn("bytes", (c) => c.bytes)],
      s.classes, { caption: "Classes of calls" }),
    s.untimed_calls > 0 && h("p", null, `Not timed: ${plural(s.untimed_calls, "call")} from Fortran, whose bindings do it without MPI's functions in C.`),
  ];
}

// siteCell returns a call site with its callers and, if the page has them, source lines.
function siteCell(site, sources) {
  const lines = sources && sources[`${site.file}:${site.line}`];
  return [site.label, (site.callers || []).map((c) => h("div", { class: "faint" }, "← " + c.label)), lines && sourceLines(lines, site.line)];
}

function sourceLines(source, line) {
  return h("details", null, h("summary", { class: "faint" }, "source"), h("pre", null, source.lines.map((text, i) => h("span", { class: source.first + i === line && "here" }, `${source.first + i}  ${text}\n`))));
}

function siteColumn(sources) {
  return { head: "call site", value: (c) => c.label, text: (c) => h("span", null, siteCell(c, sources)) };
}

function sitesSection(page) {
  const { s, job } = page;
  if (s.callsites.length === 0) return null;
  const moved = (c) => (c.sent.bytes || c.sent.messages ? c.sent : c.received);
  const unknown = (c) => s.receives !== "on" && !moved(c).messages && /^(Irecv|Imrecv|Recv_init|Start|Startall|Irecv.*)$/.test(c.call);
  const ofRank = (head, ns, rank) => ({ head, numeric: true, value: (c) => c.time_per_rank[ns], text: (c) => exact(`${duration(c.time_per_rank[ns])} (${c.time_per_rank[rank]})`, count(c.time_per_rank[ns]) + " ns") });
  page.siteTable = table([siteColumn(job.sources), textColumn("call", (c) => c.call), ...totalColumns(s),
    ...(timed(s) && s.ranks_recorded > 1 ? [ofRank("least (rank)", "min_ns", "min_rank"), ofRank("most (rank)", "max_ns", "max_rank")] : []),
    countColumn("messages", (c) => (unknown(c) ? null : moved(c).messages)), bytesColumn("bytes", (c) => (unknown(c) ? null : moved(c).bytes))],
  s.callsites, { caption: "Call sites, over all ranks", filter: (c) => [c.label, c.call, c.file, ...(c.callers || []).map((p) => p.label)].join(" "), limit: 25 });
  const stripped = [...new Set(s.callsites.filter((c) => !c.function && c.module).map((c) => c.module.split("/").pop()))];
  return [page.siteTable,
    stripped.length > 0 ? h("p", { class: "faint" }, `Call sites without names: ${stripped.join(", ")} without symbols (do not strip; compile with -g).`)
      : !s.callsites.some((c) => c.line > 0) && h("p", { class: "faint" }, "No line numbers: the program has no debug information (compile with -g).")];
}

function communicatorsSection({ s, job }) {
  const waits = (job.analysis && job.analysis.communicators) || [], list = s.communicators || [];
  return list.length + waits.length > 0 && [
    list.length > 0 && table([textColumn("communicator", (c) => c.label || "others"), countColumn("size", (c) => c.size), countColumn("ranks", (c) => c.ranks, "processes that called on it"), ...totalColumns(s),
      countColumn("messages sent", (c) => c.sent.messages), bytesColumn("sent", (c) => c.sent.bytes)], list, { caption: "Calls by communicator", filter: (c) => c.label }),
    waits.length > 0 && table([textColumn("communicator", (c) => c.communicator), { head: "mostly", value: (c) => c.patterns[0].pattern, text: (c) => `${c.patterns[0].pattern}, ${seconds(c.patterns[0].time_s)}` },
      countColumn("waits", (c) => c.count), timeColumn("time", (c) => 1e9 * c.time_s), percentColumn("% of time", (c) => c.share)], waits, { caption: "Waits by communicator", filter: (c) => c.communicator })];
}

function sizesSection({ s }) {
  if (s.message_sizes.length === 0) return null;
  const rows = s.message_sizes.flatMap((c) => c.sizes.map((size) => ({ ...size, call: c.call })));
  return [sizeChart(s.message_sizes),
    table([textColumn("call", (r) => r.call), { head: "size", numeric: true, value: (r) => r.size_class, text: (r) => sizeRange(r.least_bytes) }, countColumn("messages", (r) => r.messages), bytesColumn("bytes", (r) => r.bytes),
      bytesColumn("mean size", (r) => (r.messages ? Math.round(r.bytes / r.messages) : null)), countColumn("calls", (r) => r.calls)],
    rows, { caption: "Messages by call and size; for collectives, of their logical volume", filter: (r) => r.call })];
}

// sizeChart draws the messages of each size class, of one call or all.
function sizeChart(list) {
  const used = list.flatMap((c) => c.sizes.map((z) => z.size_class));
  const first = Math.min(...used), n = Math.max(...used) - first + 1;
  const barsOf = (call) => Array.from({ length: n }, (_, k) => {
    const least = first + k ? 2 ** (first + k - 1) : 0;
    const here = list.filter((c) => !call || c.call === call).flatMap((c) => c.sizes).filter((z) => z.size_class === first + k);
    const messages = here.reduce((sum, z) => sum + z.messages, 0);
    return { n: messages, name: short(bytes(least)), words: `${sizeRange(least)}: ${plural(messages, "message")}, ${bytes(here.reduce((sum, z) => sum + z.bytes, 0))}` };
  });
  let bars = barsOf("");
  const chart = barChart("Messages by size. The table below has the values.", () => bars);
  return h("div", null, h("div", { class: "controls" }, choice("messages by size, of", [["", "all calls"], ...list.map((c) => [c.call, c.call])], "", (call) => { bars = barsOf(call); chart.redraw(); })), chart);
}

const sizeRange = (least) => least ? `${short(bytes(least))} to < ${short(bytes(2 * least))}` : "0 B";

function phasesSection({ s }) {
  return s.slices.length > 1 && [table([textColumn("phase", (c) => c.slice), ...totalColumns(s), countColumn("messages", (c) => c.messages), bytesColumn("bytes", (c) => c.bytes)],
    s.slices, { caption: "Phases, in order of start", filter: (c) => c.slice })];
}

function physicalSection({ s }) {
  const p = s.physical;
  if (!p || !p.ranks_known) return null;
  const rows = [...p.logical.map((l) => ["logical: " + (classWords[l.class] || l.class), l]), ["physical: point-to-point", p.external], ["physical: the library's own", p.internal], ["physical: all that the library sent", p.sum]];
  const differs = p.external.bytes !== p.asked.bytes || p.external.messages !== p.asked.messages;
  return [table([textColumn("traffic", (r) => r[0]), countColumn("pairs", (r) => r[1].pairs), countColumn("messages", (r) => r[1].messages), bytesColumn("bytes", (r) => r[1].bytes)], rows,
    { caption: `What the program asked for, and what the MPI library sent${p.unknown.length ? ` (known for ${p.ranks_known} of ${s.ranks_expected} ranks)` : ""}` }),
    differs && h("p", null, `The library's count of point-to-point differs from the program's, ${plural(p.asked.messages, "message")} (${bytes(p.asked.bytes)}): it does not see persistent sends, and takes some of its own messages for the program's.`),
    bullets(p.unknown.map((u) => `${u.ranks}: ${u.why}`))];
}

function unexpectedSection({ s, job }) {
  const from = (n) => (n >= 0 ? n : n === -3 ? "any" : n === -6 ? "another world" : "unknown");
  return s.late_receives.length > 0 && [table([siteColumn(job.sources), textColumn("call", (l) => l.call), textColumn("communicator", (l) => (l.others ? "others" : l.communicator || null)), countColumn("late", (l) => l.late),
    percentColumn("% of receives", (l) => l.share), { head: "mean queue", numeric: true, value: (l) => l.mean_queue_length, text: (l) => threeDigits(l.mean_queue_length) }, countColumn("ranks", (l) => l.ranks),
    { head: "most: from → to", value: (l) => l.most[0].late, text: (l) => `${from(l.most[0].from)} → ${l.most[0].to} (${count(l.most[0].late)})` }], s.late_receives,
  { caption: "Late receives: posted while more than " + (!s.late_over || s.late_over === "mixed" ? "--watch-unexpected messages" : plural(Number(s.late_over), "message")) + " waited to be received", filter: (l) => l.label + " " + l.call })];
}

function variablesSection({ s }) {
  const value = (head, of, rank) => ({ head, numeric: true, value: of, text: (v) => shownOr(of(v), (n) => (v.class === "percentage" ? percent(n) : number(n)) + (rank && s.ranks_recorded > 1 ? ` (${v[rank]})` : "")) });
  const name = (v) => v.name + (v.elements > 1 && v.min !== null ? `[${v.elements}]` : "") + (v.others ? " of others" : v.object ? " of " + v.object : "");
  return s.performance_variables.length > 0 && [table([textColumn("variable", name), textColumn("class", (v) => v.class), value("sum", (v) => v.sum), value("mean", (v) => v.mean),
    value("least (rank)", (v) => v.min, "min_rank"), value("most (rank)", (v) => v.max, "max_rank"), textColumn("text", (v) => (v.text === undefined ? null : v.text))], s.performance_variables,
  { caption: "MPI's own counters", filter: name, limit: 30 })];
}

const waitsFor = { "late-sender": "a message to be sent", "late-receiver": "a receive to be posted", "late-broadcast": "the root", "wait-at-nxn": "all ranks, as in Allreduce", "early-reduce": "the last rank to send",
  "early-scan": "the ranks below it", "late-neighbor": "the last neighbour to come", "late-post": "a target's Win_post", "late-complete": "an origin's Win_complete", "lock-contention": "another rank's Win_unlock",
  "wait-for-progress": "a target to call MPI", undecided: "not proven" };

// waitPlaces returns the sums of waits over the ranks, the longest time first.
function waitPlaces(states) {
  const places = new Map();
  for (const w of states) {
    const key = [w.pattern, w.callsite, w.communicator].join("\n");
    const place = places.get(key) || { ...w, count: 0, time_s: 0, ranks: new Set() };
    place.count += w.count;
    place.time_s += w.time_s;
    places.set(key, place);
    place.ranks.add(w.rank);
  }
  return [...places.values()].sort((a, b) => b.time_s - a.time_s);
}

function waitsSection({ job }) {
  const a = job.analysis;
  if (!a) return null;
  const m = a.matching, c = m.collectives, path = a.critical_path, secondsColumn = (head, of) => timeColumn(head, (r) => 1e9 * of(r));
  const total = a.wait_states_total || a.wait_states.length;
  const unmatched = [[m.unmatched_sends, "send"], [m.unmatched_receives, "receive"], [c.incomplete, "collective"]]
    .flatMap(([reasons, noun]) => Object.entries(reasons || {}).map(([why, n]) => `Not matched: ${plural(n, noun)}: ${why}`));
  const gone = (a.partial_ranks || 0) + a.size - a.ranks;
  return [
    h("p", null, `Trace of ${a.ranks < a.size ? `${a.ranks} of ` : ""}${plural(a.size, "rank")}: ${plural(a.events, "event")} in ${seconds(a.runtime_s)}. Matched: ${count(m.matched)} of ${plural(Math.max(m.sent, m.received), "message")}, ${count(c.complete)} of ${plural(c.instances, "collective")}.`),
    a.patterns.length === 0 ? h("p", null, "No rank waited for another.") : table([textColumn("wait", (p) => p.pattern), textColumn("for", (p) => waitsFor[p.pattern] || "the last rank to come"), countColumn("number", (p) => p.count),
      secondsColumn("time", (p) => p.time_s), percentColumn("% of time", (p) => p.share, "of the time of all ranks")], a.patterns, { caption: "Waits by kind, over all ranks" }),
    a.wait_states.length > 0 && table([textColumn("where", (w) => w.callsite), textColumn("wait", (w) => w.pattern), textColumn("communicator", (w) => w.communicator), countColumn("ranks", (w) => w.ranks.size, "ranks that waited"),
      countColumn("number", (w) => w.count), secondsColumn("time", (w) => w.time_s)], waitPlaces(a.wait_states), { caption: "Waits by place", filter: (w) => [w.callsite, w.pattern, w.communicator].join(" "), limit: 12 }),
    a.wait_states.length > 0 && table([textColumn("where", (w) => w.callsite), textColumn("wait", (w) => w.pattern), textColumn("communicator", (w) => w.communicator), countColumn("rank", (w) => w.rank), countColumn("waits for", (w) => w.peer),
      textColumn("which is in", (w) => (w.peer_callsite === w.callsite ? "the same" : w.peer_callsite || null)), countColumn("number", (w) => w.count), secondsColumn("time", (w) => w.time_s), secondsColumn("longest", (w) => w.max_s)], a.wait_states,
    { caption: `The longest waits, by rank and place${total > a.wait_states.length ? `: ${count(a.wait_states.length)} of ${count(total)}` : ""}`, filter: (w) => [w.callsite, w.pattern, w.communicator, w.peer_callsite, "rank " + w.rank].join(" "), limit: 15 }),
    path ? [h("h3", null, `Critical path: ${seconds(path.length_s)} over ${plural(path.ranks.length, "rank")}; ${percent(path.computation_s / (path.length_s || 1))} computing, ${percent(path.mpi_s / (path.length_s || 1))} in MPI`), h("div", { class: "columns" },
      table([countColumn("rank", (r) => r.rank), secondsColumn("time", (r) => r.time_s), percentColumn("% of path", (r) => r.share), secondsColumn("computing", (r) => r.computation_s), secondsColumn("in MPI", (r) => r.mpi_s)], path.ranks, { caption: "Ranks on it", limit: 10 }),
      table([textColumn("where", (r) => r.callsite), textColumn("call", (r) => r.call), secondsColumn("time", (r) => r.time_s), percentColumn("% of path", (r) => r.share)], path.callsites || [], { caption: "Calls on it", filter: (r) => r.callsite, limit: 10 }))]
      : h("p", null, "Efficiencies and the critical path are not known: the traces do not have all calls."),
    bullets([...a.eager_limits.map(eagerText), ...unmatched, m.sizes_differ > 0 && `Of another size than was sent: ${plural(m.sizes_differ, "message")}`, a.clocks && `Clocks of ${plural(a.clocks.hosts.length, "host")} were corrected${a.clocks.backwards ? `; ${plural(a.clocks.backwards, "message")} still arrive before they were sent` : ""}`,
      a.dropped > 0 && `The traces had no room for ${plural(a.dropped, "event")}`, gone > 0 && `The traces of ${plural(gone, "rank")} are not whole: waits for what is not in them are not known`].filter(Boolean)),
  ];
}

function eagerText(l) {
  const where = { self: "of messages of a rank to itself", node: "within nodes", network: "between nodes" }[l.path] || l.path;
  const how = l.variable ? `${plural(l.limit_bytes, "byte")} (${l.variable}); larger messages wait for their receivers`
    : "not recorded" + (l.shown_bytes ? `; messages of up to ${plural(l.shown_bytes, "byte")} did not wait for their receivers` : "");
  return `Eager limit ${where}: ${how}`;
}

function settingsSection({ s, data }) {
  const run = data.run || {};
  return [facts(["timing", { exact: "exact: every call", sampled: "sampled: times are estimates, ± is one standard error", off: "off: calls, messages and bytes are exact" }[s.timing] || s.timing],
    ["nonblocking receives", s.receives === "on" ? "followed" : "not followed: what they received is not known"],
    ["launched by", run.command && h("span", { class: "code" }, run.command.join(" "))], ["in", run.working_directory], ["mpitrace", run.mpitrace]),
  h("div", { class: "columns" },
    (run.settings || []).length > 0 && table([textColumn("setting of mpitrace", (v) => v.name), textColumn("value", (v) => v.value), textColumn("from", (v) => v.set_by || v.source)], run.settings, { caption: "Settings that are not the default" }),
    s.variables.length > 0 && table([textColumn("MPI variable", (v) => v.name), textColumn("value", (v) => v.value), textColumn("from", (v) => v.from), textColumn("ranks", (v) => v.ranks || null), textColumn("refused", (v) => v.refused || null)], s.variables, { caption: "MPI variables that the user set", filter: (v) => v.name }),
    (run.cvars || []).length > 0 && table([textColumn("variable", (v) => v.name), textColumn("value", (v) => v.value), textColumn("default", (v) => v.default)], run.cvars, { caption: "Control variables of the MPI that are not the default", filter: (v) => v.name, limit: 10 }))];
}

// endText tells how a process ended.
function endText(e) {
  return { killed: "killed by " + e.signal, exited: "exited with status " + e.status, ended: "ended", running: e.calls.length ? "still in MPI" : "running", stopped: "stopped by a signal or a debugger" }[e.state] || "not finalized";
}

const peerName = (rank, world) => world >= 0 && world !== rank ? `${rank} (world rank ${world})` : String(rank);

// openCall describes a call that a process was in.
function openCall(c) {
  const role = c.class === "p2p" ? (c.direction === "send" ? "to" : "from") : ["O2A", "A2O"].includes(c.class) ? "root" : "target";
  return ["MPI_" + c.call + (c.error_code === undefined ? "" : `(${c.error_code})`), c.peer === -3 ? "from any source" : c.peer >= 0 && `${role} ${peerName(c.peer, c.world_peer)}`,
    c.source === -3 ? "from any source" : c.source >= 0 && `from ${peerName(c.source, c.world_source)}`, c.requests && "of " + plural(c.requests, "request"), c.communicator && "in " + c.communicator,
    c.bytes !== undefined && (c.bytes > 0 || c.class === "p2p") && `(${c.direction === "recv" ? "up to " : ""}${bytes(c.bytes)})`, c.callsite && "at " + c.callsite.label,
    c.for_s ? `for ${seconds(c.for_s)}` : c.since_s && `since ${c.since_s.toFixed(3)} s`, c.absent && `; not there: ${c.absent}`].filter(Boolean).join(" ");
}

function endsSection({ s }) {
  if (s.ends.length === 0) return null;
  const ring = (r) => (r.length === 1 ? `Deadlock: rank ${r[0]} waits for itself` : r.length === 2 ? `Deadlock: ranks ${r[0]} and ${r[1]} wait for each other` : `Deadlock: rank ${r.concat(r[0]).slice(0, 13).join(" waits for ")}${r.length > 12 ? ` … in a ring of ${r.length} ranks` : ""}`);
  const receives = (e) => (e.open_receives || []).map((r) => h("div", { class: "faint" }, `open: ${count(r.count)} MPI_${r.call} ${r.peer === -3 ? "from any source" : r.peer >= 0 ? "from " + peerName(r.peer, r.world_peer) : ""}${r.communicator ? " in " + r.communicator : ""}${r.callsite ? " at " + r.callsite.label : ""}`));
  const calls = (e) => e.calls.length ? e.calls.map((c) => h("div", null, openCall(c), ((c.callsite && c.callsite.callers) || []).map((p) => h("div", { class: "faint" }, "← " + p.label)))) : `outside MPI; the last call returned at ${e.last_call_s.toFixed(3)} s`;
  return [bullets(s.deadlocks.map(ring)), table([{ head: "rank", numeric: true, value: (e) => e.rank, text: (e) => (e.rank < 0 ? "none" : e.rank) }, textColumn("end", endText),
    { head: "at", numeric: true, value: (e) => e.ended_s || null, text: (e) => (e.ended_s ? e.ended_s.toFixed(3) + " s" : null) }, { head: "in", value: (e) => (e.calls[0] ? e.calls[0].call : ""), text: (e) => h("div", null, calls(e), receives(e)) },
    textColumn("host", (e) => e.host), { head: "process", numeric: true, value: (e) => e.pid }], s.ends, { caption: "Processes without MPI_Finalize, in order of ending: the first is likely to be the cause", filter: (e) => `${e.rank} ${endText(e)} ${e.calls.map(openCall)} ${e.host}` })];
}

function completenessSection({ s, data }) {
  const c = s.conservation, problems = [...s.problems, ...(data.missing || [])];
  const compared = `${plural(c.pairs, "pair")} with ${plural(c.sent.messages, "point-to-point message")} (${bytes(c.sent.bytes)}) compared`;
  const verdict = { ok: `ok: what was sent was received; ${compared}`, partial: c.pairs ? `partial: no difference in ${compared}` : "unknown: no pair could be compared", differs: `sent and received differ for ${plural(c.pairs_differing, "pair")}; ${compared}` };
  const others = c.other_worlds;
  return [
    problems.length === 0 ? h("p", { class: "good" }, "Complete: all ranks finalized, nothing was lost.") : [h("h3", { class: "bad" }, "What does not add up"), bullets(problems)],
    facts(["ranks", `${count(s.ranks_expected)} expected, ${count(s.ranks_recorded)} recorded, ${count(s.ranks_finalized)} finalized`],
      ["conservation", verdict[c.verdict] || (c.pairs ? `${c.verdict}: ${compared}` : "no point-to-point messages")],
      c.abnormal.length > 0 && ["not completed normally", c.abnormal.map((a) => `${count(a.count)} ${a.kind} (${a.ranks})`).join(", ") + (c.pairs_explained ? `; they explain ${plural(c.pairs_explained, "pair")}` : "")],
      ...c.not_compared.map((n) => ["not compared", `${n.pairs ? plural(n.pairs, "pair") + " with " : "from or to "}${n.ranks}: ${n.reason}`]),
      others.sent.messages + others.received.messages > 0 && ["other worlds", `${plural(others.sent.messages, "message")} (${bytes(others.sent.bytes)}) sent, ${count(others.received.messages)} (${bytes(others.received.bytes)}) received`],
      s.untimed_calls > 0 && ["not timed", plural(s.untimed_calls, "call")]),
    c.differing.length > 0 && table([{ head: "from → to", value: (x) => x.from, text: (x) => `${x.from} → ${x.to}` }, countColumn("messages sent", (x) => x.sent.messages), countColumn("received", (x) => x.received.messages),
      countColumn("bytes sent", (x) => x.sent.bytes), countColumn("received", (x) => x.received.bytes)], c.differing, { caption: "Pairs that differ most" }),
  ];
}
