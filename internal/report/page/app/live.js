// The page of `mpitrace view`: it asks the server what the ranks are doing, once a second
// while the page can be seen, and becomes the report when the run has ended.

const liveSamples = 600; // of the chart of rates
const token = new URLSearchParams(location.search).get("token") || "";

// ask returns what the server answers; null if there is nothing new.
async function ask(path, parameters = {}) {
  const answer = await fetch(path + "?" + new URLSearchParams({ ...parameters, token }), { cache: "no-store", credentials: "omit" });
  if (answer.status === 204) return null;
  if (!answer.ok) throw new Error((await answer.text()).trim());
  const value = await answer.json();
  if (value && value.error) throw new Error(value.error);
  return value;
}

// rankSet returns ranks as a query has them: "0-3,8".
const rankSet = (ranks) => rankList(ranks, Infinity).replaceAll("–", "-").replaceAll(" ", "");

served.start = (root) => new LivePage(root).follow();
served.pairs = (from, to) => ask("/pair", { job: served.job, from: rankSet(from), to: rankSet(to) });
served.events = (from, to) => ask("/events", { job: served.job, from: Math.floor(from), to: Math.ceil(to) });

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// seen waits until the page can be seen.
const seen = () => document.visibilityState === "visible" || new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));

class LivePage {
  constructor(root) {
    this.root = root;
    this.index = null; // of the job that the user chose; the latest if null
    this.problem = h("p", { class: "bad", role: "alert" });
    this.body = h("div");
    root.replaceChildren(this.problem, this.body);
  }

  // follow shows one reading after the other until the run has ended.
  async follow() {
    for (let number = 0; ;) {
      await seen();
      try {
        const reading = await ask("/data", { after: number });
        if (!reading) continue;
        this.problem.textContent = reading.problem || "";
        if (reading.finished) return await this.finish();
        number = reading.number;
        await this.show(reading);
      } catch (error) {
        const since = this.reading ? ` What is shown is of ${timeOfDay(this.reading.at)}.` : "";
        this.problem.textContent = error instanceof TypeError ? `The server does not answer: it has ended, or the connection to it. Start mpitrace view again.${since}` : `${error.message}.${since}`;
        await sleep(3000);
      }
    }
  }

  // finish makes the page that of the report.
  async finish() {
    this.problem.textContent = "The run has ended. Making the report …";
    const data = await ask("/report");
    document.title = data.jobs.length ? data.jobs[0].summary.program + " - mpitrace" : "mpitrace";
    showJob(this.root, data, Math.min(this.index || 0, Math.max(0, data.jobs.length - 1)));
    tellReady();
  }

  async show(reading) {
    const { jobs } = this.reading = reading;
    if (jobs.length === 0) {
      this.body.replaceChildren(notice("No rank has called MPI_Init yet."));
      this.shown = null;
      return tellReady();
    }
    served.job = Math.min(this.index ?? Infinity, jobs.length - 1);
    const job = jobs[served.job], rows = rowsOf(job);
    if (this.shown !== shape(reading, job)) this.build(reading, job, rows);
    this.shown = shape(reading, job);
    this.update(reading, job, rows);
    if (job.matrices && job.matrices !== this.matrices) await this.showMatrices(job);
    tellReady();
  }

  // build makes the elements of a job, which update fills.
  build(reading, job, rows) {
    redraws.length = highlight.listeners.length = 0;
    highlight.ranks = null;
    this.rates = [];
    this.matrices = this.matrix = null;
    this.facts = h("p", { class: "facts", id: "live-facts" });
    this.notices = h("div", { "aria-live": "polite", id: "live-notices" });
    this.chart = new RateChart();
    this.groups = table(groupColumns, groupsOf(rows), { caption: "What ranks are doing", limit: 8 });
    this.ranks = table(rankColumns(rows), rows, { caption: "Ranks", limit: 25, filter: (r) => [r.rank, r.host, r.state, r.call, r.site, r.waits, r.hanging && "hanging"].join(" ") });
    this.pairs = h("section", { class: "pairs", "aria-label": "Matrix" }, h("p", { class: "faint" }, "No rank has sent anything to another yet."));
    const pick = reading.jobs.length > 1 && choice("job", reading.jobs.map((j, i) => [String(i), `${i + 1}: ${j.status.program}`]), String(served.job), (i) => { this.index = Number(i); this.shown = null; this.show(this.reading); });
    this.body.replaceChildren(
      h("header", { class: "head" }, h("div", null, h("h1", null, job.status.program), this.facts, pick), themeButton()), this.notices,
      h("div", { class: "first" }, h("section", { class: "efficiency", "aria-label": "Rates" }, this.chart.element),
        h("section", { "aria-label": "Calls" }, this.groups, markedLine()), this.pairs),
      h("section", { class: "part", "aria-label": "Ranks" }, this.ranks));
    document.title = job.status.program + " (running) - mpitrace";
  }

  update(reading, job, rows) {
    const { status: s, totals } = job;
    const counts = [[s.processes_running, "running"], [s.processes_stopped, "stopped"], [s.processes_unknown, "on other nodes"], [s.processes_ended, "ended without MPI_Finalize"], [s.ranks_finalized, "finalized"]];
    this.facts.replaceChildren(...["live, read at " + timeOfDay(reading.at), plural(s.ranks_expected, "rank"), s.age_s > 0 && `begun ${duration(1e9 * s.age_s)} ago`,
      ...counts.map(([n, what]) => n > 0 && `${count(n)} ${what}`), s.missing && `${s.missing}: no recording here`,
      `${plural(totals.calls, "call")}, ${plural(totals.messages, "message")}, ${bytes(totals.bytes)} sent so far`].filter(Boolean).map((f) => h("span", null, f)));
    const lines = [...s.deadlocks.map((ring) => `Deadlock: ${[...ring, ring[0]].join(" waits for ")}.`), job.hanging && `In one call for more than 5 s: ${job.hanging}.`,
      s.processes.length < job.processes_total && `The tables have the first ${count(s.processes.length)} of ${plural(job.processes_total, "process")}.`].filter(Boolean);
    if (this.notices.textContent !== lines.join("")) this.notices.replaceChildren(...lines.map(notice));
    if (job.rates) this.chart.add(job.rates);
    this.groups.setRows(groupsOf(rows));
    this.ranks.setRows(rows);
  }

  async showMatrices(job) {
    const found = await ask("/matrices", { job: served.job });
    this.matrices = job.matrices;
    const ranks = found.ranks, known = ranks && ranks.rank.length;
    if (this.matrix && this.known === known) return this.matrix.updateSheets(found.sheets);
    if (found.sheets.length === 0) return;
    this.known = known;
    this.matrix = matrixView({ sheets: found.sheets, ranks, pairs: served.pairs });
    this.pairs.replaceChildren(this.matrix);
  }
}

// shape is what must not change between readings that are shown in the same elements.
function shape(reading, job) {
  const rows = job.status.processes;
  return [reading.jobs.map((j) => j.status.run), rows.length > 5, new Set(rows.map((e) => e.host)).size > 1, job.waits.some((w) => w.age_s !== undefined)].join("\n");
}

const timeOfDay = (at) => new Date(at).toLocaleTimeString("en-GB");

// rowsOf returns the processes of a job as rows of the table of ranks. Of several threads it
// shows the call that is open for the longest time.
function rowsOf({ status, waits }) {
  return status.processes.map((e, i) => {
    const call = e.calls.reduce((a, c) => (a && (a.for_s || 0) >= (c.for_s || 0) ? a : c), null);
    const { for: whom = "", hanging = false, age_s: age = null } = waits[i];
    return { rank: e.rank, host: e.host, state: stateText(e), call: call ? callText(call) : "outside MPI", site: call && call.callsite ? call.callsite.label : null, waits: whom, hanging, age,
      seconds: call ? call.for_s || null : e.alive_s ? Math.max(0, e.alive_s - e.last_call_s) : null, threads: e.calls.length };
  });
}

function stateText(e) {
  const states = { running: "running", stopped: "stopped", unknown: "on another node", ended: "ended", killed: "killed by " + e.signal, exited: "exited with status " + e.status };
  return states[e.state] || e.state;
}

// callText returns, for example, "MPI_Recv from rank 1 in MPI_COMM_WORLD".
function callText(c) {
  const name = (rank) => (rank >= 0 ? "rank " + rank : rank === -3 ? "any source" : null), peer = name(c.world_peer), source = name(c.world_source);
  const collective = c.absent !== undefined || ["O2A", "A2O", "A2A"].includes(c.class);
  const whom = [peer && (collective ? "root " : { recv: "from ", read: "from ", send: "to ", write: "to " }[c.direction] || "with ") + peer, source && "from " + source].filter(Boolean).join(", ");
  return "MPI_" + [c.call, whom, c.requests && "of " + plural(c.requests, "request"), c.communicator && "in " + c.communicator].filter(Boolean).join(" ");
}

// groupsOf returns the processes that are in the same state and call at the same place, those
// that ended first, then the longest wait.
function groupsOf(rows) {
  const groups = new Map();
  for (const r of rows) {
    const key = [r.state, r.call.replace(/ (from|to|with) (rank \d+|any source).*?(?= of | in |$)/, ""), r.site].join("\n");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(r);
  }
  return [...groups.values()].map((list) => {
    const waits = [...new Set(list.map((r) => r.waits).filter(Boolean))];
    const shortest = Math.min(...list.map((r) => r.seconds || 0)), longest = list.reduce((most, r) => Math.max(most, r.seconds || 0), 0), calls = new Set(list.map((r) => r.call));
    return { ranks: list.map((r) => r.rank).filter((rank) => rank >= 0), n: list.length, state: list[0].state, site: list[0].site, shortest, longest, hanging: list.filter((r) => r.hanging).length,
      call: calls.size === 1 ? list[0].call : list[0].call.replace(/(from|to|with) rank \d+/, "$1 each other's ranks").replace("each other's ranks", "several ranks"),
      waits: waits.length > 3 ? [...waits.slice(0, 3), "…"].join("; ") : waits.join("; ") };
  }).sort((a, b) => (b.state !== "running") - (a.state !== "running") || b.longest - a.longest);
}

const forText = (seconds) => (seconds === null ? null : duration(1e9 * seconds));
const hangingText = (text, hanging) => h("span", { class: hanging && "bad", title: hanging && "in one call for more than 5 s" }, text, hanging && " (hanging)");

const groupColumns = [
  { head: "ranks", value: (g) => g.ranks[0] ?? null, text: (g) => h("button", { type: "button", title: "Mark these ranks in the matrix", onclick: () => setHighlight(toggled(g.ranks)) }, g.ranks.length ? rankList(g.ranks) : plural(g.n, "process")) },
  { head: "state", value: (g) => g.state }, { head: "call", value: (g) => g.call }, { head: "at", value: (g) => g.site }, { head: "waits for", value: (g) => g.waits || null },
  { head: "for", numeric: true, value: (g) => g.longest, text: (g) => hangingText(forText(g.shortest) === forText(g.longest) ? forText(g.longest) : `${forText(g.shortest)} to ${forText(g.longest)}`, g.hanging > 0) },
];

function rankColumns(rows) {
  const hosts = new Set(rows.map((r) => r.host)).size > 1, ages = rows.some((r) => r.age !== null);
  return [{ head: "rank", numeric: true, value: (r) => r.rank }, hosts && textColumn("host", (r) => r.host), textColumn("state", (r) => r.state), textColumn("call", (r) => r.call + (r.threads > 1 ? ` (one of ${r.threads} threads in MPI)` : "")),
    textColumn("at", (r) => r.site), textColumn("waits for", (r) => r.waits || null), { head: "for", numeric: true, value: (r) => r.seconds, text: (r) => hangingText(forText(r.seconds) || "–", r.hanging) },
    ages && { head: "known", numeric: true, note: "Age of what is known of a rank on another node", value: (r) => r.age, text: (r) => (r.age === null ? null : forText(r.age) + " ago") }].filter(Boolean);
}

// RateChart draws a rate of all ranks over the last readings.
class RateChart {
  constructor() {
    this.samples = [];
    this.quantity = "bytes_per_s";
    this.text = h("span", { id: "live-rates" });
    this.canvas = canvas({ class: "chart", role: "img", "aria-label": "Rate of all ranks over the last readings. The text above has the latest values." }, (...args) => this.draw(...args));
    this.canvas.style.height = "70px";
    this.element = h("div", null, h("div", { class: "controls" }, this.text, choice("show", [["bytes_per_s", "bytes/s"], ["messages_per_s", "messages/s"], ["calls_per_s", "calls/s"]], this.quantity, (q) => { this.quantity = q; this.canvas.redraw(); })), this.canvas);
  }

  add(rates) {
    this.samples = [...this.samples, rates].slice(-liveSamples);
    this.text.textContent = ["bytes_per_s", "messages_per_s", "calls_per_s"].map((q) => rateText(rates[q], q)).join(" · ");
    this.canvas.redraw();
  }

  draw(context, width, height) {
    const left = 90, values = this.samples.map((s) => s[this.quantity]), most = values.reduce((a, b) => Math.max(a, b), 0) || 1;
    const total = this.samples.reduce((sum, s) => sum + s.over_s, 0) || 1, line = new Path2D();
    let x = left;
    this.samples.forEach((s, i) => { // each rate is that of a time before its reading
      const y = height - 4 - values[i] / most * (height - 12);
      line.lineTo(x, y);
      line.lineTo(x += s.over_s / total * (width - left), y);
    });
    Object.assign(context, { strokeStyle: cssColor("--accent"), lineWidth: 1.5, fillStyle: cssColor("--faint"), font: "11px system-ui, sans-serif", textAlign: "right" });
    context.stroke(line);
    context.fillText(rateText(most, this.quantity), left - 6, 14);
    context.fillText("0", left - 6, height - 4);
    context.fillRect(left, height - 2, width - left, 1);
  }
}

const rateText = (value, quantity) => (quantity === "bytes_per_s" ? bytes(Math.round(value)) + "/s" : `${number(value < 100 ? value : Math.round(value))} ${quantity === "calls_per_s" ? "calls" : "messages"}/s`);
