// The section Waits: what the trace says about ranks that waited for others.

const waitsFor = {
  "late-sender": "a message to be sent", "late-receiver": "a receive to be posted",
  "late-broadcast": "the root", "wait-at-nxn": "all ranks, as in Allreduce",
  "early-reduce": "the last rank to send", "early-scan": "the ranks below it",
  "late-neighbor": "the last neighbour to come", "late-post": "a target's Win_post",
  "late-complete": "an origin's Win_complete", "lock-contention": "another rank's Win_unlock",
  "wait-for-progress": "a target to call MPI", undecided: "not proven",
};

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
  return [
    h("p", null, traceText(a)),
    a.patterns.length === 0 ? h("p", null, "No rank waited for another.") : patternTable(a.patterns),
    a.wait_states.length > 0 && [waitPlaceTable(a), longestWaitTable(a)],
    a.critical_path && !a.pop && h("p", null, "Efficiencies are not known: no rank finalized."),
    a.critical_path ? criticalPath(a.critical_path)
      : h("p", null, "Efficiencies and the critical path are not known: the traces do not have all calls."),
    bullets(traceNotes(a)),
  ];
}

// traceText tells what was traced and how much of it was matched.
function traceText({ ranks, size, events, runtime_s, matching: m }) {
  const of = `${ranks < size ? `${ranks} of ` : ""}${plural(size, "rank")}`;
  const messages = `${count(m.matched)} of ${plural(Math.max(m.sent, m.received), "message")}`;
  const collectives = `${count(m.collectives.complete)} of ${plural(m.collectives.instances, "collective")}`;
  return `Trace of ${of}: ${plural(events, "event")} in ${seconds(runtime_s)}. Matched: ${messages}, ${collectives}.`;
}

const secondsColumn = (head, of) => timeColumn(head, (r) => 1e9 * of(r));

function patternTable(patterns) {
  return table([
    textColumn("wait", (p) => p.pattern), textColumn("for", (p) => waitsFor[p.pattern] || "the last rank to come"),
    countColumn("number", (p) => p.count), secondsColumn("time", (p) => p.time_s),
    percentColumn("% of time", (p) => p.share, "of the time of all ranks"),
  ], patterns, { caption: "Waits by kind, over all ranks" });
}

const placeColumns = () => textColumns({ where: "callsite", wait: "pattern", communicator: "communicator" });
const placeText = (w) => [w.callsite, w.pattern, w.communicator].join(" ");

function waitPlaceTable(a) {
  return table([
    placeColumns(), countColumn("ranks", (w) => w.ranks.size, "ranks that waited"),
    countColumn("number", (w) => w.count), secondsColumn("time", (w) => w.time_s),
  ], waitPlaces(a.wait_states), { caption: `Waits by place${waitPart(a)}`, filter: placeText, limit: 12 });
}

const waitPart = ({ wait_states: { length: n }, wait_states_total: total }) =>
  (total > n ? `: the longest ${count(n)} of ${count(total)}` : "");

function longestWaitTable(a) {
  return table([
    placeColumns(), countColumn("rank", (w) => w.rank), countColumn("waits for", (w) => w.peer),
    textColumn("which is in", (w) => (w.peer_callsite === w.callsite ? "the same" : w.peer_callsite || null)),
    countColumn("number", (w) => w.count), secondsColumn("time", (w) => w.time_s),
    secondsColumn("longest", (w) => w.max_s),
  ], a.wait_states, { caption: `The longest waits, by rank and place${waitPart(a)}`, limit: 15,
    filter: (w) => [placeText(w), w.peer_callsite, "rank " + w.rank].join(" ") });
}

function criticalPath(path) {
  const share = (part) => percent(part / (path.length_s || 1));
  return [
    h("h3", null, `Critical path: ${seconds(path.length_s)} over ${plural(path.ranks.length, "rank")}; ` +
      `${share(path.computation_s)} computing, ${share(path.mpi_s)} in MPI`),
    h("div", { class: "columns" },
      table([
        countColumn("rank", (r) => r.rank), secondsColumn("time", (r) => r.time_s),
        percentColumn("% of path", (r) => r.share), secondsColumn("computing", (r) => r.computation_s),
        secondsColumn("in MPI", (r) => r.mpi_s),
      ], path.ranks, { caption: "Ranks on it", limit: 10 }),
      table([
        textColumn("where", (r) => r.callsite), textColumn("call", (r) => r.call),
        secondsColumn("time", (r) => r.time_s), percentColumn("% of path", (r) => r.share),
      ], path.callsites || [], { caption: "Calls on it", filter: (r) => r.callsite, limit: 10 })),
  ];
}

// traceNotes returns what limits an analysis: eager limits, what was not matched or not traced.
function traceNotes(a) {
  const { matching: m } = a, gone = (a.partial_ranks || 0) + a.size - a.ranks;
  const unmatched = (reasons, noun) =>
    Object.entries(reasons || {}).map(([why, n]) => `Not matched: ${plural(n, noun)}: ${why}`);
  return [
    ...a.eager_limits.map(eagerText), ...unmatched(m.unmatched_sends, "send"),
    ...unmatched(m.unmatched_receives, "receive"), ...unmatched(m.collectives.incomplete, "collective"),
    m.sizes_differ > 0 && `Of another size than was sent: ${plural(m.sizes_differ, "message")}`,
    ...(a.clock_notes || []).map((note) => note[0].toUpperCase() + note.slice(1)),
    a.dropped > 0 && `The traces had no room for ${plural(a.dropped, "event")}`,
    gone > 0 && `The traces of ${plural(gone, "rank")} are not whole: waits for what is not in them are not known`,
  ].filter(Boolean);
}

const eagerPaths = { self: "of messages of a rank to itself", node: "within nodes", network: "between nodes" };

function eagerText(l) {
  const unknown = l.shown_bytes
    ? `; messages of up to ${plural(l.shown_bytes, "byte")} did not wait for their receivers` : "";
  const how = l.variable
    ? `${plural(l.limit_bytes, "byte")} (${l.variable}); larger messages wait for their receivers`
    : "not recorded" + unknown;
  return `Eager limit ${eagerPaths[l.path] || l.path}: ${how}`;
}
