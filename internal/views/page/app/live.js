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
    const { jobs, notice: why } = this.reading = reading;
    if (jobs.length === 0) {
      this.body.replaceChildren(...why ? [notice(why)] : []);
      this.shown = null;
      return tellReady();
    }
    const job = jobs.find((j) => j.index === this.index) || jobs[jobs.length - 1];
    served.job = job.index;
    const tables = job.sections.flatMap(({ blocks }) => blocks.flatMap((b) => b.table || []));
    const shapes = tables.map((t) => [t.columns, t.rows.length > 5]); // more than 5 rows have a filter
    const shape = JSON.stringify([jobs.map((j) => j.status.run), job.index, shapes]);
    if (this.shown !== shape) this.build(reading, job, tables);
    this.shown = shape;
    this.update(reading, job, tables);
    if (job.matrices && job.matrices !== this.matrices) await this.showMatrices(job);
    tellReady();
  }

  // build makes the elements of a job, which update fills.
  build(reading, job, tables) {
    redraws.length = highlight.listeners.length = 0;
    highlight.ranks = null;
    this.matrices = this.matrix = null;
    this.head = h("h1");
    this.facts = h("div", { id: "live-facts" });
    this.notices = h("div", { "aria-live": "polite", id: "live-notices" });
    this.chart = new RateChart(drawingOf(job, "rates"));
    this.tables = new Map(tables.map((t) => [t.id, renderTable(t, { job: {} })]));
    this.pairs = h("section", { class: "pairs", "aria-label": "Matrix" });
    const part = (id) => job.sections.find((s) => s.id === id);
    const head = h("div", null, this.head, this.facts, this.notices, this.jobChoice(reading));
    this.body.replaceChildren(
      h("header", { class: "head" }, head, themeButton()),
      h("div", { class: "first" },
        h("section", { class: "efficiency", "aria-label": part("rates").title }, this.chart.element),
        h("section", { "aria-label": part("groups").title }, this.tables.get("groups"), markedLine()),
        this.pairs),
      h("section", { class: "part", "aria-label": part("ranks").title }, this.tables.get("ranks")));
  }

  // jobChoice returns the choice of a job if the run has several.
  jobChoice({ jobs }) {
    const options = jobs.map((j) => [String(j.index), `${j.index + 1}: ${plain(j.sections[0].title)}`]);
    return jobs.length > 1 && choice("job", options, String(served.job), (i) => {
      this.index = Number(i);
      this.shown = null;
      this.show(this.reading);
    });
  }

  update({ at }, job, tables) {
    const { title, blocks } = job.sections[0];
    this.head.textContent = plain(title);
    document.title = plain(title) + " (running) - mpitrace";
    const isBad = ({ text }) => text?.tone === "bad", bad = blocks.filter(isBad).map(({ text }) => text.text);
    refill(this.facts, renderBlocks(blocks.filter((b) => !isBad(b)), {}),
      h("p", { class: "faint" }, "read at " + timeOfDay(at)));
    if (this.notices.textContent !== bad.map(plain).join("")) this.notices.replaceChildren(...bad.map(notice));
    if (job.rates) this.chart.add(job.rates.over_s, drawingOf(job, "rates"));
    tables.forEach((t) => this.tables.get(t.id).setRows(t.rows));
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

const timeOfDay = (at) => new Date(at).toLocaleTimeString("en-GB");

// drawingOf returns the drawing of a section.
const drawingOf = ({ sections }, id) => sections.find((s) => s.id === id).blocks[0].drawing;

// RateChart draws a rate of all ranks over the last readings: a series of a drawing, which has a
// bar for each reading but the first.
class RateChart {
  constructor({ title, series }) {
    this.samples = [];
    this.shown = 0; // index of the series
    const label = title + ". The text above has the latest values.";
    this.canvas = canvas({ class: "chart", role: "img", "aria-label": label }, (...args) => this.draw(...args));
    this.canvas.style.height = "70px";
    const names = series.map(({ name }, i) => [String(i), name]);
    const pick = (i) => { this.shown = Number(i); this.canvas.redraw(); };
    this.element = h("div", null, h("div", { class: "controls" }, choice("show", names, "0", pick)), this.canvas);
  }

  // add adds the rates since the reading before, over_s earlier.
  add(over_s, { series }) {
    this.samples = [...this.samples, { over_s, bars: series.map(({ bars }) => bars[0]) }].slice(-liveSamples);
    this.canvas.redraw();
  }

  draw(context, width, height) {
    const left = 90, bars = this.samples.map((s) => s.bars[this.shown]), line = new Path2D();
    const most = bars.reduce((a, b) => (b.n > a.n ? b : a), { n: 0, text: "" });
    const total = this.samples.reduce((sum, s) => sum + s.over_s, 0) || 1;
    let x = left;
    this.samples.forEach((s, i) => { // each rate is that of the time before its reading
      const y = height - 4 - bars[i].n / (most.n || 1) * (height - 12);
      line.lineTo(x, y);
      line.lineTo(x += s.over_s / total * (width - left), y);
    });
    Object.assign(context, { strokeStyle: cssColor("--accent"), lineWidth: 1.5 });
    context.stroke(line);
    drawText(context, most.text, left - 6, 10, { align: "right" });
    drawText(context, "0", left - 6, height - 8, { align: "right" });
    fillBox(context, "--faint", left, height - 2, width - left, 1);
  }
}
