// How a matrix looks on the canvas.

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
  }

  draw() {
    this.drawCells();
    if (this.cellSize >= cellWithGrid) this.drawGrid();
    if (this.cellSize >= cellWithValue) this.drawValues();
    this.drawNames();
    this.drawTotals();
    if (this.scale.greatest > 0) this.drawColorBar();
    this.drawMarks();
    const shows = `Shown: ${sheetName(this.shown.sheet)}, ${matrixQuantities[this.quantity]}.`;
    const what = `${shows} Rows send, columns receive. Each row and column is ${this.chart.level()}.`;
    if (this.chart.what.textContent !== what) this.chart.what.textContent = what;
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

  // along calls visit(cell, from, to) for the rows or columns in view, in CSS pixels of the plot.
  along(axis, visit) {
    const [first, last] = this[axis], { view, plot: { scale } } = this, origin = axis === "rows" ? view.y : view.x;
    for (let cell = first; cell <= last; cell++) visit(cell, ...this.edges(cell, origin).map((v) => v / scale));
  }

  // drawCells fills one buffer. Where cells are smaller than a pixel, the greatest counts.
  drawCells() {
    const { context, scale, quantity, plot, shown: { matrix } } = this;
    const pixels = Math.round(plot.side * plot.scale);
    const levels = this.levels = remembered(matrix, `levels ${quantity} ${scale.key}`, () =>
      Uint8Array.from(entryValues(matrix, quantity).values, (v) => scale.level(v)));
    const edges = ([first, last], origin) =>
      Array.from({ length: last - first + 1 }, (_, i) => this.edges(first + i, origin));
    const down = edges(this.rows, this.view.y), across = edges(this.columns, this.view.x);
    const buffer = new Uint8Array(pixels * pixels);
    this.eachEntry((row, column, e) => {
      const level = levels[e];
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
    const isFence = (cell) => !byNode && arrangement.fences.has(starts[cell]);
    for (const [fence, color, width] of [[false, cssColor("--line"), 1 / scale], [true, this.faint, 2 / scale]]) {
      this.along("columns", (cell, at) => isFence(cell) === fence && fillBox(context, color, x + at, y, width, side));
      this.along("rows", (cell, at) => isFence(cell) === fence && fillBox(context, color, x, y + at, side, width));
    }
  }

  drawValues() {
    const { context } = this, { values } = entryValues(this.shown.matrix, this.quantity);
    this.eachEntry((row, column, e) => {
      const [x, y, width, height] = this.box(row, column), text = quantityText(values[e], this.quantity);
      if (height < 13 || context.measureText(text).width > width - 4) return;
      const level = this.levels[e], onColor = brightness(this.colors[level]) > 120 ? "#000" : "#fff";
      drawText(context, text, x + width / 2, y + height / 2, { align: "center", color: level ? onColor : this.ink });
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
    this.names(this.columns, this.view.x, 46, (text, at) =>
      drawText(context, fit(text, 44), x + at, y - 11, { align: "center", color: ink }));
    this.names(this.rows, this.view.y, 17, (text, at) =>
      drawText(context, fit(text, x - 22), x - 7, y + at, { align: "right", color: ink }));
    drawText(context, "from ↓ to →", x - 54, y - 28);
    Object.assign(context, { strokeStyle: faint, lineWidth: 1 / scale }).strokeRect(x, y, side, side);
  }

  // drawTotals draws what each line sent, on the right, and received, below.
  drawTotals() {
    const { context, plot: { x, y, side }, quantity, shown: { matrix } } = this;
    const { out, into, most } = remembered(matrix, "total " + quantity, () => {
      const [out, into] = Object.values(lineTotals(matrix)).map((totals) => quantityValues(totals, quantity));
      return { out, into, most: [...out, ...into].reduce((a, b) => Math.max(a, b), Number.MIN_VALUE) };
    });
    const bars = (axis, values, draw) => this.along(axis, (cell, from, to) =>
      draw(from, to - from - (this.cellSize > 4 ? 1 : 0), matrixMargin.totals * values[cell] / most));
    context.fillStyle = cssColor("--compute");
    bars("rows", out, (at, size, length) => context.fillRect(x + side + 4, y + at, length, size));
    bars("columns", into, (at, size, length) => context.fillRect(x + at, y + side + 4, size, length));
    drawText(context, "sent", x + side + 4, y - 11);
    drawText(context, "received", x - 7, y + side + 12, { align: "right" });
  }

  drawColorBar() {
    const { context, plot: { x, y, side, scale }, quantity } = this, top = y + side + matrixMargin.totals + 16;
    const equal = this.scale.least === this.scale.greatest; // then the scale is one colour
    for (let at = 0; at < side; at += 1 / scale) {
      const color = this.colors[1 + Math.round(254 * (equal ? 0.5 : at / side))];
      fillBox(context, `rgb(${color})`, x + at, top, 1 / scale, 9);
    }
    for (const [position, align] of equal ? [[0.5, "center"]] : [[0, "left"], [0.5, "center"], [1, "right"]]) {
      const text = quantityText(this.scale.value(position), quantity);
      drawText(context, text, x + position * side, top + 19, { align, color: this.ink });
    }
    const name = matrixQuantities[quantity] + (equal ? "" : this.chart.choices.scale === "log" ? ", log scale" : "");
    drawText(context, name, x + side / 2, top + 34, { align: "center", color: this.faint });
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
