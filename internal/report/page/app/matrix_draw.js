// How a matrix looks on the canvas, and how the pointer, the wheel and keys move it.

// MatrixPicture draws what is in view of a chart.
class MatrixPicture {
  constructor(chart, context) {
    const shown = chart.shown(), { x, y, span } = chart.view, { starts } = shown;
    const { view, plot, choices: { quantity } } = chart;
    Object.assign(this, { chart, context, shown, view, plot, quantity });
    this.scale = chart.scale(shown);
    this.colors = matrixPalette();
    this.rows = [cellOf(starts, y), cellOf(starts, Math.ceil(y + span) - 1)];
    this.columns = [cellOf(starts, x), cellOf(starts, Math.ceil(x + span) - 1)];
    this.cellSize = this.plot.side / span * chart.lines / shown.matrix.lines;
    [this.ink, this.faint] = [cssColor("--ink"), cssColor("--faint")];
    Object.assign(context, { font: "11px system-ui, sans-serif", textBaseline: "middle" });
  }

  draw() {
    this.drawCells();
    if (this.cellSize >= cellWithGrid) this.drawGrid();
    if (this.cellSize >= cellWithValue) this.drawValues();
    this.drawNames();
    this.drawTotals();
    if (this.scale.greatest > 0) this.drawColorBar();
    this.drawMarks();
    const note = "Rows send, columns receive. A line is " + this.chart.level() +
      ". Zoom with the wheel or + and −, move by dragging or Shift and arrows, read cells with the arrows" +
      (this.chart.pairs ? ", open one with a click or Enter." : ".");
    if (this.chart.note.textContent !== note) this.chart.note.textContent = note;
  }

  // edges returns where a cell begins and ends along an axis of the plot, in whole pixels of
  // the screen, at least one apart.
  edges(cell, origin) {
    const { starts } = this.shown, { side, scale } = this.plot, pixels = Math.round(side * scale);
    const pixelOf = (p) => Math.min(Math.max(Math.round((p - origin) / this.view.span * pixels), 0), pixels);
    const from = pixelOf(starts[cell]), to = pixelOf(starts[cell + 1]);
    return [Math.min(from, pixels - 1), Math.max(from + 1, to)];
  }

  // box returns the rectangle of a cell on the canvas, in CSS pixels.
  box(row, column) {
    const { x, y, scale } = this.plot;
    const [x0, x1] = this.edges(column, this.view.x).map((v) => v / scale);
    const [y0, y1] = this.edges(row, this.view.y).map((v) => v / scale);
    return [x + x0, y + y0, x1 - x0, y1 - y0];
  }

  eachEntry(visit) {
    const { starts, columns } = this.shown.matrix;
    for (let row = this.rows[0]; row <= this.rows[1]; row++) {
      let e = lowerBound(columns, this.columns[0], starts[row], starts[row + 1]);
      for (; e < starts[row + 1] && columns[e] <= this.columns[1]; e++) visit(row, columns[e], e);
    }
  }

  text(text, x, y, align, color) {
    this.context.textAlign = align;
    this.context.fillStyle = color;
    this.context.fillText(text, x, y);
  }

  // drawCells fills one buffer. Where cells are smaller than a pixel, the greatest counts.
  drawCells() {
    const { context, scale, quantity, plot, shown: { matrix } } = this;
    const pixels = Math.round(plot.side * plot.scale);
    const key = quantity + " " + scale.key;
    if (matrix.leveled !== key) {
      matrix.levels = Uint8Array.from(entryValues(matrix, quantity).values, (v) => scale.level(v));
    }
    matrix.leveled = key;
    const edges = ([first, last], origin) =>
      Array.from({ length: last - first + 1 }, (_, i) => this.edges(first + i, origin));
    const down = edges(this.rows, this.view.y), across = edges(this.columns, this.view.x);
    const buffer = new Uint8Array(pixels * pixels);
    this.eachEntry((row, column, e) => {
      const level = matrix.levels[e];
      const [y0, y1] = down[row - this.rows[0]], [x0, x1] = across[column - this.columns[0]];
      for (let y = y0; y < y1; y++) {
        for (let i = y * pixels + x0; i < y * pixels + x1; i++) if (buffer[i] < level) buffer[i] = level;
      }
    });
    const image = context.createImageData(pixels, pixels), words = new Uint32Array(image.data.buffer);
    // Alpha, blue, green, red. Empty pixels stay transparent: the paper shows through.
    const wordOf = Uint32Array.from(this.colors, ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
    wordOf[0] = 0;
    for (let i = 0; i < words.length; i++) words[i] = wordOf[buffer[i]];
    context.putImageData(image, Math.round(plot.x * plot.scale), Math.round(plot.y * plot.scale));
  }

  // drawGrid draws lines between cells, and stronger ones between nodes.
  drawGrid() {
    const { context, plot: { x, y, side, scale }, shown: { arrangement, starts, byNode } } = this;
    const lines = (visible, origin, fence, line) => {
      for (let cell = visible[0] + 1; cell <= visible[1]; cell++) {
        if (fence === (!byNode && arrangement.fences.has(starts[cell]))) line(this.edges(cell, origin)[0] / scale);
      }
    };
    for (const [fence, color, width] of [[false, cssColor("--line"), 1 / scale], [true, this.faint, 2 / scale]]) {
      context.fillStyle = color;
      lines(this.columns, this.view.x, fence, (at) => context.fillRect(x + at, y, width, side));
      lines(this.rows, this.view.y, fence, (at) => context.fillRect(x, y + at, side, width));
    }
  }

  drawValues() {
    const { matrix } = this.shown, { values } = entryValues(matrix, this.quantity);
    this.eachEntry((row, column, e) => {
      const [x, y, width, height] = this.box(row, column), text = quantityText(values[e], this.quantity);
      if (height < 13 || this.context.measureText(text).width > width - 4) return;
      const level = matrix.levels[e], onColor = brightness(this.colors[level]) > 120 ? "#000" : "#fff";
      this.text(text, x + width / 2, y + height / 2, "center", level ? onColor : this.ink);
    });
  }

  // names calls draw(text, at) for the names along an axis, at least gap pixels apart. Nodes
  // have names, otherwise it is the rank at a round position.
  names(visible, origin, gap, draw) {
    const { shown, chart, plot: { side, scale } } = this;
    const { sheet: { block }, arrangement: { order }, starts, byNode } = shown;
    const nameAt = (i, position) => byNode
      ? chart.group(shown, i).hosts[0] || "?" : String(order[Math.floor(position)] * block + i % block);
    const pixels = byNode ? this.cellSize : side / this.view.span / block; // of a node or rank
    const least = Math.max(1, gap / pixels), power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((f) => f * power >= least);
    for (let i = Math.ceil((byNode ? visible[0] : origin * block) / step) * step; ; i += step) {
      const position = byNode ? starts[i] : i / block;
      if (!(position < Math.min(origin + this.view.span, chart.lines))) return;
      const [from, to] = this.edges(cellOf(starts, position), origin).map((v) => v / scale);
      const middle = this.cellSize >= cellWithGrid ? (from + to) / 2 : (position - origin) / this.view.span * side;
      draw(nameAt(i, position), middle);
    }
  }

  drawNames() {
    const { context, plot: { x, y, side, scale }, ink, faint } = this;
    const fit = (text, width) => {
      while (text.length > 1 && context.measureText(text).width > width) {
        text = "…" + text.slice(text[0] === "…" ? 2 : 1);
      }
      return text;
    };
    this.names(this.columns, this.view.x, 46, (text, at) => this.text(fit(text, 44), x + at, y - 11, "center", ink));
    this.names(this.rows, this.view.y, 17, (text, at) => this.text(fit(text, x - 22), x - 7, y + at, "right", ink));
    this.text("from ↓ to →", x - 54, y - 28, "left", faint);
    Object.assign(context, { strokeStyle: faint, lineWidth: 1 / scale }).strokeRect(x, y, side, side);
  }

  // drawTotals draws what each line sent, on the right, and received, below.
  drawTotals() {
    const { context, plot: { x, y, side, scale }, faint, quantity, shown: { matrix } } = this;
    const { out, into, most } = remembered(matrix, "total " + quantity, () => {
      const [out, into] = Object.values(lineTotals(matrix)).map((totals) => quantityValues(totals, quantity));
      return { out, into, most: [...out, ...into].reduce((a, b) => Math.max(a, b), Number.MIN_VALUE) };
    });
    const bars = (visible, origin, values, draw) => {
      for (let cell = visible[0]; cell <= visible[1]; cell++) {
        const [from, to] = this.edges(cell, origin).map((v) => v / scale);
        draw(from, to - from - (this.cellSize > 4 ? 1 : 0), matrixMargin.totals * values[cell] / most);
      }
    };
    context.fillStyle = cssColor("--compute");
    bars(this.rows, this.view.y, out, (at, size, length) => context.fillRect(x + side + 4, y + at, length, size));
    bars(this.columns, this.view.x, into, (at, size, length) => context.fillRect(x + at, y + side + 4, size, length));
    this.text("sent", x + side + 4, y - 11, "left", faint);
    this.text("received", x - 7, y + side + 12, "right", faint);
  }

  drawColorBar() {
    const { context, plot: { x, y, side, scale }, quantity } = this, top = y + side + matrixMargin.totals + 16;
    const equal = this.scale.least === this.scale.greatest; // then the scale is one colour
    for (let at = 0; at < side; at += 1 / scale) {
      context.fillStyle = `rgb(${this.colors[1 + Math.round(254 * (equal ? 0.5 : at / side))]})`;
      context.fillRect(x + at, top, 1 / scale, 9);
    }
    for (const [position, align] of equal ? [[0.5, "center"]] : [[0, "left"], [0.5, "center"], [1, "right"]]) {
      this.text(quantityText(this.scale.value(position), quantity), x + position * side, top + 19, align, this.ink);
    }
  }

  // drawMarks marks the lines of highlighted ranks and the cell that is read.
  drawMarks() {
    const { context, chart, plot: { x, y }, shown } = this, { hovered, cursor } = chart;
    const visible = (cell, [first, last]) => cell >= first && cell <= last;
    context.fillStyle = cssColor("--mark");
    for (const line of highlight.ranks ? chart.linesOf(shown, highlight.ranks) : []) {
      const [left, top, width, height] = this.box(line, line);
      if (visible(line, this.columns)) context.fillRect(left, y - 5, Math.max(2, width), 5);
      if (visible(line, this.rows)) context.fillRect(x - 5, top, 5, Math.max(2, height));
    }
    const cellAt = ({ row, column }) => ({ row: cellOf(shown.starts, row), column: cellOf(shown.starts, column) });
    const cell = hovered || (cursor && cellAt(cursor));
    if (!cell || !visible(cell.row, this.rows) || !visible(cell.column, this.columns)) return;
    const [left, top, width, height] = this.box(cell.row, cell.column);
    context.lineWidth = 1.5;
    for (const [color, out] of [[cssColor("--paper"), 2], [this.ink, 1]]) {
      context.strokeStyle = color;
      context.strokeRect(left - out, top - out, width + 2 * out, height + 2 * out);
    }
  }
}

// controlMatrix moves a chart with the pointer, the wheel and keys.
function controlMatrix(chart) {
  const pointers = new Map(); // those that are down, by their id
  let start = null, moved = false;
  const on = (type, listener) => chart.canvas.addEventListener(type, listener, { passive: false });
  const zoomAt = (event, factor) => chart.zoom(factor, ...matrixTarget(chart, event).at);

  on("wheel", (event) => {
    if (event.deltaY > 0 && chart.view.span >= chart.lines) return; // the page scrolls
    event.preventDefault();
    zoomAt(event, 2 ** (Math.max(-120, Math.min(120, event.deltaY)) / 240));
  });
  on("pointerdown", (event) => {
    chart.canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, start = event);
    moved = pointers.size > 1;
  });
  // Without a button it reads the cell; one pointer drags, two pinch.
  on("pointermove", (event) => {
    const before = pointers.get(event.pointerId), { view, plot } = chart;
    if (!before) return readCell(chart, event);
    moved ||= Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > 4;
    if (!moved) return;
    pointers.set(event.pointerId, event);
    const other = [...pointers.values()].find((p) => p !== event), pixel = view.span / plot.side;
    if (!other) {
      const right = (event.clientX - before.clientX) * pixel, down = (event.clientY - before.clientY) * pixel;
      return chart.show(view.x - right, view.y - down, view.span);
    }
    const distance = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY) || 1;
    zoomAt(other, distance(before) / distance(event));
  });
  on("pointerup", (event) => {
    pointers.delete(event.pointerId);
    const { row, column } = matrixTarget(chart, event);
    if (!moved && row >= 0 && column >= 0) chart.selectPair(row, column);
  });
  on("pointercancel", (event) => pointers.delete(event.pointerId));
  on("pointerleave", () => readCell(chart, null));
  on("dblclick", (event) => zoomAt(event, 0.5));
  on("keydown", (event) => {
    if (!event.ctrlKey && !event.altKey && !event.metaKey && matrixKey(chart, event)) event.preventDefault();
  });
}

// matrixTarget returns the two positions under a pointer, and the row and the column there:
// −1 outside. Over the totals there is only one of the two.
function matrixTarget(chart, event) {
  const { starts } = chart.shown(), { view, plot } = chart, box = chart.canvas.getBoundingClientRect();
  const across = (event.clientX - box.left - plot.x) / plot.side;
  const down = (event.clientY - box.top - plot.y) / plot.side;
  const at = [view.x + across * view.span, view.y + down * view.span];
  const end = 1 + (matrixMargin.totals + 6) / plot.side; // of the totals
  const inside = (v, most) => v >= 0 && v < most;
  const row = inside(down, 1) && inside(across, end) ? cellOf(starts, at[1]) : -1;
  return { at, row, column: inside(across, 1) && inside(down, end) ? cellOf(starts, at[0]) : -1 };
}

// readCell shows the text of the cell or the total under the pointer.
function readCell(chart, event) {
  const { row, column } = event ? matrixTarget(chart, event) : { row: -1, column: -1 }, shown = chart.shown();
  chart.hovered = row >= 0 && column >= 0 ? { row, column } : null;
  chart.canvas.redraw();
  if (row < 0 && column < 0) return tooltip.hide();
  const [title, ...lines] = chart.hovered ? chart.cellText(shown, row, column)
    : row >= 0 ? chart.totalText(shown, row, "sent") : chart.totalText(shown, column, "received");
  tooltip.show(event.clientX, event.clientY, h("strong", null, title), "\n" + lines.join("\n"));
}

// matrixKey does what a key asks for and reports whether it asks for anything.
function matrixKey(chart, { key, shiftKey }) {
  const { view, cursor } = chart, step = view.span / 8;
  const cellAt = (position) => cellOf(chart.shown().starts, position);
  const [x, y] = cursor ? [cursor.column + 0.5, cursor.row + 0.5] : [view.x + 4 * step, view.y + 4 * step];
  const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] || [0, 0];
  if ((right || down) && shiftKey) chart.show(view.x + right * step, view.y + down * step, view.span);
  else if (right || down) chart.moveCursor(right, down);
  else if (key === "+" || key === "=") chart.zoom(0.5, x, y);
  else if (key === "-") chart.zoom(2, x, y);
  else if (key === "Home") chart.show(0, 0, chart.lines);
  else if (key === "Enter" && cursor) chart.selectPair(cellAt(cursor.row), cellAt(cursor.column));
  else if (key === "Escape") chart.changed(); // takes the cursor and the details away
  else return false;
  return true;
}
