// The page of `mpitrace view`: it asks the server what the ranks are doing, once a second
// while the page can be seen, and becomes the report when the run has ended.

const liveSamples = 600; // of the chart of rates
const retryAfter = 3000; // ms
const token = new URLSearchParams(location.search).get("token") || "";

// ServerError says why the server gave no answer. It is final if asking again is of no use.
class ServerError extends Error {
  constructor(message, final = false) {
    super(message);
    this.final = final;
  }
}

const noServer = "The server does not answer: it has ended, or the connection to it has. " +
  "Start mpitrace view again, and open the address that it prints";

// ask returns what the server answers; null if there is nothing new.
async function ask(path, parameters = {}) {
  const query = new URLSearchParams({ ...parameters, token });
  const failed = () => { throw new ServerError(noServer); };
  const answer = await fetch(path + "?" + query, { cache: "no-store", credentials: "omit" }).catch(failed);
  if (answer.status === 204) return null;
  if (!answer.ok) throw new ServerError((await answer.text()).trim());
  const value = await answer.json().catch(failed);
  if (value && value.error) throw new ServerError(value.error, true);
  return value;
}

// rankSet returns ranks as a query has them: "0-3,8".
const rankSet = (ranks) => rankList(ranks, Infinity).replaceAll("–", "-").replaceAll(" ", "");

served.start = (root) => new LivePage(root).follow();
served.pairs = (from, to) => ask("/pair", { job: served.job, from: rankSet(from), to: rankSet(to) });
served.events = (from, to) => ask("/events", { job: served.job, from: Math.floor(from), to: Math.ceil(to) });

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// visible waits until the page can be seen.
async function visible() {
  while (document.visibilityState !== "visible") {
    await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

class LivePage {
  constructor(root) {
    this.root = root;
    this.index = null; // of the job that the user chose; null for the latest
    this.problem = h("p", { class: "bad", role: "alert" });
    this.body = h("div");
    root.replaceChildren(this.problem, this.body);
  }

  // follow shows one reading after the other until the run has ended.
  async follow() {
    for (let number = 0; ;) {
      await visible();
      try {
        const reading = await ask("/data", { after: number });
        if (!reading) continue;
        this.problem.textContent = reading.problem || "";
        if (reading.finished) return await this.finish();
        number = reading.number;
        await this.show(reading);
      } catch (error) {
        if (!(error instanceof ServerError)) throw error;
        const since = this.reading ? ` What is shown is of ${timeOfDay(this.reading.at)}.` : "";
        this.problem.textContent = error.message + "." + since;
        if (error.final) return tellReady();
        await sleep(retryAfter);
      }
    }
  }

  // finish makes the page that of the report.
  async finish() {
    this.problem.textContent = "The run has ended. Making the report …";
    const data = await ask("/report"), last = Math.max(0, data.jobs.length - 1);
    document.title = data.jobs.length ? plain(data.jobs[0].title) + " - mpitrace" : "mpitrace";
    showJob(this.root, data, Math.min(this.index ?? last, last));
    tellReady();
  }

  async show(reading) {
    const { jobs } = this.reading = reading;
    if (jobs.length === 0) {
      this.body.replaceChildren(notice("No rank has called MPI_Init yet."));
      this.shown = null;
      return tellReady();
    }
    const job = jobs.find((j) => j.index === this.index) || jobs[jobs.length - 1];
    served.job = job.index;
    const rows = rowsOf(job), shape = shapeOf(reading, job);
    if (this.shown !== shape) this.build(reading, job, rows);
    this.shown = shape;
    this.update(reading, job, rows);
    if (job.matrices && job.matrices !== this.matrices) await this.showMatrices(job);
    tellReady();
  }

  // build makes the elements of a job, which update fills.
  build(reading, job, rows) {
    redraws.length = highlight.listeners.length = 0;
    highlight.ranks = null;
    this.matrices = this.matrix = null;
    this.facts = h("p", { class: "facts", id: "live-facts" });
    this.notices = h("div", { "aria-live": "polite", id: "live-notices" });
    this.chart = new RateChart();
    this.groups = table(groupColumns(), groupsOf(rows), { caption: "What ranks are doing", limit: 8 });
    this.ranks = table(rankColumns(rows), rows, { caption: "Ranks", limit: 25, filter: filterText });
    this.pairs = h("section", { class: "pairs", "aria-label": "Matrix" },
      h("p", { class: "faint" }, "No rank has sent anything to another yet."));
    this.body.replaceChildren(
      h("header", { class: "head" },
        h("div", null, h("h1", null, job.status.program), this.facts, this.jobChoice(reading)),
        themeButton()),
      this.notices,
      h("div", { class: "first" },
        h("section", { class: "efficiency", "aria-label": "Rates" }, this.chart.element),
        h("section", { "aria-label": "Calls" }, this.groups, markedLine()),
        this.pairs),
      h("section", { class: "part", "aria-label": "Ranks" }, this.ranks));
    document.title = plain(job.status.program) + " (running) - mpitrace";
  }

  // jobChoice returns the choice of a job if the run has several.
  jobChoice({ jobs }) {
    const options = jobs.map((j) => [String(j.index), `${j.index + 1}: ${j.status.program}`]);
    return jobs.length > 1 && choice("job", options, String(served.job), (i) => {
      this.index = Number(i);
      this.shown = null;
      this.show(this.reading);
    });
  }

  update(reading, job, rows) {
    const facts = factsOf(reading, job).filter(Boolean), lines = noticesOf(job).filter(Boolean);
    this.facts.replaceChildren(...facts.map((f) => h("span", null, f)));
    if (this.notices.textContent !== lines.join("")) this.notices.replaceChildren(...lines.map(notice));
    if (job.rates) this.chart.add(job.rates);
    this.groups.setRows(groupsOf(rows));
    this.ranks.setRows(rows);
  }

  async showMatrices(job) {
    const { sheets, ranks } = await ask("/matrices", { job: served.job }), known = ranks && ranks.rank.length;
    this.matrices = job.matrices;
    if (this.matrix && this.known === known) return this.matrix.updateSheets(sheets);
    if (sheets.length === 0) return;
    this.known = known;
    this.matrix = matrixView({ sheets, ranks, pairs: served.pairs });
    this.pairs.replaceChildren(this.matrix);
  }
}

// shapeOf returns what has to be equal in readings that are shown in the same elements.
function shapeOf({ jobs }, { status, waits }) {
  const list = status.processes, hosts = new Set(list.map((e) => e.host));
  const there = [list.length > 5, hosts.size > 1, waits.some((w) => w.age_s !== undefined)];
  return JSON.stringify([jobs.map((j) => j.status.run), served.job, there]);
}

const timeOfDay = (at) => new Date(at).toLocaleTimeString("en-GB");

function factsOf({ at }, { status: s, totals }) {
  const counts = [[s.processes_running, "running"], [s.processes_stopped, "stopped"],
    [s.processes_unknown, "not visible from here"], [s.processes_ended, "ended without MPI_Finalize"],
    [s.ranks_finalized, "finalized"]];
  const sent = [plural(totals.calls, "call"), plural(totals.messages, "message"), bytes(totals.bytes) + " sent so far"];
  return ["live, read at " + timeOfDay(at), plural(s.ranks_expected, "rank"),
    s.age_s > 0 && `begun ${duration(1e9 * s.age_s)} ago`, ...counts.map(([n, what]) => n > 0 && `${count(n)} ${what}`),
    s.missing && `${s.missing}: no recording here`, sent.join(", ")];
}

function noticesOf({ status: s, hanging, processes_total: total }) {
  const rings = s.deadlocks.slice(0, 4).map((ring) => {
    const some = ring.length > 12 ? [...ring.slice(0, 10), `… (${count(ring.length)} ranks)`] : ring;
    return `Deadlock: ${[...some, ring[0]].join(" waits for ")}.`;
  });
  const shown = s.processes.length;
  return [...rings, s.deadlocks.length > 4 && `And ${plural(s.deadlocks.length - 4, "more deadlock")}.`,
    hanging && `In one call for more than 5 s: ${hanging}.`,
    shown < total && `The tables have the first ${count(shown)} of ${plural(total, "process")}.`];
}

// rowsOf returns the processes of a job as rows of the table of ranks. Of several threads it
// shows the call that is open for the longest time.
function rowsOf({ status, waits }) {
  return status.processes.map((e, i) => {
    const call = e.calls.reduce((a, c) => (a && (a.for_s || 0) >= (c.for_s || 0) ? a : c), null);
    const { for: whom = "", hanging = false, age_s: age = null } = waits[i];
    const outside = e.alive_s ? Math.max(0, e.alive_s - e.last_call_s) : null;
    return { rank: e.rank, host: e.host, state: stateText(e), ...callParts(call), site: call?.callsite?.label,
      waits: whom, hanging, age, seconds: call ? call.for_s || null : outside, threads: e.calls.length };
  });
}

function stateText({ state, signal, status }) {
  const words = { unknown: "not visible from here", killed: "killed by " + signal,
    exited: "exited with status " + status };
  return words[state] || state;
}

// callParts returns, for example, "MPI_Recv", "from rank 1" and "in MPI_COMM_WORLD".
function callParts(c) {
  if (!c) return { call: "outside MPI", whom: "", where: "" };
  const name = (rank) => (rank >= 0 ? "rank " + rank : rank === -3 ? "any source" : null);
  const collective = ["O2A", "A2O", "A2A"].includes(c.class);
  const peer = name(c.world_peer), source = name(c.world_source);
  const verb = collective ? "root" : { recv: "from", read: "from", send: "to", write: "to" }[c.direction] || "with";
  const whom = [peer && verb + " " + peer, source && "from " + source].filter(Boolean).join(", ");
  const where = [c.requests && "of " + plural(c.requests, "request"), c.communicator && "in " + c.communicator];
  return { call: "MPI_" + c.call, whom, where: where.filter(Boolean).join(" ") };
}

const callText = ({ call, whom, where, threads }) =>
  [call, whom, where, threads > 1 && `(one of ${threads} threads in MPI)`].filter(Boolean).join(" ");

const filterText = (r) => [r.rank, r.host, r.state, callText(r), r.site, r.waits, r.hanging && "hanging"].join(" ");

// groupsOf returns the processes that are in the same state and call at the same place: those
// that ended first, then the longest wait.
function groupsOf(rows) {
  const groups = new Map();
  for (const r of rows) {
    const key = JSON.stringify([r.state, r.call, r.where, r.site]);
    groups.set(key, (groups.get(key) || []));
    groups.get(key).push(r);
  }
  const order = (a, b) => (b.state !== "running") - (a.state !== "running") || b.longest - a.longest;
  return [...groups.values()].map(groupOf).sort(order);
}

function groupOf(list) {
  const { state, call, where, site } = list[0], distinct = (of) => [...new Set(list.map(of).filter(Boolean))];
  const waits = distinct((r) => r.waits), whom = distinct((r) => r.whom);
  const times = list.map((r) => r.seconds).filter((s) => s !== null).sort((a, b) => a - b);
  return { ranks: list.map((r) => r.rank).filter((rank) => rank >= 0), n: list.length, state, site,
    text: callText({ call, where, whom: whom.length > 1 ? "with several ranks" : whom[0] }),
    waits: waits.length > 3 ? waits.slice(0, 3).join("; ") + "; …" : waits.join("; "),
    shortest: times[0] ?? null, longest: times[times.length - 1] ?? null, hanging: list.some((r) => r.hanging) };
}

const forText = (seconds) => (seconds === null ? "–" : duration(1e9 * seconds));

function waitText(text, hanging) {
  return hanging ? h("span", { class: "bad", title: "in one call for more than 5 s" }, text + " (hanging)") : text;
}

function groupRanks({ ranks, n }) {
  const mark = () => setHighlight(toggled(ranks));
  const button = h("button", { type: "button", title: "Mark these ranks in the matrix", onclick: mark },
    ranks.length ? rankList(ranks) : plural(n, "process"));
  button.style.whiteSpace = "nowrap";
  return button;
}

function groupTime({ shortest, longest, hanging }) {
  const [low, high] = [shortest, longest].map(forText);
  return waitText(low === high ? low : `${low} to ${high}`, hanging);
}

const groupColumns = () => [
  { head: "ranks", value: (g) => g.ranks[0], text: groupRanks }, textColumn("state", (g) => g.state),
  textColumn("call", (g) => g.text), textColumn("at", (g) => g.site), textColumn("waits for", (g) => g.waits || null),
  { head: "for", numeric: true, value: (g) => g.longest, text: groupTime }];

function rankColumns(rows) {
  const hosts = new Set(rows.map((r) => r.host)).size > 1, ages = rows.some((r) => r.age !== null);
  return [{ head: "rank", numeric: true, value: (r) => r.rank }, hosts && textColumn("host", (r) => r.host),
    textColumn("state", (r) => r.state), textColumn("call", callText), textColumn("at", (r) => r.site),
    textColumn("waits for", (r) => r.waits || null),
    { head: "for", numeric: true, value: (r) => r.seconds, text: (r) => waitText(forText(r.seconds), r.hanging) },
    ages && { head: "known", numeric: true, note: "Age of what is known of a rank that is not visible from this node",
      value: (r) => r.age, text: (r) => (r.age === null ? null : forText(r.age) + " ago") }].filter(Boolean);
}

// RateChart draws a rate of all ranks over the last readings.
class RateChart {
  constructor() {
    this.samples = [];
    this.quantity = "bytes_per_s";
    this.text = h("span", { id: "live-rates" });
    this.canvas = canvas({ class: "chart", role: "img",
      "aria-label": "Rate of all ranks over the last readings. The text above has the latest values." },
    (...args) => this.draw(...args));
    this.canvas.style.height = "70px";
    const options = [["bytes_per_s", "bytes/s"], ["messages_per_s", "messages/s"], ["calls_per_s", "calls/s"]];
    const pick = (quantity) => { this.quantity = quantity; this.canvas.redraw(); };
    this.element = h("div", null,
      h("div", { class: "controls" }, this.text, choice("show", options, this.quantity, pick)), this.canvas);
  }

  add(rates) {
    this.samples = [...this.samples, rates].slice(-liveSamples);
    const texts = ["bytes_per_s", "messages_per_s", "calls_per_s"].map((q) => rateText(rates[q], q));
    this.text.textContent = texts.join(" · ");
    this.canvas.redraw();
  }

  draw(context, width, height) {
    const left = 90, values = this.samples.map((s) => s[this.quantity]);
    const most = values.reduce((a, b) => Math.max(a, b), 0) || 1;
    const total = this.samples.reduce((sum, s) => sum + s.over_s, 0) || 1, line = new Path2D();
    let x = left;
    this.samples.forEach((s, i) => { // each rate is that of the time before its reading
      const y = height - 4 - values[i] / most * (height - 12);
      line.lineTo(x, y);
      line.lineTo(x += s.over_s / total * (width - left), y);
    });
    const font = "11px system-ui, sans-serif", textAlign = "right";
    const strokeStyle = cssColor("--accent"), fillStyle = cssColor("--faint");
    Object.assign(context, { strokeStyle, lineWidth: 1.5, fillStyle, font, textAlign });
    context.stroke(line);
    context.fillText(rateText(most, this.quantity), left - 6, 14);
    context.fillText("0", left - 6, height - 4);
    context.fillRect(left, height - 2, width - left, 1);
  }
}

function rateText(value, quantity) {
  if (quantity === "bytes_per_s") return bytes(Math.round(value)) + "/s";
  return number(value < 100 ? value : Math.round(value)) + (quantity === "calls_per_s" ? " calls/s" : " messages/s");
}
