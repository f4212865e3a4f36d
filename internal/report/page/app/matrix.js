// The matrix: who sent how much to whom. A cell's row is the sender, its column the receiver.
// Zoomed out, a cell is the sum of 2, 4, 8, … lines; zoomed in, it is one pair of ranks.

const quantities = [["bytes", "bytes"], ["messages", "messages"], ["mean", "mean size"]];

// The margins of the picture in CSS pixels: names of lines on the left and on top, totals on
// the right and below, the colour bar below those.
const matrixMargin = { left: 64, top: 38, right: 54, bottom: 92, totals: 42 };
const leastCell = 3; // CSS pixels; smaller cells are added up
const cellWithGrid = 8;

// The colours of the PNGs (internal/plot/scale.go), from the least value to the greatest.
const viridis = ("addc30 9dd83f 8cd44b 7acf56 65cb5f 58c567 4ebf6e 43b975 35b27c 28ad80 27a683 " +
  "269f86 249989 21928c 258b8d 28848d 2a7d8d 2b768e 2e6f8e 32688d 36618d 395a8c 3b528b 3e4b88 " +
  "414384 443c81 46347e 472c7a 472572 471e6a 461563 450c5b 440154").split(" ");

// matrixPalette returns 256 colours [red, green, blue]; 0 stays empty. Greater values differ
// more from the paper: they are darker on light paper and lighter on dark paper.
function matrixPalette(dark) {
  const stops = viridis.map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  if (dark) stops.reverse().splice(0, 4); // the darkest eighth is too close to the paper
  return Array.from({ length: 256 }, (_, level) => {
    const at = Math.max(0, (level - 1) / 254) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return stops[i].map((v, c) => Math.round(v + (at - i) * (stops[i + 1][c] - v)));
  });
}

// isDark reports whether a CSS colour is nearer to black than to white.
function isDark(color) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = color;
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(context.fillStyle.slice(i, i + 2), 16));
  return brightness(r, g, b) < 128;
}

function brightness(r, g, b) {
  return 0.299 * r + 0.587 * g + 0.114 * b;
}

// ColorScale maps values to levels 1 to 255; 0 is empty.
class ColorScale {
  constructor(least, greatest, log) {
    // A span of at least 4 gives nearly equal values nearly equal colours.
    this.least = log ? (least < greatest ? Math.min(least, greatest / 4) : greatest) : 0;
    this.greatest = greatest;
    this.log = log;
    this.key = [this.least, greatest, log].join(" ");
  }

  level(v) {
    if (!(v > 0)) return 0;
    let position = v / this.greatest;
    if (this.log) {
      const width = Math.log2(this.greatest) - Math.log2(this.least);
      position = width > 0 ? (Math.log2(v) - Math.log2(this.least)) / width : 0.5;
    }
    return 1 + Math.round(254 * Math.min(Math.max(position, 0), 1));
  }

  value(position) {
    return this.log ? this.least * (this.greatest / this.least) ** position : this.greatest * position;
  }
}

// quantityText returns a value with its unit.
function quantityText(v, quantity) {
  if (quantity === "messages") return number(v < 100 ? v : Math.round(v));
  return v < 1023.5 ? number(v < 100 ? v : Math.round(v)) + " B" : bytes(v);
}

// amountLines returns the lines of text about what was sent: exact numbers first.
function amountLines({ bytes: b, messages: m }) {
  if (!m && !b) return ["no messages"];
  const full = b < 1024 ? "" : " (" + count(b) + " B)";
  return [bytes(b) + full, plural(m, "message"), "mean size " + quantityText(Number(b) / Number(m), "mean")];
}

// matrixView returns the element with the matrix, its choices and, where pairs are known,
// the details of the selected pair.
function matrixView(options) {
  const chart = new MatrixChart(options);
  chart.setSheets(options.sheets || []);
  return Object.assign(chart.element, {
    setSheets: (sheets) => chart.setSheets(sheets || []),
    describe: (row, column) => chart.describe(row, column),
    locate: (row, column) => chart.locate(row, column),
    level: () => chart.levelText(),
  });
}

class MatrixChart {
  constructor({ ranks, pairs }) {
    this.ranks = ranks || { rank: [], host: [], hosts: [], block: 1 };
    this.pairs = pairs;
    this.hostOf = new Map();
    if (this.ranks.block === 1) this.ranks.rank.forEach((rank, i) => this.hostOf.set(rank, this.ranks.host[i]));
    this.choices = { sheet: 0, quantity: "bytes", scale: "log", common: false, cells: "auto", order: "rank" };
    this.fileOrder = null;
    this.cursor = null; // the row's and the column's position, moved with keys
    this.hovered = null; // the row and column of the cell under the pointer
    this.plot = { x: 0, y: 0, side: 400 };
    this.bases = new WeakMap();
    this.arrangements = new Map();
    this.canvas = canvas({ class: "chart matrix", tabindex: 0, role: "application" }, (...args) => this.draw(...args));
    Object.assign(this.canvas.style, { width: "100%", maxWidth: "46rem", aspectRatio: "1 / 1.03", touchAction: "pan-y" });
    this.controls = h("div", { class: "controls" });
    this.problem = h("p", { class: "bad", role: "alert", hidden: true });
    this.levelNote = h("span");
    this.readout = h("p", { class: "readout", "aria-live": "polite" });
    this.details = h("div", { class: "pair" });
    this.body = h("div", {}, this.controls, this.problem, this.canvas,
      h("p", { class: "faint" }, this.levelNote), this.readout, this.details);
    this.empty = h("p", {}, "No bytes between ranks.");
    this.element = h("div", { class: "matrix-view" }, this.body, this.empty);
    new MatrixControl(this);
    onHighlight(() => this.canvas.redraw());
  }

  setSheets(sheets) {
    const before = this.sheets && this.sheets.length ? this.sheet() : {};
    this.all = sheets;
    this.sheets = sheets.filter((s) => s.unit !== "node");
    this.body.hidden = !this.sheets.length;
    this.empty.hidden = !this.body.hidden;
    this.details.replaceChildren();
    if (!this.sheets.length) return;
    const same = this.sheets.findIndex((s) => s.class === before.class && s.side === before.side);
    this.choices.sheet = Math.max(0, same);
    if (this.sheet().ranks !== before.ranks || this.sheet().block !== before.block) this.choices.order = "rank";
    this.changed();
  }

  // sheet returns the chosen sheet; shownSheet the one that is drawn, which for cells of one
  // node may be the sheet between nodes.
  sheet() {
    return this.sheets[this.choices.sheet];
  }

  shownSheet(sheet = this.sheet()) {
    return (this.choices.cells === "node" && this.nodeSheet(sheet)) || sheet;
  }

  nodeSheet(sheet) {
    return this.all.find((s) => s.unit === "node" && s.class === sheet.class && s.side === sheet.side);
  }

  // hasNodes reports whether ranks can be drawn by node: there are several, and they are known.
  hasNodes() {
    return this.sheet().block === 1 && new Set(this.hostOf.values()).size > 1;
  }

  // changed shows the matrix anew after another choice. It keeps what is in view, if the
  // lines are the same.
  changed() {
    const { choices } = this;
    const ordered = this.sheet().block === 1;
    if (!ordered || (choices.order === "host" && !this.hasNodes())) choices.order = "rank";
    if (choices.cells === "node" && !this.hasNodes() && !this.nodeSheet(this.sheet())) choices.cells = "auto";
    const { lines } = this.shownSheet();
    if (lines !== this.lines) this.view = { x: 0, y: 0, span: lines };
    this.lines = lines;
    this.hovered = this.cursor = null;
    this.readout.textContent = "";
    this.fillControls();
    this.canvas.redraw();
  }

  fillControls() {
    const { choices, controls } = this;
    const focused = [...controls.querySelectorAll("select, input")].indexOf(document.activeElement);
    const pick = (label, name, list) => list.length > 1 && choice(label, list, choices[name], (value) => {
      choices[name] = name === "sheet" ? Number(value) : value;
      this.changed();
    });
    const nodes = this.hasNodes(), finest = this.sheet().block;
    const names = this.sheets.map((s, i) => [i, (s.side ? s.side + ": " : "") + s.class]);
    const common = h("input", { type: "checkbox", checked: choices.common, onchange: () => {
      choices.common = common.checked;
      this.canvas.redraw();
    } });
    const file = h("input", { type: "file", "aria-label": "Order file: one world rank in each line", onchange: () => this.readOrder(file.files[0]) });
    controls.replaceChildren(...[
      pick("class", "sheet", names),
      pick("show", "quantity", quantities),
      pick("scale", "scale", [["log", "log"], ["linear", "linear"]]),
      this.sheets.length > 1 && h("label", { class: "choice", title: "One colour scale for all classes" }, common, " common scale"),
      pick("cells", "cells", [["auto", "automatic"], ["rank", finest > 1 ? finest + " ranks" : "rank"],
        ...(nodes || this.nodeSheet(this.sheet()) ? [["node", "node"]] : [])]),
      finest === 1 && pick("order", "order", [["rank", "by rank"], ...(nodes ? [["host", "by host"]] : []), ["file", "from a file"]]),
      finest === 1 && choices.order === "file" && file,
    ].filter(Boolean));
    if (focused >= 0) controls.querySelectorAll("select, input")[focused]?.focus();
  }

  async readOrder(file) {
    if (!file) return;
    this.problem.hidden = true;
    try {
      this.fileOrder = { ranks: this.sheet().ranks, order: parseOrder(await file.text(), this.sheet().ranks), name: file.name };
      this.fileOrders = (this.fileOrders || 0) + 1; // each file is another arrangement
    } catch (error) {
      this.problem.textContent = file.name + ": " + error.message + ".";
      this.problem.hidden = false;
    }
    this.changed();
  }

  // arrangement returns the order of a sheet's lines and its levels.
  arrangement(sheet) {
    let order = this.choices.order;
    if (this.choices.cells === "node") order = sheet.unit === "node" ? "rank" : "host";
    if (order === "file" && this.fileOrder?.ranks !== sheet.ranks) order = "rank";
    const key = [sheet.lines, order, order === "file" ? this.fileOrders : ""].join(" ");
    if (!this.arrangements.has(key)) {
      let lines = null, nodeOf = null;
      if (order === "file") lines = this.fileOrder.order;
      if (order === "host") {
        nodeOf = Array.from({ length: sheet.lines }, (_, rank) => this.hostOf.get(rank) ?? -1);
        const last = this.ranks.hosts.length; // ranks of an unknown host
        const place = (rank) => (nodeOf[rank] < 0 ? last : nodeOf[rank]);
        lines = Uint32Array.from({ length: sheet.lines }, (_, i) => i).sort((a, b) => place(a) - place(b) || a - b);
      }
      this.arrangements.set(key, Object.assign(arrange(sheet.lines, lines, nodeOf), { key }));
    }
    return this.arrangements.get(key);
  }

  // shown returns what is drawn of a sheet: its arrangement, the level and the level's matrix.
  shown(sheet = this.shownSheet()) {
    const arrangement = this.arrangement(sheet);
    const { levels, nodeLevel } = arrangement;
    let level = 0;
    if (this.choices.cells === "node" && nodeLevel >= 0) level = nodeLevel;
    if (this.choices.cells === "auto") {
      const pixels = this.plot.side / this.view.span * sheet.lines;
      level = levels.findIndex((starts) => pixels / (starts.length - 1) >= leastCell);
      if (level < 0) level = levels.length - 1;
    }
    if (!this.bases.has(sheet)) this.bases.set(sheet, readSheet(sheet));
    return { sheet, arrangement, level, starts: levels[level], matrix: levelMatrix(this.bases.get(sheet), arrangement, level) };
  }

  // scale returns the colour scale: of the shown sheet, or of all that can be chosen.
  scale(shown) {
    const { quantity, common, scale } = this.choices;
    const all = common ? this.sheets.map((s) => this.shown(this.shownSheet(s))) : [shown];
    const ends = all.map(({ matrix }) => entryValues(matrix, quantity));
    return new ColorScale(Math.min(...ends.map((e) => e.least)), Math.max(...ends.map((e) => e.greatest)), scale === "log");
  }

  // rankOf returns the first world rank of the line at a position.
  rankOf({ sheet, arrangement }, position) {
    return (arrangement.order ? arrangement.order[position] : position) * sheet.block;
  }

  // ranksOf returns the world ranks of a line of the shown level.
  ranksOf(shown, line) {
    const { sheet, starts } = shown, ranks = [];
    if (sheet.unit === "node") {
      for (const [rank, host] of this.hostOf) if (host >= starts[line] && host < starts[line + 1]) ranks.push(rank);
      return ranks;
    }
    for (let p = starts[line]; p < starts[line + 1]; p++) {
      const first = this.rankOf(shown, p);
      for (let rank = first; rank < Math.min(first + sheet.block, sheet.ranks); rank++) ranks.push(rank);
    }
    return ranks;
  }

  hostName(index) {
    return this.ranks.hosts[index] ?? "unknown host";
  }

  // hostsOf returns the names of the hosts of a line of the shown level.
  hostsOf(shown, line, ranks) {
    const { sheet, starts } = shown;
    if (sheet.unit === "node") return this.ranks.hosts.slice(starts[line], starts[line + 1]);
    return [...new Set(ranks.filter((rank) => this.hostOf.has(rank)).map((rank) => this.hostName(this.hostOf.get(rank))))];
  }

  // name returns the text of a line of the shown level: "rank 3 on node01".
  name(shown, line) {
    const ranks = this.ranksOf(shown, line), hosts = this.hostsOf(shown, line, ranks);
    const list = ranks.length === 1 ? "rank " + ranks[0] : ranks.length ? "ranks " + rankList(ranks) : "";
    if (shown.sheet.unit !== "node" && this.ranks.hosts.length < 2) return list;
    const host = hosts.length < 3 ? hosts.join(" and ") : plural(hosts.length, "host") + ", " + hosts[0] + " to " + hosts[hosts.length - 1];
    return list && host ? list + " on " + host : list || host;
  }

  // cellText returns the lines of text about a cell.
  cellText(shown, row, column) {
    const { block } = shown.sheet, size = (line) => (shown.starts[line + 1] - shown.starts[line]) * block;
    const pairs = shown.sheet.unit === "node" || size(row) * size(column) === 1 ? [] : ["sum over all pairs of these ranks"];
    return [this.name(shown, row) + " → " + this.name(shown, column), ...amountLines(amounts(shown.matrix, row, column)), ...pairs];
  }

  // totalText returns the lines of text about what a line sent or received in total.
  totalText(shown, line, direction) {
    const totals = lineTotals(shown.matrix)[direction];
    return [this.name(shown, line) + " " + direction + " in total", ...amountLines({ bytes: totals.bytes[line], messages: totals.messages[line] })];
  }

  describe(row, column) {
    const shown = this.shown(), { bytes: b, messages: m } = amounts(shown.matrix, row, column);
    return { bytes: String(b), messages: String(m), from: this.name(shown, row), to: this.name(shown, column) };
  }

  locate(row, column) {
    const { starts } = this.shown(), { x, y, side } = this.plot, { view } = this;
    const middle = (line) => (starts[line] + starts[line + 1]) / 2;
    const box = this.canvas.getBoundingClientRect();
    return {
      x: box.left + x + (middle(column) - view.x) / view.span * side,
      y: box.top + y + (middle(row) - view.y) / view.span * side,
    };
  }

  // levelText says what one cell stands for.
  levelText() {
    const { sheet, arrangement, level, starts } = this.shown();
    const lines = starts.length - 1, most = Math.max(...starts.slice(1).map((end, i) => end - starts[i]));
    if (sheet.unit === "node") return most === 1 ? "one node" : most + " nodes";
    if (arrangement.nodeLevel >= 0 && level >= arrangement.nodeLevel && lines <= arrangement.fences.size + 1) {
      const nodes = Math.ceil((arrangement.fences.size + 1) / lines);
      return nodes === 1 ? "one node" : nodes + " nodes";
    }
    return most * sheet.block === 1 ? "one rank" : most * sheet.block + " ranks";
  }

  draw(context, width, height) {
    new MatrixPicture(this, context, width, height).draw();
    const text = this.levelText();
    this.levelNote.textContent = "A cell is " + text + " by " + text +
      ". Zoom with the wheel or + and −, move by dragging or with Shift and arrows, read cells with the arrows" +
      (this.pairs ? ", select one with a click or Enter." : ".");
  }

  // cellAt returns the cell of the shown level that holds two positions.
  cellAt(starts, row, column) {
    const line = (position) => lowerBound(starts, Math.floor(position) + 1) - 1;
    return { row: line(row), column: line(column) };
  }

  // linesOf returns the lines of the shown level that hold any of these ranks.
  linesOf(shown, ranks) {
    const lines = new Set(), { sheet, arrangement, starts } = shown;
    if (arrangement.order && !arrangement.positions) {
      arrangement.positions = new Map([...arrangement.order].map((line, position) => [line, position]));
    }
    for (const rank of ranks) {
      const line = sheet.unit === "node" ? this.hostOf.get(rank) : Math.floor(rank / sheet.block);
      const position = arrangement.order ? arrangement.positions.get(line) : line;
      if (position >= 0 && position < sheet.lines) lines.add(this.cellAt(starts, position, 0).row);
    }
    return lines;
  }

  // selectPair shows what the ranks of a cell sent, by call, site, phase and size.
  selectPair(row, column) {
    if (!this.pairs) return;
    const shown = this.shown();
    if (shown.sheet.unit === "node") return;
    const close = () => {
      this.details.replaceChildren();
      this.canvas.focus();
    };
    this.details.replaceChildren(pairDetails(this.pairs, new Set(this.ranksOf(shown, row)),
      new Set(this.ranksOf(shown, column)), this.name(shown, row) + " → " + this.name(shown, column), close));
  }
}

// pairDetails returns what one set of ranks sent another, in four small tables.
function pairDetails(pairs, from, to, title, close) {
  const rows = [...pairs.from.keys()].filter((i) => from.has(pairs.from[i]) && to.has(pairs.to[i]));
  const sums = (indexes) => ({ bytes: sumOf(indexes.map((i) => pairs.bytes[i])), messages: sumOf(indexes.map((i) => pairs.messages[i])) });
  const sizeName = (k) => (k < 2 ? k + " B" : bytes(2 ** (k - 1)) + " to < " + bytes(2 ** k));
  const list = (head, key, name, measure, order) => {
    const groups = new Map();
    rows.forEach((i) => groups.set(key[i], (groups.get(key[i]) || []).concat(i)));
    const lines = [...groups].map(([k, indexes]) => ({ k, ...sums(indexes) })).sort(order);
    const most = Math.max(1, ...lines.map((line) => Number(line[measure])));
    const bar = (line) => svg("svg", { width: 80, height: 10, "aria-hidden": "true" },
      svg("rect", { width: 80 * Number(line[measure]) / most, height: 10, fill: "currentColor", opacity: 0.5 }));
    return table([textColumn(head, (line) => name(line.k)), countColumn("messages", (line) => line.messages),
      bytesColumn("bytes", (line) => line.bytes), { head: "share of " + measure, value: (line) => line[measure], text: bar }], lines);
  };
  const largest = (a, b) => compareKeys(a.bytes, b.bytes, true) || compareKeys(a.messages, b.messages, true);
  return h("section", { "aria-label": "Selected pair" },
    h("h3", null, title, " ", h("button", { type: "button", onclick: close }, "Close")),
    h("p", null, "Point-to-point and one-sided: " + amountLines(sums(rows)).join(", ") + "."),
    rows.length > 0 && h("div", { class: "columns" },
      list("Size", pairs.size_class, sizeName, "messages", (a, b) => a.k - b.k),
      list("Call", pairs.call, (k) => pairs.calls[k], "bytes", largest),
      list("Call site", pairs.site, (k) => pairs.sites[k] ?? "not known", "bytes", largest),
      list("Phase", pairs.slice, (k) => pairs.slices[k], "bytes", largest)));
}

// MatrixPicture draws a chart's matrix on the canvas.
class MatrixPicture {
  constructor(chart, context, width, height) {
    const { left, top, right, bottom } = matrixMargin;
    const scale = context.getTransform().a;
    const pixels = Math.max(1, Math.floor(Math.min(width - left - right, height - top - bottom) * scale));
    Object.assign(chart.plot, { x: Math.round(left * scale) / scale, y: Math.round(top * scale) / scale, side: pixels / scale });
    Object.assign(this, { chart, context, scale, pixels, plot: chart.plot, view: chart.view, shown: chart.shown() });
    this.ink = cssColor("--ink");
    this.faint = cssColor("--faint");
    this.colors = matrixPalette(isDark(cssColor("--paper")));
    this.colorScale = chart.scale(this.shown);
    const { x, y, span } = this.view;
    const { row, column } = chart.cellAt(this.shown.starts, y, x), end = chart.cellAt(this.shown.starts, y + span - 1e-6, x + span - 1e-6);
    this.rows = [row, end.row];
    this.columns = [column, end.column];
    this.cellSize = this.plot.side / span * this.shown.arrangement.lines / this.shown.matrix.lines;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
  }

  draw() {
    this.drawCells();
    if (this.cellSize >= cellWithGrid) this.drawGrid();
    if (this.cellSize >= 34) this.drawValues();
    this.drawNames();
    this.drawTotals();
    this.drawColorBar();
    this.drawMarks();
  }

  // edge returns where a position lies in the plot, in CSS pixels from its left or upper end.
  edge(position, origin) {
    const { side } = this.plot;
    return Math.min(Math.max((position - origin) / this.view.span * side, 0), side);
  }

  // span returns both edges of a line of cells, at least one screen pixel apart.
  edges(line, origin) {
    const { starts } = this.shown, { scale } = this;
    const from = Math.round(this.edge(starts[line], origin) * scale);
    return [from, Math.max(from + 1, Math.round(this.edge(starts[line + 1], origin) * scale))].map((v) => v / scale);
  }

  rectangle(row, column) {
    const [x0, x1] = this.edges(column, this.view.x), [y0, y1] = this.edges(row, this.view.y);
    return [this.plot.x + x0, this.plot.y + y0, x1 - x0, y1 - y0];
  }

  eachEntry(visit) {
    const { starts, columns } = this.shown.matrix;
    for (let row = this.rows[0]; row <= this.rows[1]; row++) {
      let e = lowerBound(columns, this.columns[0], starts[row], starts[row + 1]);
      for (; e < starts[row + 1] && columns[e] <= this.columns[1]; e++) visit(row, columns[e], e);
    }
  }

  // drawCells paints into one buffer of levels. Where cells are smaller than a pixel, the
  // greatest of them counts.
  drawCells() {
    const { context, pixels, scale, colorScale, shown: { matrix } } = this;
    const { quantity } = this.chart.choices, { values } = entryValues(matrix, quantity);
    if (matrix.leveled !== quantity + colorScale.key) {
      matrix.levels = Uint8Array.from(values, (v) => colorScale.level(v));
      matrix.leveled = quantity + colorScale.key;
    }
    const buffer = new Uint8Array(pixels * pixels);
    const ends = (from, origin) => Array.from({ length: from[1] - from[0] + 1 }, (_, i) => this.edges(from[0] + i, origin).map((v) => Math.round(v * scale)));
    const down = ends(this.rows, this.view.y), across = ends(this.columns, this.view.x);
    this.eachEntry((row, column, e) => {
      const level = matrix.levels[e], [y0, y1] = down[row - this.rows[0]], [x0, x1] = across[column - this.columns[0]];
      for (let y = y0; y < y1 && y < pixels; y++) {
        for (let i = y * pixels + x0; i < y * pixels + Math.min(x1, pixels); i++) if (buffer[i] < level) buffer[i] = level;
      }
    });
    const image = context.createImageData(pixels, pixels), { data } = image;
    for (let i = 0; i < buffer.length; i++) {
      if (!buffer[i]) continue; // the paper shows through
      const color = this.colors[buffer[i]];
      for (let c = 0; c < 3; c++) data[4 * i + c] = color[c];
      data[4 * i + 3] = 255;
    }
    context.putImageData(image, Math.round(this.plot.x * scale), Math.round(this.plot.y * scale));
  }

  drawGrid() {
    const { context, shown: { starts, arrangement }, plot: { x, y, side }, scale } = this;
    const thin = 1 / scale;
    const line = (position, width, color) => {
      context.fillStyle = color;
      if (position > this.view.x) context.fillRect(x + this.edge(position, this.view.x), y, width, side);
      if (position > this.view.y) context.fillRect(x, y + this.edge(position, this.view.y), side, width);
    };
    const first = Math.min(this.rows[0], this.columns[0]), last = Math.max(this.rows[1], this.columns[1]);
    for (let i = first; i <= last; i++) {
      const fence = arrangement.fences.has(starts[i]);
      line(starts[i], thin * (fence ? 2 : 1), fence ? this.faint : cssColor("--line"));
    }
  }

  drawValues() {
    const { context, shown: { matrix }, chart: { choices: { quantity } } } = this;
    const { values } = entryValues(matrix, quantity);
    context.textAlign = "center";
    this.eachEntry((row, column, e) => {
      const [x, y, width, height] = this.rectangle(row, column), text = quantityText(values[e], quantity);
      if (height < 13 || context.measureText(text).width > width - 4) return;
      const level = matrix.levels[e];
      context.fillStyle = !level ? this.ink : brightness(...this.colors[level]) > 120 ? "#000" : "#fff";
      context.fillText(text, x + width / 2, y + height / 2);
    });
  }

  // names returns the names at an edge: positions and texts, at least gap pixels apart.
  names(visible, origin, gap) {
    const { shown, chart } = this, { starts, sheet, arrangement } = shown;
    const byNode = chart.levelText().endsWith("node");
    const ordered = !arrangement.order && sheet.unit !== "node";
    let step = 1;
    const least = gap / this.cellSize;
    for (const factor of [1, 2, 5]) if (step < least) step = factor * 10 ** Math.ceil(Math.log10(least / factor));
    for (const factor of [2, 5]) {
      const other = factor * 10 ** Math.ceil(Math.log10(least / factor));
      if (other >= least && other < step) step = other;
    }
    const list = [];
    for (let line = Math.ceil(visible[0] / step) * step; line <= visible[1]; line += step) {
      const [from, to] = this.edges(line, origin), rank = chart.rankOf(shown, starts[line]);
      const text = byNode || sheet.unit === "node" ? chart.hostsOf(shown, line, chart.ranksOf(shown, line))[0] : String(rank);
      list.push({ at: (from + to) / 2, text: text || "?" });
    }
    return list;
  }

  drawNames() {
    const { context, plot: { x, y, side } } = this;
    context.fillStyle = this.ink;
    const fit = (text, width) => {
      while (text.length > 1 && context.measureText(text).width > width) text = "…" + text.slice(text[0] === "…" ? 2 : 1);
      return text;
    };
    context.textAlign = "center";
    for (const { at, text } of this.names(this.columns, this.view.x, 46)) context.fillText(fit(text, 44), x + at, y - 9);
    context.textAlign = "right";
    for (const { at, text } of this.names(this.rows, this.view.y, 17)) context.fillText(fit(text, x - 22), x - 7, y + at);
    context.fillStyle = this.faint;
    context.textAlign = "left";
    context.fillText("to →", x, y - 27);
    context.save();
    context.translate(8, y);
    context.rotate(-Math.PI / 2);
    context.textAlign = "right";
    context.fillText("← from", 0, 0);
    context.restore();
    context.strokeStyle = this.faint;
    context.lineWidth = 1 / this.scale;
    context.strokeRect(x, y, side, side);
  }

  // drawTotals draws what each line sent, on the right, and received, below.
  drawTotals() {
    const { context, plot: { x, y, side }, chart: { choices: { quantity } } } = this;
    const { sent, received } = lineTotals(this.shown.matrix);
    const [out, into] = [sent, received].map((totals) => quantityValues(totals, quantity));
    const most = Math.max(out.reduce((a, b) => Math.max(a, b), 0), into.reduce((a, b) => Math.max(a, b), 0)) || 1;
    context.fillStyle = cssColor("--compute");
    const gap = this.cellSize > 4 ? 1 : 0, length = matrixMargin.totals;
    for (let line = this.rows[0]; line <= this.rows[1]; line++) {
      const [from, to] = this.edges(line, this.view.y);
      context.fillRect(x + side + 4, y + from, length * out[line] / most, to - from - gap);
    }
    for (let line = this.columns[0]; line <= this.columns[1]; line++) {
      const [from, to] = this.edges(line, this.view.x);
      context.fillRect(x + from, y + side + 4, to - from - gap, length * into[line] / most);
    }
    context.fillStyle = this.faint;
    context.textAlign = "left";
    context.fillText("sent", x + side + 4, y - 9);
    context.textAlign = "right";
    context.fillText("received", x - 7, y + side + 12);
  }

  drawColorBar() {
    const { context, plot: { x, y, side }, chart: { choices: { quantity } }, colorScale } = this;
    const top = y + side + matrixMargin.totals + 16;
    if (!(colorScale.greatest > 0)) return;
    const step = 1 / this.scale;
    for (let at = 0; at < side; at += step) {
      const [r, g, b] = this.colors[1 + Math.round(254 * at / side)];
      context.fillStyle = `rgb(${r},${g},${b})`;
      context.fillRect(x + at, top, step, 9);
    }
    context.fillStyle = this.ink;
    for (const [position, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
      context.textAlign = align;
      context.fillText(quantityText(colorScale.value(position), quantity), x + position * side, top + 19);
    }
  }

  // drawMarks marks the lines of highlighted ranks, and the cell under the pointer or cursor.
  drawMarks() {
    const { context, chart, plot: { x, y }, shown } = this;
    context.fillStyle = cssColor("--mark");
    for (const line of highlight.ranks ? chart.linesOf(shown, highlight.ranks) : []) {
      const [left, right] = this.edges(line, this.view.x), [top, bottom] = this.edges(line, this.view.y);
      if (line >= this.columns[0] && line <= this.columns[1]) context.fillRect(x + left, y - 4, Math.max(2, right - left), 4);
      if (line >= this.rows[0] && line <= this.rows[1]) context.fillRect(x - 4, y + top, 4, Math.max(2, bottom - top));
    }
    const cell = chart.hovered || chart.cursor && chart.cellAt(shown.starts, chart.cursor.row, chart.cursor.column);
    if (!cell) return;
    const [left, top, width, height] = this.rectangle(cell.row, cell.column);
    for (const [color, out] of [[cssColor("--card"), 2], [this.ink, 1]]) {
      context.strokeStyle = color;
      context.lineWidth = 1.5;
      context.strokeRect(left - out, top - out, width + 2 * out, height + 2 * out);
    }
  }
}

// MatrixControl moves a chart with the pointer, the wheel and keys.
class MatrixControl {
  constructor(chart) {
    this.chart = chart;
    this.pointers = new Map();
    const { canvas } = chart;
    const on = (type, listener) => canvas.addEventListener(type, listener, { passive: false });
    on("wheel", (event) => this.wheel(event));
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"]) on(type, (event) => this.up(event));
    on("pointerleave", () => this.hover(null));
    on("dblclick", (event) => this.zoom(0.5, ...this.positions(event)));
    on("keydown", (event) => this.key(event));
  }

  // positions returns the column's and the row's position under a pointer; outside of the
  // plot they are outside of what is in view.
  positions(event) {
    const { canvas, plot, view } = this.chart, box = canvas.getBoundingClientRect();
    return [
      view.x + (event.clientX - box.left - plot.x) / plot.side * view.span,
      view.y + (event.clientY - box.top - plot.y) / plot.side * view.span,
    ];
  }

  // show moves what is in view, within the matrix.
  show(x, y, span) {
    const { chart } = this, lines = chart.lines;
    span = Math.min(Math.max(span, Math.min(lines, 4)), lines);
    const clamp = (v) => Math.min(Math.max(v, 0), lines - span);
    chart.view = { x: clamp(x), y: clamp(y), span };
    chart.hovered = null;
    tooltip.hide();
    chart.canvas.redraw();
  }

  // zoom changes the size of what is in view. The given position stays where it is.
  zoom(factor, x, y) {
    const { view, lines } = this.chart;
    const span = Math.min(Math.max(view.span * factor, Math.min(lines, 4)), lines);
    this.show(x - (x - view.x) * span / view.span, y - (y - view.y) * span / view.span, span);
  }

  // wheel leaves the wheel to the page where the whole matrix is already in view.
  wheel(event) {
    const { view, lines } = this.chart;
    if (event.deltaY > 0 && view.span >= lines) return;
    event.preventDefault();
    this.zoom(2 ** (Math.max(-120, Math.min(120, event.deltaY)) / 240), ...this.positions(event));
  }

  down(event) {
    this.chart.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    if (this.pointers.size === 1) this.start = event;
    this.moved = this.pointers.size > 1;
  }

  // move drags with one pointer, pinches with two, and reads the cell without any.
  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(event);
    if (Math.hypot(event.clientX - this.start.clientX, event.clientY - this.start.clientY) > 4) this.moved = true;
    if (!this.moved) return;
    const { view, plot } = this.chart;
    const other = [...this.pointers.values()].find((p) => p.pointerId !== event.pointerId);
    this.pointers.set(event.pointerId, event);
    if (other) {
      const distance = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY) || 1;
      return this.zoom(distance(before) / distance(event), ...this.positions(other));
    }
    const pixel = view.span / plot.side;
    this.show(view.x - (event.clientX - before.clientX) * pixel, view.y - (event.clientY - before.clientY) * pixel, view.span);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    if (event.type === "pointercancel" || this.moved) return;
    const target = this.target(event);
    if (target?.row >= 0 && target?.column >= 0) this.chart.selectPair(target.row, target.column);
  }

  // target returns the cell under the pointer, or the line whose total is there.
  target(event) {
    const { view, starts = this.chart.shown().starts } = this.chart, [x, y] = this.positions(event);
    const inside = (v, origin) => v >= origin && v < origin + view.span;
    const beyond = (v, origin) => v >= origin + view.span && v < origin + view.span * (1 + (matrixMargin.totals + 6) / this.chart.plot.side);
    const { row, column } = this.chart.cellAt(starts, y, x);
    if (inside(x, view.x) && inside(y, view.y)) return { row, column };
    if (beyond(x, view.x) && inside(y, view.y)) return { row };
    if (inside(x, view.x) && beyond(y, view.y)) return { column };
    return null;
  }

  hover(event) {
    const { chart } = this, target = event && this.target(event);
    const isCell = target?.row >= 0 && target?.column >= 0;
    const next = isCell ? target : null;
    if (next?.row !== chart.hovered?.row || next?.column !== chart.hovered?.column) chart.canvas.redraw();
    chart.hovered = next;
    if (!target) return tooltip.hide();
    const shown = chart.shown();
    const lines = isCell ? chart.cellText(shown, target.row, target.column)
      : target.row >= 0 ? chart.totalText(shown, target.row, "sent") : chart.totalText(shown, target.column, "received");
    tooltip.show(event.clientX, event.clientY, h("strong", null, lines[0]), "\n" + lines.slice(1).join("\n"));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { chart } = this, { view } = chart;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const about = chart.cursor ? [chart.cursor.column + 0.5, chart.cursor.row + 0.5] : [view.x + view.span / 2, view.y + view.span / 2];
    if (arrow && event.shiftKey) this.show(view.x + arrow[0] * view.span / 8, view.y + arrow[1] * view.span / 8, view.span);
    else if (arrow) this.moveCursor(...arrow);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5, ...about);
    else if (event.key === "-") this.zoom(2, ...about);
    else if (event.key === "Home") this.show(0, 0, chart.lines);
    else if (event.key === "Escape") this.leave();
    else if (event.key === "Enter" && chart.cursor) {
      const { row, column } = chart.cellAt(chart.shown().starts, chart.cursor.row, chart.cursor.column);
      chart.selectPair(row, column);
    } else return;
    event.preventDefault();
  }

  leave() {
    const { chart } = this;
    chart.cursor = null;
    chart.details.replaceChildren();
    chart.readout.textContent = "";
    chart.canvas.redraw();
  }

  // moveCursor moves the cursor by cells, keeps it in view and announces its cell.
  moveCursor(right, down) {
    const { chart } = this, shown = chart.shown(), { starts, matrix } = shown, { view } = chart;
    const at = chart.cursor || { row: view.y, column: view.x };
    const cell = chart.cellAt(starts, at.row, at.column), step = (line, by) => Math.min(Math.max(line + by, 0), matrix.lines - 1);
    const row = chart.cursor ? step(cell.row, down) : cell.row, column = chart.cursor ? step(cell.column, right) : cell.column;
    chart.cursor = { row: starts[row], column: starts[column] };
    const into = (origin, line) => Math.max(Math.min(origin, starts[line]), starts[line + 1] - view.span);
    this.show(into(view.x, column), into(view.y, row), view.span);
    chart.readout.textContent = chart.cellText(shown, row, column).join(", ");
  }
}
