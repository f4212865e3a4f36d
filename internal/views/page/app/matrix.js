// The matrix: who sent how much to whom. A cell's row is the sender, its column the receiver.
// Zoomed out, a cell is the sum of 2, 4, 8, … lines; zoomed in, it is one pair of ranks.

// In CSS pixels: the margins hold names on the left and on top, totals on the right and
// below, and the colour bar below those. Cells smaller than leastCell are added up. Zoomed in,
// leastSpan lines are in view.
const matrixMargin = { left: 64, top: 38, right: 54, bottom: 107, totals: 42 };

// largestCell is the size of the largest cell, in CSS pixels: few ranks need no large picture.
const largestCell = 64;
const leastCell = 3, cellWithGrid = 8, cellWithValue = 34, leastSpan = 4;
const matrixQuantities = { bytes: "bytes", messages: "messages", mean: "mean size" };

// colorParts returns the red, green and blue of rrggbb.
const colorParts = (hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));

// The colours of the PNGs (internal/plot/scale.go), from the least value to the greatest.
const viridis = (
  "addc30 9dd83f 8cd44b 7acf56 65cb5f 58c567 4ebf6e 43b975 35b27c 28ad80 27a683 " +
  "269f86 249989 21928c 258b8d 28848d 2a7d8d 2b768e 2e6f8e 32688d 36618d 395a8c " +
  "3b528b 3e4b88 414384 443c81 46347e 472c7a 472572 471e6a 461563 450c5b 440154"
).split(" ").map(colorParts);

const brightness = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b;

// matrixPalette returns 256 colours; 0 stays empty. Greater values differ more from the
// paper: they are darker on light paper and lighter on dark paper.
function matrixPalette() {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = cssColor("--paper"); // read back as #rrggbb
  const dark = brightness(colorParts(context.fillStyle.slice(1))) < 128;
  const stops = dark ? viridis.slice(0, -4).reverse() : viridis; // the darkest eighth would look empty
  return Array.from({ length: 256 }, (_, level) => {
    const at = Math.max(0, (level - 1) / 254) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
    return stops[i].map((v, c) => Math.round(v + (at - i) * (stops[i + 1][c] - v)));
  });
}

// colorScale maps values to levels 1 to 255; 0 is empty. On a logarithmic scale a span of at
// least 4 gives nearly equal values nearly equal colours.
function colorScale(least, greatest, log) {
  const low = !log ? 0 : least < greatest ? Math.min(least, greatest / 4) : greatest;
  const width = Math.log2(greatest) - Math.log2(low); // the quotient could overflow
  const logPosition = (v) => clamp((Math.log2(v) - Math.log2(low)) / width, 0, 1);
  const position = (v) => (!log ? v / greatest : width > 0 ? logPosition(v) : 0.5);
  return {
    least: low, greatest, key: [low, greatest, log].join(" "),
    level: (v) => (v > 0 ? 1 + Math.round(254 * position(v)) : 0),
    value: (at) => (log ? low * (greatest / low) ** at : greatest * at),
  };
}

// quantityText returns a value with its unit.
function quantityText(v, quantity) {
  if (quantity !== "messages" && v >= 1023.5) return bytes(v);
  return number(v < 100 ? v : Math.round(v)) + (quantity === "messages" ? "" : " B");
}

const sheetName = (sheet) => (sheet.side ? sheet.side + ": " : "") + sheet.class;

// amountLines returns lines of text about what was sent.
function amountLines({ bytes: b, messages: m }) {
  if (!m && !b) return ["no messages"];
  const full = b < 1024 ? "" : " (" + count(b) + " B)";
  return [bytes(b) + full, plural(m, "message"), "mean size " + quantityText(Number(b) / Number(m), "mean")];
}

// matrixView returns the element with the matrix, its choices and the details of a selected
// pair. Its setSheets replaces the sheets; its other functions are for tests.
function matrixView(options) {
  const chart = new MatrixChart(options);
  controlMatrix(chart);
  chart.setSheets(options.sheets);
  for (const name of ["setSheets", "updateSheets", "describe", "locate", "level"]) {
    chart.element[name] = (...args) => chart[name](...args);
  }
  return chart.element;
}

// MatrixChart holds what is chosen and what is in view: a square of the positions from view.x
// and view.y, view.span wide. A position is where a line of the sheet is in the chosen order.
class MatrixChart {
  constructor({ ranks, pairs, placement }) {
    const { block, rank, host, hosts } = ranks || { block: 1, rank: [], hosts: [] };
    this.hosts = hosts;
    this.hostOf = new Map(block > 1 ? [] : rank.map((r, i) => [r, host[i]]).filter(([, index]) => index >= 0));
    this.ranAt = this.hostOf;
    this.best = bestOrder(placement, hosts);
    this.pairs = pairs;
    this.choices = { sheet: "0", quantity: "bytes", scale: "log", common: "", cells: "auto", order: "rank" };
    this.lines = 1; // of the drawn sheet
    this.view = { x: 0, y: 0, span: 1 };
    this.fileOrder = null; // from an order file
    this.cursor = null; // the positions of the cell that keys read
    this.hovered = null; // the cell under the pointer
    this.bases = new WeakMap(); // matrices by sheet
    this.arrangements = new Map();
    this.canvas = canvas({ class: "chart matrix", tabindex: 0, role: "application",
      "aria-label": "Matrix of what ranks send; arrows read its cells",
      style: { aspectRatio: "1 / 1.06" } },
    (context) => new MatrixPicture(this, context).draw());
    this.controls = h("div", { class: "controls" });
    this.problem = h("p", { class: "bad", role: "alert" });
    this.what = h("span"); // says what is shown, also on paper
    const hint = " Zoom with the wheel or + and −, move by dragging or Shift and arrows, read cells with the arrows" +
      (pairs ? ", open one with a click or Enter." : ".");
    const note = h("p", { class: "faint" }, this.what, h("span", { class: "screen" }, hint));
    this.readout = h("p", { "aria-live": "polite" });
    this.details = h("div");
    this.body = h("div", null, this.controls, this.problem, this.canvas, this.readout, note, this.details);
    this.element = h("div");
  }

  setSheets(sheets = []) {
    const before = this.sheet || {};
    this.all = sheets;
    this.sheets = sheets.filter((s) => s.unit !== "node");
    const isEmpty = this.sheets.every((s) => s.bytes.every((b) => Number(b) === 0));
    if (!this.sheet && isEmpty && this.sheets.length) this.choices.quantity = "messages"; // bytes have no colours
    this.element.replaceChildren(this.sheets.length ? this.body : h("p", null, "No bytes between ranks."));
    const same = this.sheets.findIndex((s) => s.class === before.class && s.side === before.side);
    this.choices.sheet = String(Math.max(0, same));
    if (this.sheets.length) this.changed();
  }

  // updateSheets replaces the values of the sheets. What is chosen and in view stays.
  updateSheets(sheets) {
    const kinds = (list) => JSON.stringify(list.map((s) => [s.class, s.unit, s.block, s.lines]));
    if (kinds(this.all) !== kinds(sheets)) return this.setSheets(sheets);
    this.all = sheets;
    this.sheets = sheets.filter((s) => s.unit !== "node");
    this.sheet = this.sheets[this.choices.sheet];
    this.canvas.redraw();
  }

  // drawnSheet returns the sheet that is drawn for a chosen one: it may be that between nodes.
  drawnSheet(sheet = this.sheet) {
    return (this.choices.cells === "node" && this.nodeSheet(sheet)) || sheet;
  }

  nodeSheet(sheet) {
    return this.all.find((s) => s.unit === "node" && s.class === sheet.class && s.side === sheet.side);
  }

  // changed shows the matrix after another choice. The same part of it stays in view.
  changed() {
    const { choices } = this, sheet = this.sheet = this.sheets[choices.sheet];
    // Blocks of ranks stay together, so only single ranks have other orders.
    this.byHost = sheet.block === 1 && new Set(this.hostOf.values()).size > 1;
    this.byBest = sheet.block === 1 && this.best?.order.length === sheet.lines;
    const possible = { host: this.byHost, best: this.byBest }[choices.order] ?? true;
    if (sheet.block > 1 || !possible) choices.order = "rank";
    this.hostOf = choices.order === "best" ? this.best.hostOf : this.ranAt;
    if (choices.cells === "node" && !this.byHost && !this.nodeSheet(sheet)) choices.cells = "auto";
    const { view } = this, { lines } = this.drawnSheet(), ratio = lines / this.lines;
    this.lines = lines;
    const widest = matrixMargin.left + Math.max(4, lines) * largestCell + matrixMargin.right;
    this.canvas.style.maxWidth = `min(${widest}px, max(24rem, min(46rem, 70vh)))`;
    this.cursor = null;
    this.readout.replaceChildren();
    this.details.replaceChildren();
    this.fillControls();
    this.show(view.x * ratio, view.y * ratio, view.span * ratio);
  }

  fillControls() {
    const { choices, controls, sheet } = this;
    const focused = [...controls.querySelectorAll("select, input")].indexOf(document.activeElement);
    const pick = (label, name, ...list) => choice(label, list.filter(Boolean), choices[name],
      (value) => { choices[name] = value; this.changed(); });
    const file = h("input", { type: "file", "aria-label": "Order file: one world rank in each line",
      onchange: () => this.readOrder(file.files[0]) });
    const several = this.sheets.length > 1, ordered = sheet.block === 1;
    const names = this.sheets.map((s, i) => [String(i), sheetName(s)]);
    const parts = [
      several && pick("class", "sheet", ...names),
      pick("show", "quantity", ...Object.entries(matrixQuantities)),
      pick("colours", "scale", ["log", "log"], ["linear", "linear"]),
      several && pick("scale", "common", ["", "own"], ["common", "common"]),
      pick("cells", "cells", ["auto", "automatic"], ["rank", ordered ? "rank" : sheet.block + " ranks"],
        (this.byHost || this.nodeSheet(sheet)) && ["node", "node"]),
      ordered && pick("order", "order", ["rank", "by rank"], this.byHost && ["host", "by host"],
        this.byBest && ["best", "best order found"], ["file", "from a file"]),
      ordered && choices.order === "file" && h("span", null, file, " ", this.fileName),
    ];
    refill(controls, parts);
    controls.querySelectorAll("select, input")[focused]?.focus();
  }

  async readOrder(file) {
    if (!file) return; // the user cancelled
    this.problem.textContent = "";
    try {
      this.fileOrder = parseOrder(await file.text(), this.sheet.lines);
      this.fileName = file.name;
      this.fileOrders = 1 + (this.fileOrders || 0); // the arrangement of each file has its own key
    } catch (error) {
      this.problem.textContent = file.name + ": " + error.message + ".";
    }
    this.changed();
  }

  // arrangement returns the order of a sheet's lines, and its levels.
  arrangement({ lines, unit }) {
    const { cells, order } = this.choices;
    const byBest = unit !== "node" && order === "best";
    const byHost = unit !== "node" && (cells === "node" || order === "host");
    const byFile = !byHost && order === "file" && this.fileOrder?.length === lines && unit !== "node";
    const key = [lines, byHost, byFile && this.fileOrders, byBest].join(" ");
    if (!this.arrangements.has(key)) {
      const byRank = Uint32Array.from({ length: lines }, (_, i) => i);
      const nodeOf = (byHost || byBest) && [...byRank].map((rank) => this.hostOf.get(rank) ?? this.hosts.length);
      if (byHost && !byBest) byRank.sort((a, b) => nodeOf[a] - nodeOf[b] || a - b);
      const chosen = byBest ? this.best.order : byFile ? this.fileOrder : byRank;
      this.arrangements.set(key, { key, ...arrange(chosen, nodeOf) });
    }
    return this.arrangements.get(key);
  }

  // place puts the plot into the canvas. It counts in whole pixels of the screen.
  place() {
    const { left, top, right, bottom } = matrixMargin, { width, height } = this.canvas.getBoundingClientRect();
    const scale = window.devicePixelRatio || 1, whole = (v) => Math.max(1, Math.floor(v * scale)) / scale;
    const side = whole(Math.min(width - left - right, height - top - bottom));
    this.plot = { x: whole(left), y: whole(top), side, scale };
  }

  // shown returns what is drawn of a sheet: its arrangement, the level and its matrix.
  shown(sheet = this.drawnSheet()) {
    this.place();
    const arrangement = this.arrangement(sheet), { levels, nodeLevel } = arrangement, { cells } = this.choices;
    const pixels = this.plot.side / this.view.span * this.lines;
    let level = cells === "auto" ? levels.findIndex((starts) => pixels / (starts.length - 1) >= leastCell) : 0;
    if (level < 0) level = levels.length - 1;
    if (cells === "node" && nodeLevel > 0) level = nodeLevel;
    const byNode = sheet.unit === "node" || (nodeLevel >= 0 && level >= nodeLevel);
    if (!this.bases.has(sheet)) this.bases.set(sheet, readSheet(sheet));
    const matrix = levelMatrix(this.bases.get(sheet), arrangement, level);
    return { sheet, arrangement, byNode, starts: levels[level], matrix };
  }

  // scale returns the colour scale: of the drawn sheet, or of all that can be chosen.
  scale(shown) {
    const { quantity, common, scale } = this.choices;
    const all = common ? this.sheets.map((s) => this.shown(this.drawnSheet(s))) : [shown];
    const ends = all.map(({ matrix }) => entryValues(matrix, quantity));
    const least = Math.min(...ends.map((e) => e.least)), greatest = Math.max(...ends.map((e) => e.greatest));
    return colorScale(least, greatest, scale === "log");
  }

  // group returns the ranks and hosts of a line of the shown level, and its name: "rank 3 on
  // node01".
  group({ sheet: { unit, block, ranks: all }, arrangement, byNode, starts }, line) {
    const from = starts[line], to = starts[line + 1], ranks = [];
    if (unit === "node") this.hostOf.forEach((host, rank) => host >= from && host < to && ranks.push(rank));
    for (let p = from; unit !== "node" && p < to; p++) {
      const first = arrangement.order[p] * block;
      for (let rank = first; rank < Math.min(first + block, all); rank++) ranks.push(rank);
    }
    const indexes = new Set(ranks.map((rank) => this.hostOf.get(rank) ?? -1));
    const hosts = unit === "node" ? this.hosts.slice(from, to)
      : [...indexes].map((i) => this.hosts[i] ?? "an unknown node");
    const list = ranks.length ? (ranks.length > 1 ? "ranks " : "rank ") + rankList(ranks) : "";
    const where = hosts.length > 2
      ? `${plural(hosts.length, "node")}, ${hosts[0]} to ${hosts[hosts.length - 1]}` : hosts.join(" and ");
    const onHost = where && this.hostOf.size && this.hosts.length > 1 ? " on " + where : "";
    return { ranks, hosts, name: byNode ? where + (list && ` (${list})`) : list + onHost };
  }

  // linesOf returns the lines of the shown level that hold any of these ranks.
  linesOf({ sheet, arrangement, starts }, ranks) {
    const { unit, block } = sheet, { positions } = arrangement;
    const position = (rank) => (unit === "node" ? this.hostOf.get(rank) : positions[Math.floor(rank / block)]);
    return new Set([...ranks].map(position).filter((p) => p >= 0).map((p) => cellOf(starts, p)));
  }

  // cellText returns lines of text about a cell, totalText about what a line sent or received.
  cellText(shown, row, column) {
    const [from, to] = [row, column].map((line) => this.group(shown, line));
    const lines = [from.name + " → " + to.name, ...amountLines(amounts(shown.matrix, row, column))];
    const senders = from.ranks.length, receivers = to.ranks.length;
    return senders * receivers > 1 ? [...lines, `the sum of ${senders} × ${receivers} ranks`] : lines;
  }

  totalText(shown, line, direction) {
    const totals = lineTotals(shown.matrix)[direction];
    return [this.group(shown, line).name + " " + direction + " in total",
      ...amountLines({ bytes: totals.bytes[line], messages: totals.messages[line] })];
  }

  describe(row, column) {
    const shown = this.shown(), cell = amounts(shown.matrix, row, column);
    const [from, to] = [row, column].map((line) => this.group(shown, line).name);
    return { bytes: String(cell.bytes), messages: String(cell.messages), from, to };
  }

  locate(row, column) {
    const { starts } = this.shown(), { x, y, side } = this.plot, { view } = this;
    const box = this.canvas.getBoundingClientRect();
    const along = (line, origin) => ((starts[line] + starts[line + 1]) / 2 - origin) / view.span * side;
    return { x: box.left + x + along(column, view.x), y: box.top + y + along(row, view.y) };
  }

  // level says what a line of the shown level is. The first is as large as any.
  level() {
    const { sheet, arrangement: { fences }, byNode, starts } = this.shown(), size = starts[1];
    const nodes = sheet.unit === "node" ? size : 1 + [...fences].filter((p) => p < size).length;
    return plural(byNode ? nodes : size * sheet.block, byNode ? "node" : "rank");
  }

  // selectPair shows what the ranks of a cell sent, by size, call, site and phase. A served page
  // asks for it.
  async selectPair(row, column) {
    const shown = this.shown(), [from, to] = [row, column].map((line) => this.group(shown, line));
    if (!this.pairs || !from.ranks.length) return;
    const asked = this.asked = {}, wait = h("p", { class: "faint" }, "Reading what " + from.name + " sent …");
    const failed = (error) => wait.textContent = error.message + ".";
    const isServed = typeof this.pairs === "function";
    if (isServed) this.details.replaceChildren(wait);
    const pairs = isServed ? await this.pairs(from.ranks, to.ranks).catch(failed) : this.pairs;
    if (asked !== this.asked || !pairs.from) return;
    const close = () => { this.details.replaceChildren(); this.canvas.focus(); };
    const title = from.name + " → " + to.name;
    this.details.replaceChildren(pairDetails(pairs, new Set(from.ranks), new Set(to.ranks), title, close));
  }

  spanWithin(span) {
    return Math.min(Math.max(span, leastSpan), this.lines);
  }

  // show moves what is in view, within the matrix.
  show(x, y, span) {
    span = this.spanWithin(span);
    const room = this.lines - span;
    this.view = { x: clamp(x, 0, room), y: clamp(y, 0, room), span };
    this.hovered = null;
    tooltip.hide();
    this.canvas.redraw();
  }

  // zoom changes how much is in view. The given positions stay where they are.
  zoom(factor, x, y) {
    const { view } = this, span = this.spanWithin(view.span * factor), ratio = span / view.span;
    this.show(x - (x - view.x) * ratio, y - (y - view.y) * ratio, span);
  }

  // moveCursor moves the cursor by cells, keeps it in view and announces its cell.
  moveCursor(right, down) {
    const shown = this.shown(), { starts, matrix } = shown, { view, cursor } = this;
    const step = (position, by) => clamp(cellOf(starts, position) + by, 0, matrix.lines - 1);
    const row = cursor ? step(cursor.row, down) : step(view.y, 0);
    const column = cursor ? step(cursor.column, right) : step(view.x, 0);
    const into = (origin, line) => Math.max(Math.min(origin, starts[line]), starts[line + 1] - view.span);
    this.cursor = { row: starts[row], column: starts[column] };
    this.show(into(view.x, column), into(view.y, row), view.span);
    this.readout.textContent = this.cellText(shown, row, column).join(", ");
  }

  openCursor() {
    const { starts } = this.shown(), { cursor } = this;
    if (cursor) this.selectPair(cellOf(starts, cursor.row), cellOf(starts, cursor.column));
  }
}

// pairDetails returns what one set of ranks sent another, in four small tables.
function pairDetails(pairs, from, to, title, close) {
  const rows = [...pairs.from.keys()].filter((i) => from.has(pairs.from[i]) && to.has(pairs.to[i]));
  const sum = (indexes, quantity) => sumOf(indexes.map((i) => pairs[quantity][i]));
  const sums = (indexes) => ({ bytes: sum(indexes, "bytes"), messages: sum(indexes, "messages") });
  const sizeName = (k) => (k < 2 ? k + " B" : bytes(2 ** (k - 1)) + " to < " + bytes(2 ** k));
  const list = (head, key, name, measure, order) => {
    const groups = new Map(), total = Number(sum(rows, measure)) || 1;
    rows.forEach((i) => groups.set(key[i], (groups.get(key[i]) || []).concat(i)));
    const lines = [...groups].map(([k, indexes]) => ({ k, ...sums(indexes) })).sort(order);
    const units = { [head]: "", messages: "count", bytes: "bytes", ["of " + measure]: "share" };
    const cellsOf = (line) => [{ text: name(line.k) }, { text: count(line.messages), value: line.messages },
      { text: bytes(line.bytes), value: line.bytes }, shareCell(Number(line[measure]) / total)];
    return renderTable({ columns: Object.entries(units).map(([head, unit]) => ({ head, unit })),
      rows: lines.map((line) => ({ cells: cellsOf(line) })) }, { job: {} });
  };
  const shareCell = (share) => ({ text: percent(share), value: share });
  const largest = (a, b) => compareKeys(a.bytes, b.bytes, true) || compareKeys(a.messages, b.messages, true);
  return h("section", { "aria-label": "Selected pair" },
    h("h3", null, title, " ", button("Close", close)),
    h("p", null, "Point-to-point and one-sided: " + amountLines(sums(rows)).join(", ") + "."),
    rows.length > 0 && h("div", { class: "columns" },
      list("Size", pairs.size_class, sizeName, "messages", (a, b) => a.k - b.k),
      list("Call", pairs.call, (k) => pairs.calls[k], "bytes", largest),
      list("Call site", pairs.site, (k) => pairs.sites[k] ?? "not known", "bytes", largest),
      list("Phase", pairs.slice, (k) => pairs.slices[k], "bytes", largest)));
}
