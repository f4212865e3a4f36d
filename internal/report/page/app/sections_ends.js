// The sections about how ranks ended, and whether the record is complete.

// endText tells how a process ended.
function endText(e) {
  return {
    killed: "killed by " + e.signal, exited: "exited with status " + e.status, ended: "ended",
    running: e.calls.length ? "still in MPI" : "running", stopped: "stopped by a signal or a debugger",
  }[e.state] || "not finalized; it is not known whether it runs";
}

const peerName = (rank, world) => world >= 0 && world !== rank ? `${rank} (world rank ${world})` : String(rank);

// openCall describes a call that a process was in.
function openCall(c) {
  const isRooted = ["O2A", "A2O"].includes(c.class), pointToPoint = c.class === "p2p";
  const role = pointToPoint ? (c.direction === "send" ? "to" : "from") : isRooted ? "root" : "target";
  return [
    "MPI_" + c.call + (c.error_code === undefined ? "" : `(${c.error_code})`),
    c.peer === -3 ? "from any source" : c.peer >= 0 && `${role} ${peerName(c.peer, c.world_peer)}`,
    c.source === -3 ? "from any source" : c.source >= 0 && `from ${peerName(c.source, c.world_source)}`,
    c.requests && "of " + plural(c.requests, "request"),
    c.communicator && "in " + c.communicator,
    c.bytes !== undefined && (c.bytes > 0 || pointToPoint) &&
      `(${c.direction === "recv" ? "up to " : ""}${bytes(c.bytes)})`,
    c.callsite && "at " + c.callsite.label,
    c.for_s ? `for ${seconds(c.for_s)}` : c.since_s && `since ${c.since_s.toFixed(3)} s`,
    c.absent && `; not there: ${c.absent}`,
  ].filter(Boolean).join(" ");
}

// openReceives describes receives that were posted and not completed.
function openReceives(r) {
  const source = r.peer === -3 ? "from any source" : r.peer >= 0 ? "from " + peerName(r.peer, r.world_peer) : "";
  return `open: ${count(r.count)} MPI_${r.call} ${source}` +
    (r.communicator ? " in " + r.communicator : "") + (r.callsite ? " at " + r.callsite.label : "");
}

// deadlockText describes ranks of which each waits for the next, and the last for the first.
function deadlockText(ring) {
  if (ring.length === 1) return `Deadlock: rank ${ring[0]} waits for itself`;
  if (ring.length === 2) return `Deadlock: ranks ${ring[0]} and ${ring[1]} wait for each other`;
  return `Deadlock: rank ${ring.concat(ring[0]).slice(0, 13).join(" waits for ")}` +
    (ring.length > 12 ? ` … in a ring of ${ring.length} ranks` : "");
}

function endsSection({ s }) {
  if (s.ends.length === 0) return null;
  const calls = (e) => e.calls.length
    ? e.calls.map((c) => h("div", null, openCall(c), callerLines(c.callsite || {})))
    : `outside MPI; the last call returned at ${e.last_call_s.toFixed(3)} s`;
  const receives = (e) => (e.open_receives || []).map((r) => h("div", { class: "faint" }, openReceives(r)));
  const at = (e) => (e.ended_s ? e.ended_s.toFixed(3) + " s" : null);
  const callName = (e) => (e.calls[0] ? e.calls[0].call : "");
  const rank = (e) => (e.rank < 0 ? "none" : e.rank);
  return [bullets(s.deadlocks.map(deadlockText)), table([
    { head: "rank", numeric: true, value: (e) => e.rank, text: rank }, textColumn("end", endText),
    { head: "at", numeric: true, value: (e) => e.ended_s || null, text: at },
    { head: "in", value: callName, text: (e) => h("div", null, calls(e), receives(e)) },
    textColumn("host", (e) => e.host), { head: "process", numeric: true, value: (e) => e.pid },
  ], s.ends, {
    caption: "Processes without MPI_Finalize, in order of ending: the first is likely to be the cause",
    filter: (e) => `${e.rank} ${endText(e)} ${e.calls.map(openCall)} ${e.host}`,
  })];
}

function completenessSection({ s, data }) {
  const problems = [...s.problems, ...(data.missing || [])], { differing } = s.conservation;
  return [
    problems.length === 0
      ? h("p", { class: "good" }, "Complete: all ranks finalized, nothing was lost.")
      : [h("h3", { class: "bad" }, "What does not add up"), bullets(problems)],
    completenessFacts(s),
    s.messages && [h("h3", null, "Messages of processes whose standard error was closed or replaced"),
      bullets(Object.entries(s.messages).map(([line, n]) => `${plural(n, "process")}: ${line}`))],
    differing.length > 0 && table([
      { head: "from → to", value: (x) => x.from, text: (x) => `${x.from} → ${x.to}` },
      countColumn("messages sent", (x) => x.sent.messages), countColumn("received", (x) => x.received.messages),
      countColumn("bytes sent", (x) => x.sent.bytes), countColumn("received", (x) => x.received.bytes),
    ], differing, { caption: "Pairs that differ most" }),
  ];
}

function completenessFacts(s) {
  const c = s.conservation, { sent, received } = c.other_worlds;
  const abnormal = c.abnormal.map((a) => `${count(a.count)} ${a.kind} (${a.ranks})`).join(", ");
  const explained = c.pairs_explained ? `; they explain ${plural(c.pairs_explained, "pair")}` : "";
  const whose = (n) => (n.pairs ? plural(n.pairs, "pair") + " with " : "from or to ");
  return facts(
    ["ranks", `${count(s.ranks_expected)} expected, ${count(s.ranks_recorded)} recorded, ` +
      `${count(s.ranks_finalized)} finalized`],
    ["conservation", conservationText(c)],
    c.abnormal.length > 0 && ["not completed normally", abnormal + explained],
    ...c.not_compared.map((n) => ["not compared", `${whose(n)}${n.ranks}: ${n.reason}`]),
    sent.messages + received.messages > 0 && ["other worlds",
      `${plural(sent.messages, "message")} (${bytes(sent.bytes)}) sent, ` +
      `${count(received.messages)} (${bytes(received.bytes)}) received`],
    s.untimed_calls > 0 && ["not timed", plural(s.untimed_calls, "call")]);
}

// conservationText says whether ranks received what others sent them.
function conservationText(c) {
  const messages = `${plural(c.sent.messages, "point-to-point message")} (${bytes(c.sent.bytes)})`;
  const compared = `${plural(c.pairs, "pair")} with ${messages} compared`;
  switch (c.verdict) {
    case "ok": return `ok: what was sent was received; ${compared}`;
    case "partial": return c.pairs ? `partial: no difference in ${compared}` : "unknown: no pair could be compared";
    case "differs": return `sent and received differ for ${plural(c.pairs_differing, "pair")}; ${compared}`;
  }
  return c.pairs ? `${c.verdict}: ${compared}` : "no point-to-point messages";
}
