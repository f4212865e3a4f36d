// The charts of how the program scales, in the page of mpitrace history.

// How the lines of a scaling chart look: a colour, and dashes. The last line is the ideal.
const scalingStyles = [["--accent", []], ["--imbalance", [6, 3]], ["--serial", [2, 3]],
  ["--compute", [10, 3, 2, 3]], ["--ink", []]];
const idealStyle = ["--good", []];

// scalingView draws the columns of a table over the numbers in its first column.
function scalingView(drawing) {
  const { columns } = drawing.table, last = columns.length - 1;
  const lines = columns.map(({ head }, i) => [head, ...(i === last ? idealStyle : scalingStyles[i - 1] || [])]);
  return h("div", null, scalingChart(drawing, lines), scalingLegend(lines.slice(1)));
}

// scalingChart draws the lines over the number of ranks, which is logarithmic.
function scalingChart({ title, ticks, logarithmic, table: { columns, rows } }, lines) {
  const points = rows.map(({ cells }) => cells.map(({ value }) => value));
  return canvas({ class: "chart high", role: "img", "aria-label": title }, (context, width, height) => {
    const left = 60, right = width - 14, top = 10, bottom = height - 24;
    const linear = (v) => v, log = Math.log;
    const axis = (scale, first, last, from, to) =>
      (v) => from + (to - from) * (scale(v) - scale(first)) / (scale(last) - scale(first));
    const x = axis(log, points[0][0], points[points.length - 1][0], left, right);
    const y = axis(logarithmic ? log : linear, ticks[0].value, ticks[ticks.length - 1].value, bottom, top);
    for (const { value, text } of ticks) {
      fillBox(context, "--line", left, Math.round(y(value)), right - left, 1);
      drawText(context, text, left - 6, y(value), { align: "right" });
    }
    rankAxis(context, columns[0].head, rows, x, right, bottom);
    lines.slice(1).forEach(([, color, dashes], k) => {
      context.strokeStyle = context.fillStyle = cssColor(color);
      context.lineWidth = 2;
      context.setLineDash(dashes);
      context.beginPath();
      points.forEach((p) => context.lineTo(x(p[0]), y(p[k + 1])));
      context.stroke();
      if (k + 2 < lines.length) points.forEach((p) => context.fillRect(x(p[0]) - 3, y(p[k + 1]) - 3, 6, 6));
    });
    context.setLineDash([]);
  });
}

function rankAxis(context, head, rows, x, right, bottom) {
  let end = -Infinity;
  rows.forEach(({ cells: [{ text, value }] }, i) => {
    const words = (i === 0 ? head + " " : "") + text, half = context.measureText(words).width / 2;
    const at = Math.min(right - half, x(value));
    if (at - half < end + 8) return;
    drawText(context, words, at, bottom + 6, { align: "center", baseline: "top" });
    end = at + half;
  });
}

// scalingLegend shows each line as it is drawn.
function scalingLegend(lines) {
  const swatch = ([name, color, dashes]) => {
    const line = svg("line", { x1: 0, y1: 5, x2: 28, y2: 5, "stroke-width": 2,
      "stroke-dasharray": dashes.join(" ") || null });
    line.style.stroke = `var(${color})`;
    return h("li", null, svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, line), " " + name);
  };
  return h("ul", { class: "legend" }, lines.map(swatch));
}
