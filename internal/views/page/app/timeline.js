// The timeline of a traced run: a lane for each rank, time to the right. Single calls are
// drawn if all events are in the page. Otherwise the overview says how each column of time
// is divided.
//
// Lanes are painted pixel by pixel into an image, because a column of pixels may hold
// thousands of calls. Names, waits, messages and the critical path are drawn above them.

const timelineMargin = { left: 58, right: 10, top: 6, bottom: 24 };
const stackFrom = 8; // device pixels; a lower lane has one colour in a column, as in `mpitrace timeline`
const mostMessagesDrawn = 2000;

// summed returns times from the differences between them.
function summed(list) {
  const out = Float64Array.from(list || []);
  for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
  return out;
}

// decodeTimeline returns the timeline with times in typed arrays, as sums of the differences.
function decodeTimeline(timeline) {
  const { texts, overview } = timeline, rows = (table, first) => (table && table[first]) || [];
  const events = timeline.events && timeline.events.map(decodeCalls);
  const m = timeline.messages, sent = summed(m.start_ns), w = timeline.waits, p = timeline.path;
  const bytesOf = (text) => Uint8Array.from(atob(text || ""), (c) => c.charCodeAt(0));
  return { ...timeline, events,
    overview: overview && { ...overview, shares: overview.shares.map((lane) => lane.map(bytesOf)) },
    messages: { ...m, sent, received: sent.map((at, i) => at + m.end_ns[i]), from: m.from || [], to: m.to || [] },
    waits: rows(w, "line").map((line, i) => ({
      line, start: w.start_ns[i], end: w.start_ns[i] + w.duration_ns[i],
      peer: w.peer[i], pattern: texts[w.pattern[i]].replaceAll("-", " "), peerSite: texts[w.peer_site[i]],
    })),
    path: rows(p, "line").map((line, i) => ({ line, from: p.from_ns[i], to: p.to_ns[i] })) };
}

// decodeCalls returns the calls of a line.
function decodeCalls(e) {
  const start = summed(e.start_ns), end = start.map((at, i) => at + e.duration_ns[i]);
  let last = 0;
  const reach = end.map((at) => (last = Math.max(last, at)));
  return { start, end, reach, kind: e.kind || [], bytes: e.bytes || [] };
}

// timeAt returns the text of a time, exact to a step, in the unit of a time that is shown
// beside it.
function timeAt(ns, step, beside = ns) {
  const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([size]) => beside >= size) || [1, "ns"];
  const [whole, fraction] = (ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9))).split(".");
  return count(whole) + (fraction ? "." + fraction : "") + " " + unit;
}

function windowText({ from, to }) {
  const step = roundStep((to - from) / 1000);
  return timeAt(from, step, to) + " to " + timeAt(to, step, to);
}

class TimelineChart {
  constructor(job, activities) {
    const { timeline } = job;
    Object.assign(this, { job, activities });
    this.data = this.all = decodeTimeline(timeline);
    this.loaded = null; // the calls of a window, from the server
    this.lines = this.data.lines.rank.length;
    const from = timeline.init_end_ns, to = timeline.finalize_start_ns || timeline.length_ns;
    this.home = { from, to: Math.max(to, from + 1) };
    this.view = { ...this.home, top: 0, bottom: this.lines };
    this.selected = null; // from and to, in ns
    this.shown = { messages: true, waits: true, path: true };
    const height = clamp(this.lines * 30, 110, 560) + timelineMargin.top + timelineMargin.bottom;
    this.canvas = canvas({
      class: "chart timeline", tabindex: 0, role: "application", style: { height: height + "px" },
      "aria-label": "Timeline of ranks. Plus and minus zoom, arrows move, " +
        "Home shows all ranks from MPI_Init to MPI_Finalize. The text below says what is shown.",
    }, (...args) => this.draw(...args));
    this.status = h("p", { class: "faint", role: "status" });
    this.legend = h("div");
    this.element = h("div", { class: "timeline-view" }, this.controls(), this.canvas, this.legend, this.status,
      h("p", { class: "faint screen" },
        "Wheel, + or − zoom; Shift and the wheel, or Shift and ↑ or ↓, zoom ranks; dragging or arrows move; ",
        "Home shows all from MPI_Init to MPI_Finalize",
        this.data.events && "; Shift and dragging, or Enter, selects a window", "."),
      this.singleCalls(),
      this.data.events && this.windowMatrix());
    this.element.chart = this; // for tests
    controlTimeline(this);
  }

  controls() {
    const check = (name) => (event) => { this.shown[name] = event.target.checked; this.canvas.redraw(); };
    const box = (name, text, list) => list.length > 0 && h("label", { class: "choice" },
      h("input", { type: "checkbox", checked: true, onchange: check(name) }), " " + text);
    const labelled = (text, label, onclick) => button(text, onclick, { "aria-label": label, title: label });
    const { data } = this;
    return h("div", { class: "controls" },
      labelled("−", "Zoom out", () => this.zoom(2)), labelled("+", "Zoom in", () => this.zoom(0.5)),
      labelled("Whole run", "Show the whole run, with MPI_Init and MPI_Finalize", () => this.show(0, data.length_ns)),
      data.events && labelled("Select what is shown", "Select the time that is shown",
        () => this.select(this.view.from, this.view.to)),
      box("messages", "messages", data.messages.from), box("waits", "waits", data.waits),
      box("path", "critical path", data.path));
  }

  // singleCalls tells how to see single calls, if the run has too many events for a page.
  singleCalls() {
    return !this.data.events && h("p", null, "To see single calls: ", this.command = h("code"),
      served.events && [" ", button("Load the calls that are in view", () => this.load()), " ",
        this.loading = h("span", { role: "status" })]);
  }

  // load asks the server for the calls in view. They are drawn while the view stays in that
  // window.
  async load() {
    const { view } = this;
    this.loading.textContent = "Reading the traces …";
    try {
      const found = await served.events(view.from, view.to);
      this.loading.textContent = found.events
        ? `${plural(found.events_total, "call")} from ${windowText(view)}.`
        : `${count(found.events_total)} calls are too many: zoom in.`;
      if (found.events) this.loaded = { ...this.all, ...found, events: found.events.map(decodeCalls) };
      this.show(this.view.from, this.view.to, this.view.top, this.view.bottom);
    } catch (error) {
      this.loading.textContent = error.message + ".";
    }
  }

  // show shows a window of time and of lines; without arguments all between MPI_Init and MPI_Finalize.
  show(from = this.home.from, to = this.home.to, top = 0, bottom = this.lines) {
    const end = Math.max(this.data.length_ns, 10), width = clamp(to - from, 10, end);
    const height = clamp(bottom - top, 1, this.lines);
    from = clamp(from, 0, end - width);
    top = clamp(top, 0, this.lines - height);
    this.view = { from, to: from + width, top, bottom: top + height };
    const { loaded } = this;
    this.data = loaded && from >= loaded.from_ns && from + width <= loaded.to_ns ? loaded : this.all;
    this.canvas.redraw();
  }

  // zoom makes the window of time longer by a factor, and that of lines by another, about a
  // share of its width and height.
  zoom(factor, x = 0.5, lines = 1, y = 0.5) {
    const { from, to, top, bottom } = this.view, ns = (to - from) * (1 - factor), height = (bottom - top) * (1 - lines);
    this.show(from + x * ns, to - (1 - x) * ns, top + y * height, bottom - (1 - y) * height);
  }

  move(ns, lines, view = this.view) {
    this.show(view.from + ns, view.to + ns, view.top + lines, view.bottom + lines);
  }

  // mark shows a window of time as selected; null is none.
  mark(from = null, to = null) {
    const [first, last] = [Math.min(from, to), Math.max(from, to)].map((ns) => clamp(ns, 0, this.data.length_ns));
    this.selected = from === null ? null : { from: Math.round(first), to: Math.round(last) };
    this.canvas.redraw();
  }

  // select makes the matrix that of the messages sent in a window of time; null is the run.
  select(from = null, to = null) {
    this.mark(from, to);
    const sheet = this.sheet(), messages = sumOf(sheet.messages), { selected } = this;
    this.matrix.hidden = !selected; // that of the whole run is above
    this.matrix.setSheets(messages ? [sheet] : []);
    this.windowTitle.replaceChildren(
      selected ? `Messages sent from ${windowText(selected)}: ` : "Messages of the whole run: ",
      plural(messages, "message"), `, ${bytes(sumOf(sheet.bytes))}. Both ends were traced. `,
      selected ? button("Whole run", () => this.select()) : "");
  }

  windowMatrix() {
    this.windowTitle = h("p", { role: "status" });
    this.matrix = matrixView({ sheets: [], ranks: this.job.ranks });
    this.select();
    return h("div", null, h("h3", null, "Who sends to whom in a window of time"), this.windowTitle, this.matrix);
  }

  // sheet returns the sheet of the messages whose sends start in the selected window.
  sheet() {
    const { rank } = this.data.lines, { from, to, sent, bytes: sizes } = this.data.messages;
    const { selected } = this, sums = new Map();
    const size = Math.max(this.job.matrices[0]?.ranks || 0, rank[this.lines - 1] + 1);
    const first = selected ? lowerBound(sent, selected.from) : 0;
    const end = selected ? lowerBound(sent, selected.to) : sent.length;
    for (let i = first; i < end; i++) {
      const key = rank[from[i]] * size + rank[to[i]], sum = sums.get(key) || { bytes: 0, messages: 0 };
      sums.set(key, { bytes: sum.bytes + sizes[i], messages: sum.messages + 1 });
    }
    const keys = [...sums.keys()].sort((a, b) => a - b), entries = new Array(size).fill(0);
    const row = (key) => Math.floor(key / size), isFirst = (i) => i === 0 || row(keys[i - 1]) !== row(keys[i]);
    for (const key of keys) entries[row(key)]++;
    const columns = keys.map((key, i) => key % size - (isFirst(i) ? row(key) : keys[i - 1] % size));
    return { class: "point-to-point", unit: "rank", ranks: size, block: 1, lines: size, entries, columns,
      bytes: keys.map((key) => sums.get(key).bytes), messages: keys.map((key) => sums.get(key).messages) };
  }

  // lineNames returns "rank 3", "rank 3.1" for a thread, or "ranks 0 to 3".
  lineNames(first, last = first) {
    const { rank, thread } = this.data.lines;
    const name = (line) => rank[line] + (thread[line] < 0 ? "" : "." + thread[line]);
    return first === last ? "rank " + name(first) : `ranks ${name(first)} to ${name(last)}`;
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
      const y = Math.max(0, Math.round((from - view.top) * pitch));
      const end = Math.min(plot.height, Math.round((to - view.top) * pitch));
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
    const plot = this.plot = { x: left, y: top,
      width: Math.max(1, Math.floor(width - left - right)), height: Math.floor(height - top - bottom) };
    const [ink, faint, mark, accent, card] = ["--ink", "--faint", "--mark", "--accent", "--card"].map(cssColor);
    // The colours are those of the section Time.
    const list = [cssColor("--outside"), ...this.activities.slice(1, -1).map((a) => a.color), cssColor("--others")];
    this.colors = { list, ink, faint, mark, accent, card };
    const rows = this.rows(), visible = this.eachMessage();
    this.paintLanes(context, rows);
    context.save();
    context.beginPath();
    context.rect(plot.x, plot.y, plot.width, plot.height);
    context.clip();
    if (this.shown.waits) this.drawWaits(context, rows);
    if (this.data.events) this.drawCalls(context, rows);
    if (this.shown.messages && visible <= mostMessagesDrawn) this.drawMessages(context, visible);
    if (this.shown.path) this.drawPath(context);
    this.drawSelection(context);
    context.restore();
    this.drawAxes(context, rows);
    if (this.legend.theme !== ink) this.fillLegend(ink);
    this.status.textContent = this.statusText(visible);
    const [from, to] = [this.view.from, this.view.to].map((ns) => (ns / 1e9).toFixed(6) + "s");
    if (this.command) this.command.textContent = `mpitrace timeline RUN --from ${from} --to ${to}`;
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
      const y = Math.round((row.y - plot.y) * scale);
      const end = Math.min(height, y + Math.max(1, Math.round(row.height * scale)));
      const share = this.data.events ? 1 / (row.to - row.from) : 1;
      for (let x = 0; x < width; x++) paintColumn(pixels, width, x, y, end, sums, x * kinds, share, tints);
    }
    context.putImageData(image, Math.round(plot.x * scale), Math.round(plot.y * scale));
  }

  // addCalls adds the calls of a line to the columns: 1 is a whole column.
  addCalls(line, sums, columns) {
    const { kind } = this.data.events[line], { activity } = this.data.kinds;
    const { from, to } = this.view, scale = columns / (to - from), kinds = this.activities.length;
    this.eachCall(line, (i, start, end) => {
      const a = Math.max(0, (start - from) * scale), b = Math.min(columns, (end - from) * scale), k = activity[kind[i]];
      for (let c = Math.floor(a); c < b; c++) sums[c * kinds + k] += Math.min(b, c + 1) - Math.max(a, c);
    });
  }

  // addShares adds the overview's shares of a row to the columns.
  addShares(row, sums, columns) {
    const { overview, length_ns } = this.data, kinds = this.activities.length, per = overview.per_lane;
    const { from, to } = this.view, first = from / length_ns * overview.columns;
    const step = (to - from) / length_ns * overview.columns / columns;
    const lanes = overview.shares.slice(row.from / per, Math.ceil(row.to / per));
    lanes.forEach((lane) => lane.forEach((shares, i) => {
      for (let c = 0; c < columns && shares.length; c++) {
        const start = Math.floor(first + c * step), end = Math.max(start + 1, Math.floor(first + (c + 1) * step));
        let sum = 0;
        for (let k = start; k < end; k++) sum += shares[k] || 0;
        sums[c * kinds + i + 1] += sum / (255 * (end - start) * lanes.length);
      }
    }));
  }

  // eachCall calls f with the calls of a line that are in view, and returns their number.
  eachCall(line, f) {
    const { start, end, reach } = this.data.events[line], { from, to } = this.view;
    let n = 0;
    for (let i = lowerBound(reach, from); i < start.length && start[i] < to; i++) {
      if (end[i] < from) continue;
      n++;
      f?.(i, start[i], end[i]);
    }
    return n;
  }

  // drawCalls draws the ends of calls that are wide enough, and their names.
  drawCalls(context, rows) {
    const { kinds, texts } = this.data, { plot, colors } = this;
    for (const row of rows) {
      if (row.to - row.from > 1 || row.height < 6) continue;
      this.eachCall(row.from, (i, start, end) => {
        const x = Math.max(this.x(start), plot.x), width = Math.min(this.x(end), plot.x + plot.width) - x;
        if (width < 4) return;
        fillBox(context, colors.card, x, row.y, 0.7, row.height);
        const k = this.data.events[row.from].kind[i], name = texts[kinds.call[k]];
        const room = row.height < 12 || width < 20 ? 0 : context.measureText(name).width;
        if (!room || width < room + 8) return;
        const back = colors.list[kinds.activity[k]];
        const color = brightness(colorParts(back.slice(1))) > 140 ? "#000" : "#fff";
        fillBox(context, back, x + 2, row.y + row.height / 2 - 7, room + 4, 14); // readable in a hatched wait
        drawText(context, name, x + 4, row.y + row.height / 2 + 0.5, { color });
      });
    }
  }

  // drawWaits hatches waits, or marks them where they are too short.
  drawWaits(context, rows) {
    const { from, to } = this.view, last = new Map(), per = rows[0].to - rows[0].from;
    const tile = h("canvas", { width: 6, height: 6 }), pen = tile.getContext("2d");
    context.strokeStyle = pen.strokeStyle = "rgba(0, 0, 0, 0.6)"; // on colours that are nearly the same in both themes
    for (const x of [-7, -1, 5]) pen.stroke(new Path2D(`M${x} 7l8 -8`));
    const hatch = context.createPattern(tile, "repeat");
    for (const wait of this.data.waits) {
      const row = rows[Math.floor((wait.line - rows[0].from) / per)];
      if (!row || wait.end < from || wait.start > to) continue;
      const x = this.x(wait.start), end = this.x(wait.end);
      if (end - x >= 3 && row.height >= 5) {
        context.fillStyle = hatch;
        context.fillRect(x, row.y, end - x, row.height);
        context.strokeRect(x + 0.5, row.y + 0.5, end - x - 1, row.height - 1);
      } else if (!(last.get(row) > end - 1)) { // one mark in a pixel is enough
        const height = Math.min(3, row.height);
        fillBox(context, this.colors.ink, x, row.y + row.height - height, Math.max(1, end - x), height);
        last.set(row, Math.max(x + 1, end));
      }
    }
  }

  // eachMessage calls f with the messages that are in view, and returns their number.
  eachMessage(f) {
    const { from, to, top, bottom } = this.view, m = this.data.messages;
    let n = 0;
    for (let i = 0; i < m.sent.length && m.sent[i] <= to; i++) {
      const highest = Math.min(m.from[i], m.to[i]), lowest = Math.max(m.from[i], m.to[i]);
      if (m.received[i] < from || lowest < top - 1 || highest >= bottom) continue;
      n++;
      f?.(i);
    }
    return n;
  }

  middle(line) {
    return this.plot.y + (line + 0.5 - this.view.top) * this.plot.height / (this.view.bottom - this.view.top);
  }

  drawMessages(context, visible) {
    const m = this.data.messages, lines = new Path2D(), ends = new Path2D();
    this.eachMessage((i) => {
      const x = this.x(m.received[i]), y = this.middle(m.to[i]);
      lines.moveTo(this.x(m.sent[i]), this.middle(m.from[i]));
      lines.lineTo(x, y);
      ends.moveTo(x, y);
      ends.arc(x, y, 2, 0, 7);
    });
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
    const { from, to, top, bottom } = this.view, pitch = this.plot.height / (bottom - top);
    const below = Math.max(0, Math.min(0.3 * pitch, pitch / 2 - 5));
    const parts = new Path2D(), jumps = new Path2D();
    let last = null, jumped = -Infinity;
    for (const part of this.data.path) {
      if (part.to < from || part.from > to) continue;
      const x = this.x(part.from), y = this.middle(part.line) + below, end = this.x(part.to);
      if (last && Math.abs(last.x - x) < 1 && x - jumped > 3) { // closer lines would hide the lanes
        jumped = x;
        jumps.moveTo(last.x, last.y);
        jumps.lineTo(x, y);
      }
      parts.moveTo(x, y);
      parts.lineTo(Math.max(end, x + 0.5), y);
      last = { x: end, y };
    }
    const { card, mark } = this.colors;
    for (const [path, color, width] of [[jumps, mark, 1], [parts, card, 4.5], [parts, mark, 2.5]]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke(path);
    }
    context.lineWidth = 1;
  }

  // drawSelection pales what is outside the selected window.
  drawSelection(context) {
    if (!this.selected) return;
    const { plot, colors: { card, accent } } = this;
    const x = this.x(this.selected.from), end = this.x(this.selected.to);
    const parts = [[card, 0.6, plot.x, x], [card, 0.6, end, plot.x + plot.width],
      [accent, 1, x - 2, x], [accent, 1, end, end + 2]];
    for (const [color, alpha, from, to] of parts) {
      context.globalAlpha = alpha;
      fillBox(context, color, from, plot.y, Math.max(0, to - from), plot.height);
    }
  }

  drawAxes(context, rows) {
    const { plot, colors, view } = this, step = roundStep((view.to - view.from) / Math.max(1, plot.width / 110));
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const x = this.x(at), text = timeAt(at, step, view.to), half = context.measureText(text).width / 2;
      const last = plot.x + plot.width + timelineMargin.right - half;
      fillBox(context, colors.faint, x, plot.y + plot.height, 1, 5);
      drawText(context, text, clamp(x, half, last), plot.y + plot.height + 15, { align: "center" });
    }
    let free = 0;
    for (const row of rows) {
      const y = row.y + row.height / 2, marked = isMarked(this.data.lines.rank.slice(row.from, row.to));
      if (marked) fillBox(context, colors.mark, plot.x - 5, row.y, 4, Math.max(2, row.height));
      if (y < free || y > plot.y + plot.height - 4) continue;
      const name = this.lineNames(row.from), color = marked ? colors.mark : colors.faint;
      drawText(context, row.height > 24 ? name : name.slice(5), plot.x - 8, y, { align: "right", color });
      free = y + 14;
    }
  }

  // fillLegend shows the legend in the colours of the theme.
  fillLegend(theme) {
    const { data, colors } = this, stripes = `repeating-linear-gradient(135deg, ${theme} 0 1px, transparent 1px 4px)`;
    const items = [...this.activities.map((a, i) => [a.name, colors.list[i]]),
      data.waits.length && ["waits for a rank", stripes], data.path.length && ["critical path", colors.mark]];
    this.legend.theme = theme;
    this.legend.replaceChildren(legend(items));
  }

  statusText(messages) {
    const { view, data } = this;
    const first = Math.floor(view.top), last = Math.min(this.lines, Math.ceil(view.bottom)) - 1;
    const parts = [windowText(view) + " after the first event", this.lineNames(first, last)];
    const calls = data.events?.slice(first, last + 1).map((_, i) => this.eachCall(first + i));
    if (calls) parts.push(plural(sumOf(calls), "call"));
    const drawn = messages > mostMessagesDrawn ? ` (lines for up to ${count(mostMessagesDrawn)}: zoom in)` : "";
    parts.push(plural(messages, "message") + drawn);
    const waits = data.waits.filter((w) =>
      w.end >= view.from && w.start <= view.to && w.line >= first && w.line <= last);
    const waited = waits.reduce((sum, w) => sum + w.end - w.start, 0);
    if (waits.length) parts.push(`${plural(waits.length, "wait")} of ${duration(waited)} in total`);
    return parts.join(" · ");
  }

  // describe returns the lines of text about a line at a time. Of nested calls it takes the
  // inner one; if there is no call, one that is near.
  describe(line, ns, tolerance = 0) {
    if (!this.data.events) return this.describeColumn(line, ns);
    const { start, end, reach } = this.data.events[line];
    for (const near of [0, tolerance]) {
      for (let i = lowerBound(start, ns + near + 1) - 1; i >= 0 && reach[i] >= ns - near; i--) {
        if (end[i] >= ns - near) return this.describeCall(line, i);
      }
    }
    const next = lowerBound(start, ns), from = next > 0 ? reach[next - 1] : 0;
    const to = next < start.length ? start[next] : this.data.length_ns;
    return ["Outside MPI, " + this.lineNames(line), `from ${timeAt(from, 1e3)}, for ${duration(to - from)}`];
  }

  describeCall(line, i) {
    const { data } = this, { start, end, kind, bytes: sizes } = data.events[line], { kinds, texts } = data, k = kind[i];
    const out = [`MPI_${texts[kinds.call[k]]}, ${this.lineNames(line)}`,
      `from ${timeAt(start[i], 1e3)}, for ${duration(end[i] - start[i])}`];
    const peer = this.peerText(k), moved = kinds.direction[k] !== "none" || sizes[i] > 0;
    out.push([peer, moved && bytes(sizes[i]), texts[kinds.comm[k]]].filter(Boolean).join(", "));
    if (texts[kinds.site[k]]) out.push("at " + texts[kinds.site[k]]);
    for (const w of data.waits) {
      if (w.line !== line || w.start < start[i] || w.start >= end[i]) continue;
      const whom = w.peer < 0 ? "" : w.pattern === "undecided" ? `, maybe for rank ${w.peer}` : ` for rank ${w.peer}`;
      const where = w.peerSite ? `, which calls at ${w.peerSite}` : "";
      out.push(`waits ${duration(w.end - w.start)}${whom} (${w.pattern})${where}`);
    }
    return out.concat(this.messageTexts(line, start[i], end[i])).filter(Boolean);
  }

  peerText(k) {
    const { kinds } = this.data, peer = kinds.peer[k];
    if (peer < 0) return { "-3": "from any source", "-6": "with a process of another world" }[peer];
    if (this.activities[kinds.activity[k]].name === "collective") return "root: rank " + peer;
    const words = { send: "to ", recv: "from ", read: "from ", write: "to " };
    return (words[kinds.direction[k]] || "with ") + "rank " + peer;
  }

  // messageTexts returns what a call sent and received, as far as both ends are known.
  messageTexts(line, start, end) {
    const m = this.data.messages, out = [];
    for (let i = 0; i < m.sent.length && m.sent[i] <= end; i++) {
      const sends = m.from[i] === line && m.sent[i] === start;
      const receives = m.to[i] === line && m.received[i] > start && m.received[i] <= end;
      if (!sends && !receives) continue;
      const whom = sends ? "to " + this.lineNames(m.to[i]) : "from " + this.lineNames(m.from[i]);
      const took = duration(m.received[i] - m.sent[i]);
      const when = sends ? `received ${took} later` : `sent ${took} earlier`;
      out.push(`${whom}: ${bytes(m.bytes[i])}, tag ${m.tag[i]}, ${when}`);
    }
    return out.length > 4 ? [...out.slice(0, 4), `and ${plural(out.length - 4, "other message")}`] : out;
  }

  // describeColumn returns how the time of a lane is divided in a column of the overview.
  describeColumn(line, ns) {
    const { overview, length_ns } = this.data;
    const lane = Math.floor(line / overview.per_lane), per = length_ns / overview.columns;
    const column = Math.min(overview.columns - 1, Math.floor(ns / per)), first = lane * overview.per_lane;
    const last = Math.min(first + overview.per_lane, this.lines) - 1;
    const inside = overview.shares[lane].map((s) => (s.length ? s[column] / 255 : 0));
    const shares = [Math.max(0, 1 - inside.reduce((a, b) => a + b, 0)), ...inside];
    return [this.lineNames(first, last), `from ${timeAt(column * per, 1e3)}, for ${duration(per)}:`,
      ...shares.map((s, i) => s > 0 && percent(s) + " " + this.activities[i].name).filter(Boolean)];
  }

  locate(line, ns) {
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + this.x(ns), y: box.top + this.middle(line) };
  }
}

// tintsOf returns a colour mixed into the ground in 16 steps, as pixels.
function tintsOf(ground, color) {
  const [g, c] = [ground, color].map((text) => colorParts(text.slice(1)));
  return Uint32Array.from({ length: 17 }, (_, i) => {
    const [red, green, blue] = g.map((v, k) => Math.round(v + (c[k] - v) * i / 16));
    return (255 << 24 | blue << 16 | green << 8 | red) >>> 0; // little-endian, as all machines with browsers are
  });
}

// paintColumn paints a column of a lane: its parts one above the other, or, where that is
// too low, the colour of the largest, paler if more of the column is outside MPI.
function paintColumn(pixels, stride, x, from, to, sums, at, share, tints) {
  let sum = 0, most = 1;
  for (let k = 1; k < tints.length; k++) {
    sum += sums[at + k] * share;
    if (sums[at + k] > sums[at + most]) most = k;
  }
  const low = to - from < stackFrom, shade = sum > 0 ? clamp(Math.round(16 * sum), 2, 16) : 0;
  const base = low ? tints[most][shade] : tints[0][0];
  for (let y = from; y < to; y++) pixels[y * stride + x] = base;
  if (low || sum === 0) return;
  const height = (to - from) * share / Math.max(sum, 1);
  let below = 0, y = to;
  for (let k = 1; k < tints.length; k++) {
    below += sums[at + k] * height;
    const end = k === most && below < 0.5 ? to - 1 : Math.max(from, to - Math.round(below)); // at least one pixel
    for (; y > end; y--) pixels[(y - 1) * stride + x] = tints[k][16];
  }
}
