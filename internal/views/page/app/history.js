// The charts of how the program scales, in the page of mpitrace history.

// How the lines of a scaling chart look: a colour, and dashes.
const scalingStyles = [["--accent", []], ["--imbalance", [6, 3]], ["--serial", [2, 3]],
  ["--compute", [10, 3, 2, 3]], ["--ink", []]];

// scalingView draws the shares of a table over the numbers in its first column.
function scalingView({ columns, rows }) {
  const shares = columns.map(({ unit }, i) => (unit === "share" ? i : -1)).filter((i) => i >= 0);
  const points = rows.map(({ cells }) => ({ ranks: cells[0].value, shares: shares.map((i) => cells[i].value) }));
  const lines = shares.map((i, k) => [columns[i].head, ...scalingStyles[k]]);
  return h("div", null, scalingChart(points, lines), scalingLegend(lines));
}

// scalingChart draws the efficiencies over the number of ranks, which is logarithmic.
function scalingChart(points, lines) {
  const most = Math.max(1, ...points.flatMap((p) => p.shares));
  const label = "Efficiencies by number of ranks. The table below has the values.";
  return canvas({ class: "chart high", role: "img", "aria-label": label }, (context, width, height) => {
    const left = 52, right = width - 14, top = 10, bottom = height - 24;
    const first = Math.log(points[0].ranks), last = Math.log(points[points.length - 1].ranks);
    const x = (ranks) => left + (right - left) * (Math.log(ranks) - first) / (last - first);
    const y = (share) => bottom - (bottom - top) * share / (1.05 * most);
    efficiencyAxes(context, { points, x, y, left, right, bottom, most });
    lines.forEach(([, color, dashes], k) => {
      context.strokeStyle = context.fillStyle = cssColor(color);
      context.lineWidth = 2;
      context.setLineDash(dashes);
      context.beginPath();
      points.forEach((p) => context.lineTo(x(p.ranks), y(p.shares[k])));
      context.stroke();
      points.forEach((p) => context.fillRect(x(p.ranks) - 3, y(p.shares[k]) - 3, 6, 6));
    });
    context.setLineDash([]);
  });
}

function efficiencyAxes(context, { points, x, y, left, right, bottom, most }) {
  for (let share = 0; share <= 1.05 * most; share += most > 2 ? Math.ceil(most / 5) : 0.25) {
    const [color, wide] = share === 1 ? ["--good", 2] : ["--line", 1];
    fillBox(context, color, left, Math.round(y(share)), right - left, wide);
    drawText(context, Math.round(100 * share) + " %", left - 6, y(share), { align: "right" });
  }
  let end = -Infinity;
  points.forEach((p, i) => {
    const text = (i === 0 ? "ranks " : "") + count(p.ranks), half = context.measureText(text).width / 2;
    const at = Math.min(right - half, x(p.ranks));
    if (at - half < end + 8) return;
    drawText(context, text, at, bottom + 6, { align: "center", baseline: "top" });
    end = at + half;
  });
}

// scalingLegend shows each line as it is drawn, and the ideal.
function scalingLegend(lines) {
  const swatch = ([name, color, dashes]) => {
    const line = svg("line", { x1: 0, y1: 5, x2: 28, y2: 5, "stroke-width": 2,
      "stroke-dasharray": dashes.join(" ") || null });
    line.style.stroke = `var(${color})`;
    return h("li", null, svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, line), " " + name);
  };
  return h("ul", { class: "legend" }, [...lines, ["ideal", "--good", []]].map(swatch));
}
