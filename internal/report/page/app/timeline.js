// The timeline of a traced run: a lane for each rank, time to the right. Single calls are
// drawn if all events are in the page. Otherwise the overview says how each column of time
// is divided.
//
// Lanes are painted pixel by pixel into an image, because a column of pixels may hold
// thousands of calls. Names, waits, messages and the critical path are drawn above them.

const timelineMargin = { left: 58, right: 10, top: 6, bottom: 24 };
const stackFrom = 8; // device pixels; a lower lane has one colour in a column, as in `mpitrace timeline`
const mostMessagesDrawn = 2000;
const hatchColor = "rgba(0, 0, 0, 0.6)"; // hatching, on colours that are the same in both themes

// decodeTimeline returns the timeline with its columns in typed arrays and times as sums
// of the differences.
function decodeTimeline(timeline) {
  const floats = (list) => Float64Array.from(list || []);
  const summed = (list) => {
    const out = floats(list);
    for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
    return out;
  };
  const column = (table, name) => (table && table[name]) || [];
  const lines = (timeline.events || []).map((e) => {
    const start = summed(e.start_ns), end = floats(e.duration_ns), reach = new Float64Array(start.length);
    for (let i = 0, last = 0; i < start.length; i++) reach[i] = last = Math.max(last, end[i] += start[i]);
    return { start, end, reach, kind: e.kind || [], bytes: e.bytes || [] };
  });
  const m = timeline.messages || {}, sent = summed(m.start_ns);
  const received = floats(m.end_ns).map((after, i) => sent[i] + after);
  const waits = column(timeline.waits, "line").map((line, i) => {
    const { start_ns, duration_ns, pattern, peer, site, peer_site } = timeline.waits, { texts } = timeline;
    return { line, start: start_ns[i], end: start_ns[i] + duration_ns[i], peer: peer[i],
      pattern: texts[pattern[i]].replaceAll("-", " "), site: texts[site[i]], peerSite: texts[peer_site[i]] };
  });
  const bytesOf = (text) => Uint8Array.from(atob(text || ""), (c) => c.charCodeAt(0));
  const overview = timeline.overview && { ...timeline.overview, shares: timeline.overview.shares.map((lane) => lane.map(bytesOf)) };
  return { ...timeline, events: timeline.events && lines, overview, waits, sent, received,
    messages: { from: m.from || [], to: m.to || [], bytes: m.bytes || [], tag: m.tag || [], comm: m.comm || [] },
    path: column(timeline.path, "line").map((line, i) => ({ line, from: timeline.path.from_ns[i], to: timeline.path.to_ns[i] })) };
}

// timeStep returns the smallest round number of ns that is at least a given one.
function timeStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least);
}

// timeAt returns the text of a time, exact to a step.
function timeAt(ns, step) {
  const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([size]) => step * 1000 >= size) || [1, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  const [whole, fraction] = (ns / size).toFixed(digits).split(".");
  return count(whole) + (fraction ? "." + fraction : "") + " " + unit;
}

// timelineView returns the element with the timeline and the matrix of the selected window.
function timelineView(options) {
  const chart = new TimelineChart(options);
  return Object.assign(chart.element, {
    show: (from, to, top, bottom) => chart.show(from, to, top, bottom),
    select: (from, to) => chart.select(from, to),
    describe: (line, ns) => chart.describe(line, ns).join("\n"),
    locate: (line, ns) => chart.locate(line, ns),
    status: () => chart.statusText(),
  });
}

class TimelineChart {
  constructor({ timeline, job, activities }) {
    this.data = decodeTimeline(timeline);
    this.job = job || {};
    this.activities = activities;
    this.lines = this.data.lines.rank.length;
    this.whole = { from: this.data.init_end_ns, to: Math.max(this.data.length_ns, this.data.init_end_ns + 1), top: 0, bottom: this.lines };
    this.view = { ...this.whole };
    this.plot = { x: 0, y: 0, width: 1, height: 1 };
    this.selected = null; // from and to, in ns
    this.shown = { messages: true, waits: true, path: true };
    this.canvas = canvas({ class: "chart timeline", tabindex: 0, role: "application",
      "aria-label": "Timeline of ranks. Plus and minus zoom, arrows move, Home shows the whole run. The text below says what is shown." },
    (...args) => this.draw(...args));
    this.canvas.style.height = Math.min(560, Math.max(110, this.lines * 30)) + timelineMargin.top + timelineMargin.bottom + "px";
    this.status = h("p", { class: "faint", role: "status" });
    this.legend = h("ul", { class: "legend" });
    this.element = h("div", { class: "timeline-view" }, this.controls(), this.canvas, this.legend, this.status,
      h("p", { class: "faint" }, "Wheel, + or − zoom; Shift and the wheel, or Shift and ↑ or ↓, zoom ranks; dragging or arrows move; Home shows the whole run",
        this.data.events && "; Shift and dragging, or Enter, selects a window", "."),
      this.limitText(), this.missingText(), this.data.events && this.windowMatrix());
    new TimelineControl(this);
    onHighlight(() => this.canvas.redraw());
  }

  controls() {
    const box = (name, text, there) => there && h("label", { class: "choice" },
      h("input", { type: "checkbox", checked: true, onchange: (e) => {
        this.shown[name] = e.target.checked;
        this.canvas.redraw();
      } }), " " + text);
    const button = (text, label, onclick) => h("button", { type: "button", "aria-label": label, title: label, onclick }, text);
    this.selecting = button("Select a window", "Select a window of time by dragging. Shift and dragging does the same.",
      () => this.setSelecting(this.selecting.getAttribute("aria-pressed") !== "true"));
    this.setSelecting(false);
    return h("div", { class: "controls" },
      button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)),
      button("Whole run", "Show the whole run", () => this.show()),
      this.data.events && this.selecting,
      this.data.events && button("Select what is shown", "Select the time that is shown", () => this.select(this.view.from, this.view.to)),
      box("messages", "messages", this.data.messages.from.length), box("waits", "waits", this.data.waits.length),
      box("path", "critical path", this.data.path.length));
  }

  setSelecting(on) {
    this.selecting.setAttribute("aria-pressed", String(on));
  }

  // limitText tells where single calls are, if the run has too many events for a page.
  limitText() {
    if (this.data.events) return null;
    this.command = h("code");
    const some = (list, total, what) => (list < total ? `the ${count(list)} ${what} of ${count(total)}` : "all " + what.split(" ").pop());
    return h("p", null, `The run has ${count(this.data.events_total)} events, too many for this page. It shows how time is divided, `,
      some(this.data.waits.length, this.data.waits_total, "longest waits"), " and ",
      some(this.data.messages.from.length, this.data.messages_total, "longest of the largest messages"), ". To see single calls: ", this.command);
  }

  missingText() {
    const { missing } = this.data;
    return missing && missing.length ? h("p", { class: "notice" }, missing.join("; ") + ".") : null;
  }

  // show shows a window of time and of lines; without arguments the run after MPI_Init.
  show(from = this.whole.from, to = this.whole.to, top = this.whole.top, bottom = this.whole.bottom) {
    const end = this.data.length_ns, width = Math.min(Math.max(to - from, 10), Math.max(end, 10));
    const height = Math.min(Math.max(bottom - top, 1), this.lines);
    from = Math.max(0, Math.min(from, end - width));
    top = Math.max(0, Math.min(top, this.lines - height));
    this.view = { from, to: from + width, top, bottom: top + height };
    this.canvas.redraw();
  }

  // zoom makes the window of time longer by a factor, about a share of its width.
  zoom(factor, share = 0.5) {
    const { from, to } = this.view, fixed = from + share * (to - from);
    this.show(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor, this.view.top, this.view.bottom);
  }

  zoomLines(factor, share = 0.5) {
    const { top, bottom } = this.view, fixed = top + share * (bottom - top);
    this.show(this.view.from, this.view.to, fixed - (fixed - top) * factor, fixed + (bottom - fixed) * factor);
  }

  move(ns, lines) {
    const { from, to, top, bottom } = this.view;
    this.show(from + ns, to + ns, top + lines, bottom + lines);
  }

  // select makes the matrix that of the messages sent in a window of time; null is the run.
  select(from = null, to = null) {
    this.selected = from === null ? null : { from: Math.max(0, Math.min(from, to)), to: Math.min(this.data.length_ns, Math.max(from, to)) };
    this.canvas.redraw();
    if (!this.matrix) return;
    const sheet = this.sheet(), messages = sumOf(sheet.messages);
    this.matrix.setSheets(messages ? [sheet] : []);
    const step = this.selected ? timeStep((this.selected.to - this.selected.from) / 1000) : 1;
    this.windowTitle.textContent = (this.selected ? `Messages sent from ${timeAt(this.selected.from, step)} to ${timeAt(this.selected.to, step)}: ` : "Messages of the whole run: ") +
      plural(messages, "message") + ", " + bytes(sumOf(sheet.bytes)) + ". Both ends were traced. ";
    this.unselect.hidden = !this.selected;
  }

  windowMatrix() {
    this.windowTitle = h("span");
    this.unselect = h("button", { type: "button", hidden: true, onclick: () => this.select() }, "Whole run");
    this.matrix = matrixView({ sheets: [], ranks: this.job.ranks, pairs: null, summary: this.job.summary });
    this.select();
    return h("div", { class: "window" }, h("h3", null, "Who sends to whom in a window of time"), h("p", null, this.windowTitle, this.unselect), this.matrix);
  }

  // sheet returns the sheet of the messages whose sends start in the selected window.
  sheet() {
    const { rank } = this.data.lines, { from, to, bytes: sizes } = this.data.messages;
    const size = Math.max((this.job.summary && this.job.summary.ranks_expected) || 0, ...this.data.messages.from.map((line) => rank[line] + 1),
      ...this.data.messages.to.map((line) => rank[line] + 1), 1);
    const rows = Array.from({ length: size }, () => new Map());
    const first = this.selected ? lowerBound(this.data.sent, this.selected.from) : 0;
    for (let i = first; i < from.length && (!this.selected || this.data.sent[i] < this.selected.to); i++) {
      const row = rows[rank[from[i]]], column = rank[to[i]], sum = row.get(column) || { bytes: 0, messages: 0 };
      row.set(column, { bytes: sum.bytes + sizes[i], messages: sum.messages + 1 });
    }
    const sheet = { class: "point-to-point", unit: "rank", ranks: size, block: 1, lines: size, entries: [], columns: [], bytes: [], messages: [] };
    rows.forEach((row, r) => {
      sheet.entries.push(row.size);
      let last = r;
      for (const [column, sum] of [...row].sort((a, b) => a[0] - b[0])) {
        sheet.columns.push(column - last);
        sheet.bytes.push(sum.bytes);
        sheet.messages.push(sum.messages);
        last = column;
      }
    });
    return sheet;
  }

  lineName(line) {
    const { rank, thread } = this.data.lines;
    return rank[line] + (thread[line] < 0 ? "" : "." + thread[line]);
  }

  // rows returns the lanes in view: their first line, the line behind their last, and their
  // ends in CSS pixels.
  rows() {
    const { view, plot } = this, pitch = plot.height / (view.bottom - view.top);
    const least = this.data.events ? 1 : this.data.overview.per_lane;
    const per = least * Math.max(1, Math.ceil(1 / (pitch * least)));
    const rows = [], gap = pitch * per >= 14 ? 2 : pitch * per >= 5 ? 1 : 0;
    for (let from = Math.floor(view.top / per) * per; from < view.bottom; from += per) {
      const to = Math.min(from + per, this.lines);
      const y = Math.max(0, Math.round((from - view.top) * pitch)), end = Math.min(plot.height, Math.round((to - view.top) * pitch));
      if (end > y) rows.push({ from, to, y: plot.y + y, height: Math.max(1, end - y - gap) });
    }
    return rows;
  }

  x(ns) {
    return this.plot.x + (ns - this.view.from) / (this.view.to - this.view.from) * this.plot.width;
  }

  timeOf(x) {
    return this.view.from + (x - this.plot.x) / this.plot.width * (this.view.to - this.view.from);
  }

  draw(context, width, height) {
    const { left, right, top, bottom } = timelineMargin;
    this.plot = { x: left, y: top, width: Math.max(1, Math.floor(width - left - right)), height: Math.floor(height - top - bottom) };
    this.colors = this.themeColors();
    const rows = this.rows(), { plot } = this;
    this.paintLanes(context, rows);
    context.save();
    context.beginPath();
    context.rect(plot.x, plot.y, plot.width, plot.height);
    context.clip();
    if (this.shown.waits) this.drawWaits(context, rows);
    if (this.data.events) this.drawCalls(context, rows);
    const visible = this.visibleMessages();
    if (this.shown.messages && visible <= mostMessagesDrawn) this.drawMessages(context, visible);
    if (this.shown.path) this.drawPath(context);
    this.drawSelection(context);
    context.restore();
    this.drawAxes(context, rows);
    this.fillLegend();
    this.tellStatus();
  }

  // themeColors returns the colours of the activities. Those of time outside MPI and of
  // other calls differ by theme.
  themeColors() {
    const dark = isDark(cssColor("--paper")), ink = cssColor("--ink");
    const list = this.activities.map((a) => a.color);
    if (dark) list[0] = cssColor("--line");
    if (dark) list[list.length - 1] = cssColor("--others") || list[list.length - 1];
    return { list, ink, faint: cssColor("--faint"), mark: cssColor("--mark"), accent: cssColor("--accent"), card: cssColor("--card"), dark };
  }

  // paintLanes paints how the time of each column of pixels is divided.
  paintLanes(context, rows) {
    const { plot, colors } = this, scale = context.getTransform().a;
    const width = Math.round(plot.width * scale), height = Math.max(1, Math.round(plot.height * scale));
    const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    const kinds = this.activities.length, sums = new Float32Array(width * kinds);
    const tints = colors.list.map((color) => tintsOf(colors.list[0], color));
    for (const row of rows) {
      sums.fill(0);
      if (this.data.events) for (let line = row.from; line < row.to; line++) this.addCalls(line, sums, width);
      else this.addShares(row, sums, width);
      const y = Math.round((row.y - plot.y) * scale), end = Math.min(height, y + Math.max(1, Math.round(row.height * scale)));
      const share = this.data.events ? 1 / (row.to - row.from) : 1;
      for (let x = 0; x < width; x++) paintColumn(pixels, width, x, y, end, sums.subarray(x * kinds, (x + 1) * kinds), share, tints);
    }
    context.putImageData(image, Math.round(plot.x * scale), Math.round(plot.y * scale));
  }

  // addCalls adds the calls of a line to the columns: 1 is a whole column.
  addCalls(line, sums, columns) {
    const { start, end, reach, kind } = this.data.events[line], { activity } = this.data.kinds;
    const { from, to } = this.view, scale = columns / (to - from), kinds = this.activities.length;
    for (let i = lowerBound(reach, from); i < start.length && start[i] < to; i++) {
      const a = Math.max(0, (start[i] - from) * scale), b = Math.min(columns, (end[i] - from) * scale), k = activity[kind[i]];
      const first = Math.floor(a), last = Math.min(columns - 1, Math.floor(b));
      for (let c = first; c <= last; c++) sums[c * kinds + k] += Math.max(0, Math.min(b, c + 1) - Math.max(a, c));
    }
  }

  // addShares adds the overview's shares of a row to the columns.
  addShares(row, sums, columns) {
    const { overview, length_ns } = this.data, { from, to } = this.view, kinds = this.activities.length;
    const perColumn = length_ns / overview.columns;
    const lanes = overview.shares.slice(row.from / overview.per_lane, Math.ceil(row.to / overview.per_lane));
    for (let c = 0; c < columns; c++) {
      const first = Math.floor((from + (to - from) * c / columns) / perColumn);
      const end = Math.min(overview.columns, Math.max(first + 1, Math.floor((from + (to - from) * (c + 1) / columns) / perColumn)));
      for (const lane of lanes) {
        lane.forEach((shares, i) => {
          if (!shares.length) return;
          let sum = 0;
          for (let k = first; k < end; k++) sum += shares[k];
          sums[c * kinds + i + 1] += sum / (255 * (end - first) * lanes.length);
        });
      }
    }
  }

  // eachCall calls f with the calls of a line that are in view.
  eachCall(line, f) {
    const { start, end, reach } = this.data.events[line], { from, to } = this.view;
    for (let i = lowerBound(reach, from); i < start.length && start[i] < to; i++) if (end[i] >= from) f(i, start[i], end[i]);
  }

  // drawCalls draws the ends of calls that are wide enough, and their names.
  drawCalls(context, rows) {
    const { kinds, texts } = this.data, { plot } = this, widths = new Map();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const widthOf = (text) => widths.get(text) || widths.set(text, context.measureText(text).width).get(text);
    for (const row of rows) {
      if (row.to - row.from > 1 || row.height < 6) continue;
      this.eachCall(row.from, (i, start, end) => {
        const x = this.x(start), width = this.x(end) - x;
        if (width < 4) return;
        context.fillStyle = this.colors.card;
        context.fillRect(x, row.y, 0.7, row.height);
        const k = this.data.events[row.from].kind[i], name = texts[kinds.call[k]], seen = Math.max(x, plot.x);
        if (row.height < 12 || Math.min(x + width, plot.x + plot.width) - seen < widthOf(name) + 8) return;
        context.fillStyle = this.colors.list[kinds.activity[k]];
        context.fillRect(seen + 2, row.y + row.height / 2 - 7, widthOf(name) + 4, 14); // the name stays readable in a hatched wait
        context.fillStyle = isDark(context.fillStyle) ? "#fff" : "#000";
        context.fillText(name, seen + 4, row.y + row.height / 2 + 0.5);
      });
    }
  }

  // rowOf returns the lane in view that shows a line, or null.
  rowOf(rows, line) {
    const at = rows.length && Math.floor((line - rows[0].from) / (rows[0].to - rows[0].from));
    return rows[at] && line >= rows[at].from && line < rows[at].to ? rows[at] : null;
  }

  drawWaits(context, rows) {
    const { from, to } = this.view, hatch = context.createPattern(hatching(), "repeat"), last = new Map();
    for (const wait of this.data.waits) {
      const row = wait.end >= from && wait.start <= to && this.rowOf(rows, wait.line);
      if (!row) continue;
      const x = this.x(wait.start), end = this.x(wait.end);
      if (end - x >= 3 && row.height >= 5) {
        context.fillStyle = hatch;
        context.fillRect(x, row.y, end - x, row.height);
        context.strokeStyle = hatchColor;
        context.strokeRect(x + 0.5, row.y + 0.5, end - x - 1, row.height - 1);
      } else if (!(last.get(row) > end - 1)) { // one mark in a pixel is enough
        context.fillStyle = this.colors.dark ? "#fff" : "#000";
        context.fillRect(x, row.y + row.height - Math.min(3, row.height), Math.max(1, end - x), Math.min(3, row.height));
        last.set(row, Math.max(x + 1, end));
      }
    }
  }

  visibleMessages() {
    const { from, to, top, bottom } = this.view, m = this.data.messages;
    let n = 0;
    for (let i = 0; i < m.from.length && this.data.sent[i] <= to; i++) {
      if (this.data.received[i] >= from && Math.max(m.from[i], m.to[i]) >= top - 1 && Math.min(m.from[i], m.to[i]) < bottom) n++;
    }
    return n;
  }

  middle(line) {
    return this.plot.y + (line + 0.5 - this.view.top) * this.plot.height / (this.view.bottom - this.view.top);
  }

  drawMessages(context, visible) {
    const { from, to } = this.view, m = this.data.messages, lines = new Path2D(), ends = new Path2D();
    for (let i = 0; i < m.from.length && this.data.sent[i] <= to; i++) {
      if (this.data.received[i] < from) continue;
      const x = this.x(this.data.received[i]), y = this.middle(m.to[i]);
      lines.moveTo(this.x(this.data.sent[i]), this.middle(m.from[i]));
      lines.lineTo(x, y);
      ends.moveTo(x, y);
      ends.arc(x, y, 2, 0, 7);
    }
    context.strokeStyle = context.fillStyle = this.colors.ink;
    context.globalAlpha = visible > 200 ? 0.35 : 0.8;
    context.lineWidth = 0.8;
    context.stroke(lines);
    if (visible <= 200) context.fill(ends);
    context.globalAlpha = context.lineWidth = 1;
  }

  // drawPath draws the critical path: thick in the lanes, with a margin so that it can be seen
  // on all colours, and thin where it goes from one rank to another.
  drawPath(context) {
    const { from, to, top, bottom } = this.view, pitch = this.plot.height / (bottom - top), below = Math.max(0, Math.min(0.3 * pitch, pitch / 2 - 5));
    const parts = new Path2D(), jumps = new Path2D();
    let last = null;
    for (const part of this.data.path) {
      if (part.to < from || part.from > to) continue;
      const x = this.x(part.from), y = this.middle(part.line) + below, end = this.x(part.to);
      if (last && Math.abs(last.x - x) < 1) {
        jumps.moveTo(last.x, last.y);
        jumps.lineTo(x, y);
      }
      parts.moveTo(x, y);
      parts.lineTo(Math.max(end, x + 0.5), y);
      last = { x: end, y };
    }
    for (const [path, color, width] of [[jumps, this.colors.mark, 1], [parts, this.colors.card, 4.5], [parts, this.colors.mark, 2.5]]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke(path);
    }
    context.lineWidth = 1;
  }

  drawSelection(context) {
    if (!this.selected) return;
    const x = this.x(this.selected.from), end = this.x(this.selected.to);
    context.fillStyle = context.strokeStyle = this.colors.accent;
    context.globalAlpha = 0.14;
    context.fillRect(x, this.plot.y, end - x, this.plot.height);
    context.globalAlpha = 1;
    context.strokeRect(x, this.plot.y - 2, Math.max(1, end - x), this.plot.height + 4);
  }

  drawAxes(context, rows) {
    const { plot, colors, view } = this, step = timeStep((view.to - view.from) / Math.max(1, plot.width / 110));
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillStyle = colors.faint;
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const x = this.x(at), text = timeAt(at, step), half = context.measureText(text).width / 2;
      context.fillRect(x, plot.y + plot.height, 1, 5);
      context.fillText(text, Math.min(Math.max(x, half), plot.x + plot.width + timelineMargin.right - half), plot.y + plot.height + 15);
    }
    context.textAlign = "right";
    let free = 0;
    for (const row of rows) {
      const marked = this.isMarked(row), y = row.y + row.height / 2;
      context.fillStyle = marked ? colors.mark : colors.faint;
      if (marked) context.fillRect(plot.x - 5, row.y, 4, Math.max(2, row.height));
      if (y < free || y > plot.y + plot.height - 4) continue;
      context.font = (marked ? "bold " : "") + "11px system-ui, sans-serif";
      context.fillText((rows[0] === row && row.height > 24 ? "rank " : "") + this.lineName(row.from), plot.x - 8, y);
      free = y + 14;
    }
    context.textAlign = "left";
  }

  isMarked(row) {
    if (!highlight.ranks) return false;
    for (let line = row.from; line < row.to; line++) if (highlight.ranks.has(this.data.lines.rank[line])) return true;
    return false;
  }

  fillLegend() {
    const key = this.colors.list.join() + this.colors.mark;
    if (this.legend.dataset.colors === key) return;
    this.legend.dataset.colors = key;
    const item = (name, color) => {
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = color;
      return h("li", null, swatch, name);
    };
    const { data } = this, stripes = `repeating-linear-gradient(135deg, ${this.colors.ink} 0 1px, transparent 1px 4px)`;
    this.legend.replaceChildren(...this.activities.map((a, i) => item(a.name, this.colors.list[i])),
      ...(data.waits.length ? [item("waits for a rank", stripes)] : []), ...(data.path.length ? [item("critical path", this.colors.mark)] : []));
  }

  statusText() {
    const { view, data } = this, step = timeStep((view.to - view.from) / 1000);
    const first = Math.floor(view.top), last = Math.min(this.lines, Math.ceil(view.bottom)) - 1;
    const parts = [`${timeAt(view.from, step)} to ${timeAt(view.to, step)} after the first event`,
      first === last ? "rank " + this.lineName(first) : `ranks ${this.lineName(first)} to ${this.lineName(last)}`];
    if (data.events) {
      let calls = 0;
      for (let line = first; line <= last; line++) this.eachCall(line, () => calls++);
      parts.push(plural(calls, "call"));
    }
    const messages = this.visibleMessages(), hidden = messages > mostMessagesDrawn;
    parts.push(plural(messages, "message") + (hidden ? ` (lines for up to ${count(mostMessagesDrawn)}: zoom in)` : ""));
    const waits = data.waits.filter((w) => w.end >= view.from && w.start <= view.to && w.line >= first && w.line <= last);
    if (waits.length) parts.push(plural(waits.length, "wait") + " of " + duration(waits.reduce((sum, w) => sum + w.end - w.start, 0)) + " in total");
    return parts.join(" · ");
  }

  // tellStatus updates the texts a moment after the last change, as screen readers read each.
  tellStatus() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      this.status.textContent = this.statusText();
      const seconds = (ns) => (ns / 1e9).toFixed(6) + "s";
      if (this.command) this.command.textContent = `mpitrace timeline RUN --from ${seconds(this.view.from)} --to ${seconds(this.view.to)}`;
    }, 150);
  }

  // describe returns the lines of text about a line at a time.
  describe(line, ns, tolerance = 0) {
    if (!this.data.events) return this.describeColumn(line, ns);
    const { start, end, reach } = this.data.events[line], name = "rank " + this.lineName(line);
    let next = lowerBound(start, ns + tolerance + 1), found = -1; // behind the last that has started
    for (let i = next - 1; i >= 0 && reach[i] >= ns - tolerance && found < 0; i--) if (end[i] >= ns - tolerance) found = i;
    if (found >= 0) return this.describeCall(line, found);
    const from = next > 0 ? reach[next - 1] : 0, to = next < start.length ? start[next] : this.data.length_ns;
    return [`Outside MPI, ${name}`, `from ${timeAt(from, 1e3)}, for ${duration(to - from)}`];
  }

  describeCall(line, i) {
    const { data } = this, { start, end, kind, bytes: sizes } = data.events[line], { kinds, texts } = data, k = kind[i];
    const out = [`MPI_${texts[kinds.call[k]]}, rank ${this.lineName(line)}`, `from ${timeAt(start[i], 1e3)}, for ${duration(end[i] - start[i])}`];
    const peer = this.peerText(k), moved = kinds.direction[k] !== "none" || sizes[i] > 0;
    out.push([peer, moved && bytes(sizes[i]), texts[kinds.comm[k]]].filter(Boolean).join(", "));
    if (texts[kinds.site[k]]) out.push("at " + texts[kinds.site[k]]);
    for (const w of data.waits) {
      if (w.line !== line || w.start < start[i] || w.start > end[i]) continue;
      const whom = w.peer < 0 ? "" : w.pattern === "undecided" ? `, maybe for rank ${w.peer}` : ` for rank ${w.peer}`;
      out.push(`waits ${duration(w.end - w.start)}${whom} (${w.pattern})` + (w.peerSite ? `, which calls at ${w.peerSite}` : ""));
    }
    return out.concat(this.messageTexts(line, start[i], end[i])).filter(Boolean);
  }

  peerText(k) {
    const { kinds } = this.data, peer = kinds.peer[k], collective = this.activities[kinds.activity[k]].name === "collective";
    if (peer === -3) return "from any source";
    if (peer === -6) return "with a process of another world";
    if (peer < 0) return "";
    return (collective ? "root: " : { send: "to ", recv: "from ", read: "from ", write: "to " }[kinds.direction[k]] || "with ") + "rank " + peer;
  }

  // messageTexts returns what a call sent and received, as far as both ends are known.
  messageTexts(line, start, end) {
    const { messages: m, sent, received } = this.data, out = [];
    for (let i = 0; i < m.from.length && sent[i] <= end; i++) {
      const sends = m.from[i] === line && sent[i] === start, receives = m.to[i] === line && received[i] > start && received[i] <= end;
      if (!sends && !receives) continue;
      const took = duration(received[i] - sent[i]);
      out.push((sends ? `sent ${bytes(m.bytes[i])} to rank ${this.lineName(m.to[i])}` : `received ${bytes(m.bytes[i])} from rank ${this.lineName(m.from[i])}`) +
        `, tag ${m.tag[i]}; received ${took} after the send began`);
    }
    return out.length > 4 ? [...out.slice(0, 4), `and ${plural(out.length - 4, "other message")}`] : out;
  }

  // describeColumn returns how the time of a lane is divided in a column of the overview.
  describeColumn(line, ns) {
    const { overview, length_ns } = this.data, lane = Math.floor(line / overview.per_lane), per = length_ns / overview.columns;
    const column = Math.min(overview.columns - 1, Math.floor(ns / per)), first = lane * overview.per_lane;
    const last = Math.min(first + overview.per_lane, this.lines) - 1;
    const shares = overview.shares[lane].map((s) => (s.length ? s[column] / 255 : 0)), inside = shares.reduce((a, b) => a + b, 0);
    return [first === last ? "rank " + this.lineName(first) : `ranks ${this.lineName(first)} to ${this.lineName(last)}`,
      `from ${timeAt(column * per, 1e3)}, for ${duration(per)}:`,
      ...[Math.max(0, 1 - inside), ...shares].map((s, i) => s > 0 && percent(s) + " " + this.activities[i].name).filter(Boolean)];
  }

  locate(line, ns) {
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + this.x(ns), y: box.top + this.middle(line) };
  }
}

// tintsOf returns a colour mixed into the ground in 16 steps, as pixels.
function tintsOf(ground, color) {
  const parse = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
  const g = parse(ground), c = parse(color);
  return Uint32Array.from({ length: 17 }, (_, i) => {
    const [red, green, blue] = g.map((v, k) => Math.round(v + (c[k] - v) * i / 16));
    return (255 << 24 | blue << 16 | green << 8 | red) >>> 0; // little-endian, as all machines with browsers are
  });
}

// paintColumn paints a column of a lane: its parts one above the other, or, where that is
// too low, the colour of the largest, paler if more of the column is outside MPI.
function paintColumn(pixels, stride, x, from, to, sums, share, tints) {
  let sum = 0, most = 0;
  for (let k = 1; k < sums.length; k++) {
    sum += sums[k] * share;
    if (!most || sums[k] > sums[most]) most = k;
  }
  const low = to - from < stackFrom, shade = sum > 0 ? Math.min(16, Math.max(2, Math.round(16 * sum))) : 0;
  const base = low ? tints[most][shade] : tints[0][0];
  for (let y = from; y < to; y++) pixels[y * stride + x] = base;
  if (low || sum === 0) return;
  const height = (to - from) * share / Math.max(sum, 1);
  let below = 0, y = to;
  for (let k = 1; k < sums.length; k++) {
    below += sums[k] * height;
    const end = k === most && below < 0.5 ? to - 1 : Math.max(from, to - Math.round(below)); // at least one pixel
    for (; y > end; y--) pixels[(y - 1) * stride + x] = tints[k][16];
  }
}

function hatching() {
  const tile = h("canvas", { width: 6, height: 6 }), context = tile.getContext("2d");
  context.strokeStyle = hatchColor;
  context.lineWidth = 1;
  for (const x of [-6, 0, 6]) {
    context.moveTo(x - 1, 7);
    context.lineTo(x + 7, -1);
  }
  context.stroke();
  return tile;
}

// TimelineControl moves a timeline with the mouse and the keyboard.
class TimelineControl {
  constructor(chart) {
    Object.assign(this, { chart, drag: null });
    const on = (name, f, options) => chart.canvas.addEventListener(name, f, options);
    on("wheel", (e) => this.wheel(e), { passive: false });
    on("pointerdown", (e) => this.press(e));
    on("pointermove", (e) => (this.drag ? this.dragTo(e) : this.hover(e)));
    on("pointerup", (e) => this.release(e));
    on("pointercancel", () => (this.drag = null));
    on("pointerleave", () => tooltip.hide());
    on("keydown", (e) => this.key(e));
  }

  wheel(e) {
    e.preventDefault();
    tooltip.hide();
    const { plot } = this.chart, factor = 1.0018 ** Math.max(-400, Math.min(400, e.deltaY || e.deltaX));
    if (e.shiftKey) this.chart.zoomLines(factor, (e.offsetY - plot.y) / plot.height);
    else this.chart.zoom(factor, Math.min(1, Math.max(0, (e.offsetX - plot.x) / plot.width)));
  }

  press(e) {
    if (e.button !== 0) return;
    const { chart } = this, selects = chart.matrix && (e.shiftKey || chart.selecting.getAttribute("aria-pressed") === "true");
    this.drag = { x: e.offsetX, y: e.offsetY, view: chart.view, selects };
    chart.canvas.setPointerCapture(e.pointerId);
    tooltip.hide();
  }

  dragTo(e) {
    const { chart, drag } = this, { plot } = chart, { from, to, top, bottom } = drag.view;
    if (drag.selects) {
      chart.selected = { from: chart.timeOf(Math.min(drag.x, e.offsetX)), to: chart.timeOf(Math.max(drag.x, e.offsetX)) };
      chart.canvas.redraw();
      return;
    }
    const ns = (drag.x - e.offsetX) / plot.width * (to - from), lines = (drag.y - e.offsetY) / plot.height * (bottom - top);
    chart.show(from + ns, to + ns, top + lines, bottom + lines);
  }

  release(e) {
    const { chart, drag } = this;
    this.drag = null;
    if (!drag || !drag.selects) return;
    const moved = Math.abs(e.offsetX - drag.x) > 2;
    if (moved) chart.select(Math.round(chart.timeOf(drag.x)), Math.round(chart.timeOf(e.offsetX)));
    else chart.select();
    chart.setSelecting(false);
  }

  hover(e) {
    const { chart } = this, { plot, view } = chart;
    const line = Math.floor(view.top + (e.offsetY - plot.y) / plot.height * (view.bottom - view.top)), ns = chart.timeOf(e.offsetX);
    if (line < 0 || line >= chart.lines || line >= view.bottom || ns < view.from || ns > view.to) return tooltip.hide();
    tooltip.show(e.clientX, e.clientY, chart.describe(line, ns, 1.5 * (view.to - view.from) / plot.width).join("\n"));
  }

  key(e) {
    const { chart } = this, { from, to, top, bottom } = chart.view, width = to - from, height = bottom - top;
    const actions = {
      "+": () => chart.zoom(0.5), "=": () => chart.zoom(0.5), "-": () => chart.zoom(2), "_": () => chart.zoom(2),
      ArrowLeft: () => chart.move(-width / 8, 0), ArrowRight: () => chart.move(width / 8, 0),
      ArrowUp: () => (e.shiftKey ? chart.zoomLines(0.5) : chart.move(0, -Math.max(1, height / 8))),
      ArrowDown: () => (e.shiftKey ? chart.zoomLines(2) : chart.move(0, Math.max(1, height / 8))),
      Home: () => chart.show(), Enter: () => chart.matrix && chart.select(from, to), Escape: () => chart.select(),
    };
    if (!actions[e.key] || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    tooltip.hide();
    actions[e.key]();
  }
}
