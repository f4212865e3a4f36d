// What each rank spends its time on: the chart of bars by rank, and the section Time.

const axisWidth = 56; // on the left of bars, in CSS pixels

// columnChart returns a canvas of bars beside each other. The pointer or the arrow keys show
// words(bar); a click or Enter highlights ranksOf(bar), if it is a list. bars(width) returns
// their number. draw(context, {n, step, wide, x, left, width, bottom}) draws them: step is from
// one to the next, wide the width of one, and x(bar) its left edge.
function columnChart({ size, label, bars, words, ranksOf }, draw) {
  let at = -1, plot = 1;
  const show = (bar, x, y) => {
    at = bar >= 0 && bar < bars(plot) ? bar : -1;
    if (at < 0) tooltip.hide();
    else tooltip.show(x, y, words(at));
  };
  const barAt = (event) => Math.floor((event.offsetX - axisWidth) / plot * bars(plot));
  const mark = (bar) => ranksOf(bar) && setHighlight(toggled(ranksOf(bar)));
  const key = (event) => {
    const n = bars(plot), by = { ArrowLeft: -1, ArrowRight: 1, Home: -n, End: n }[event.key];
    if (event.key === "Escape") show(-1);
    if (event.key === "Enter" && at >= 0) mark(at);
    if (!by) return;
    event.preventDefault();
    const box = event.target.getBoundingClientRect(), bar = clamp(at + by, 0, n - 1);
    show(bar, box.left + axisWidth + (bar + .5) * plot / n, box.top + box.height / 2);
  };
  return canvas({
    class: "chart " + size, tabindex: 0, role: "img", "aria-label": label, onkeydown: key,
    onmousemove: (event) => show(barAt(event), event.clientX, event.clientY),
    onmouseleave: () => show(-1), onblur: () => show(-1), onclick: (event) => mark(barAt(event)),
  }, (context, width, height) => {
    plot = width - axisWidth - 4;
    const n = bars(plot), step = plot / n;
    const wide = step > 6 ? Math.min(64, step * .85) : step > 3 ? step - 1 : Math.ceil(step);
    const x = (bar) => Math.round(axisWidth + (bar + .5) * step - wide / 2);
    draw(context, { n, step, wide, x, left: axisWidth, width, bottom: height - 20 });
  });
}

// rankChart returns a chart of stacked bars, one for each entry of job.ranks, or for
// several if there is not enough room. Options: label, layers ({name, color, values}: ns, and
// a variable of the theme or #rrggbb), order (indices of entries), size (a class), and mean,
// where a line is drawn.
function rankChart(ranks, options) {
  const { order, label, size, layers, mean } = options;
  const total = (i) => layers.reduce((sum, l) => sum + (l.values[i] || 0), 0);
  const top = (i) => Math.max(total(i), options.most ? options.most[i] : 0);
  const largest = order.reduce((m, i) => Math.max(m, top(i)), 1);
  let shown = 1;
  const bars = (plot) => (shown = clamp(Math.floor(plot), 1, order.length));
  const firstOf = (bar) => Math.floor(bar * order.length / shown);
  const entriesOf = (bar) => order.slice(firstOf(bar), firstOf(bar + 1));
  const ranksOf = (bar) => ranksIn(ranks, entriesOf(bar));
  const words = (bar) => rankWords(ranks, options, entriesOf(bar), total);
  return columnChart({ size, label, bars, words, ranksOf }, (context, { n, step, wide, x, left, width, bottom }) => {
    const scale = (bottom - 14) / largest;
    timeAxis(context, largest, left, width, bottom, scale);
    const style = { wide, bottom, scale, top, colors: layers.map((l) => cssColor(l.color)), mark: cssColor("--mark") };
    for (let bar = 0; bar < n; bar++) drawStack(context, x(bar), ranks, options, entriesOf(bar), style);
    if (mean) meanLine(context, mean, left, width, bottom - mean * scale);
    const one = n * step / order.length, every = Math.max(1, roundStep(60 / one));
    for (let k = 0; k < order.length; k += every) {
      const text = (k === 0 ? "rank " : "") + ranks.rank[order[k]];
      drawText(context, text, left + (k + .5) * one, bottom + 6, { align: "center", baseline: "top" });
    }
  });
}

// drawStack draws the means of some entries, and behind them the largest in a lighter colour.
function drawStack(context, x, ranks, options, entries, { wide, bottom, scale, top, colors, mark }) {
  const marked = isMarked(ranksIn(ranks, entries));
  const color = (k) => (marked && colors.length === 1 ? mark : colors[k]);
  const width = marked ? Math.max(2, wide) : wide;
  if (entries.length > 1 || options.most) {
    const tall = scale * entries.reduce((m, i) => Math.max(m, top(i)), 0);
    context.globalAlpha = .45;
    fillBox(context, color(0), x, bottom - tall, width, tall);
    context.globalAlpha = 1;
  }
  let y = bottom;
  options.layers.forEach((l, k) => {
    const tall = scale * entries.reduce((sum, i) => sum + (l.values[i] || 0), 0) / entries.length;
    fillBox(context, color(k), x, y -= tall, width, tall);
  });
  if (marked) fillBox(context, mark, x, bottom + 1, width, 4);
}

// ranksIn returns the world ranks of entries. Those of a block may have gaps.
function ranksIn(ranks, entries) {
  if (ranks.block === 1) return entries.map((i) => ranks.rank[i]);
  return entries.flatMap((i) => {
    const first = ranks.rank[i];
    return Array.from({ length: ranks.last_rank[i] - first + 1 }, (_, k) => first + k);
  });
}

function entryName(ranks, i) {
  const list = ranksIn(ranks, [i]);
  return list.length === 1 ? "rank " + list[0] : `ranks ${list[0]}–${list[list.length - 1]}, mean`;
}

// rankWords returns the text of the tooltip: the values of an entry, or the means of several.
function rankWords(ranks, options, entries, total) {
  const one = entries.length === 1;
  const of = (value) => entries.reduce((sum, i) => sum + value(i), 0) / entries.length;
  const time = (ns) => ns < 1e3 ? duration(ns) : `${duration(ns)} (${count(Math.round(ns))} ns)`;
  const host = ranks.host[entries[0]], onHost = host >= 0 && ranks.hosts.length > 1 ? " on " + ranks.hosts[host] : "";
  const [first, last] = [entries[0], entries[entries.length - 1]].map((i) => entryName(ranks, i));
  const several = `mean of ${count(entries.length)} ${ranks.block > 1 ? "blocks" : "ranks"}, ${first} to ${last}`;
  const words = [one ? first + onHost : several];
  for (const l of options.layers) {
    const known = entries.some((i) => l.values[i] !== null), mean = of((i) => l.values[i]);
    if (!known || mean > 0) words.push(`${l.name}: ${known ? time(mean) : "not known"}`);
  }
  if (!one || options.most) {
    const key = options.most ? (i) => options.most[i] : total;
    const most = entries.reduce((a, b) => (key(b) > key(a) ? b : a));
    words.push(options.most ? `longest: rank ${ranks.useful_most_rank[most]}, ${time(options.most[most])}`
      : `longest: ${entryName(ranks, most)}, ${time(total(most))}`);
  }
  return words.join("\n");
}

// timeAxis draws lines at round times.
function timeAxis(context, largest, left, width, bottom, scale) {
  const step = roundStep(largest / Math.max(2, largest * scale / 24));
  for (let t = 0; t <= largest; t += step) {
    const y = Math.round(bottom - t * scale);
    fillBox(context, "--line", left, y, width - left, 1);
    drawText(context, t ? short(duration(t)) : "0", left - 6, y, { align: "right" });
  }
}

// short removes zeros at the end of a rounded number: 1.00 s is 1 s.
const short = (text) => text.replace(/\.0+ |(\.\d*[1-9])0+ /, "$1 ");

function meanLine(context, mean, left, width, y) {
  const text = "mean " + duration(mean), size = context.measureText(text).width, ink = cssColor("--ink");
  fillBox(context, "--paper", width - size - 6, y - 15, size + 4, 14);
  for (let x = left; x < width; x += 7) fillBox(context, ink, x, y, 4, 1);
  drawText(context, text, width - 4, y - 1, { color: ink, align: "right", baseline: "bottom" });
}

const waitColors = [
  "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
  "#f0e442", "#882255", "#44aa99", "#999933", "#aa4499", "#6699cc",
];

// timeLayers returns the layers for activities, or for waits. Layers without time are
// left out.
function timeLayers({ ranks }, { activities }, what) {
  const colorOf = (i) => i === 0 ? "--outside" : i === activities.length - 1 ? "--others" : activities[i].color;
  const wait = (name, i) => ({ name, color: waitColors[i % waitColors.length], values: ranks.waits[name] });
  const activity = ({ name }, i) => ({ name, color: colorOf(i), values: ranks.activity_ns[i] });
  const layers = what === "waits" ? Object.keys(ranks.waits).sort().map(wait) : activities.map(activity);
  return layers.filter((l) => l.values.some((v) => v > 0));
}

// layerLegend returns the names of layers with their shares of what all ranks did.
function layerLegend(layers) {
  const sums = layers.map((l) => l.values.reduce((a, b) => a + b, 0)), all = sums.reduce((a, b) => a + b, 0) || 1;
  return legend(layers.map((l, k) => [`${l.name} ${percent(sums[k] / all)}`, l.color]));
}

// timeChart returns the chart of all ranks with its controls.
function timeChart(job, data) {
  const { ranks } = job;
  const waitsOf = (i) => Object.values(ranks.waits).reduce((sum, column) => sum + column[i], 0);
  const waited = ranks.waits && ranks.rank.map((_, i) => waitsOf(i));
  const orders = { rank: null, computing: ranks.useful_ns, MPI: ranks.mpi_ns, ...(waited && { waiting: waited }) };
  let order = "rank", what = "activities";
  const box = h("div");
  const draw = () => {
    const entries = [...ranks.rank.keys()], key = orders[order];
    if (key) entries.sort((a, b) => (key[b] || 0) - (key[a] || 0));
    const layers = timeLayers(job, data, what);
    const label = `Time of each rank by ${what}, in order of ${order}. The table below has the values.`;
    box.replaceChildren(rankChart(ranks, { layers, order: entries, size: "high", label }), layerLegend(layers));
  };
  draw();
  const orderNames = Object.keys(orders).map((o) => [o, o === "rank" ? "by rank" : "most " + o + " first"]);
  const kinds = [["activities", "activities"], ["waits", "waits by kind"]];
  return [h("div", { class: "controls" }, choice("order", orderNames, order, (v) => { order = v; draw(); }),
    waited && choice("show", kinds, what, (v) => { what = v; draw(); })), box];
}

// barChart returns a chart of bars, with a choice if it has several series. A bar of ranks
// highlights those that compute for its time.
function barChart(ranks, { title, series }) {
  let { bars } = series[0];
  const within = ({ from, to }, i) => ranks.useful_ns[i] >= from && ranks.useful_ns[i] <= to;
  const ranksOf = (bar) => bars[bar]?.to && ranksIn(ranks, [...ranks.rank.keys()].filter((i) => within(bars[bar], i)));
  const options = { size: "low", label: title, bars: () => bars.length, words: (bar) => bars[bar].text, ranksOf };
  const chart = columnChart(options, (context, { step, wide, x, left, width, bottom }) => {
    const most = bars.reduce((m, b) => Math.max(m, b.n), 1);
    bars.forEach((bar, k) => {
      const tall = bar.n ? Math.max(2, bar.n / most * (bottom - 12)) : 0, middle = x(k) + wide / 2;
      const color = highlight.ranks && isMarked(ranksOf(k) || []) ? "--mark" : "--compute";
      fillBox(context, color, x(k), bottom - tall, wide, tall);
      if (k % Math.ceil(56 / step) === 0) drawText(context, bar.name, middle, bottom + 10, { align: "center" });
    });
    drawText(context, count(most), left - 6, 16, { align: "right" });
    drawText(context, "0", left - 6, bottom - 4, { align: "right" });
    fillBox(context, "--faint", left, bottom, width - left, 1);
  });
  const names = series.map(({ name }, i) => [String(i), name]);
  const chosen = series.length > 1 && choice("of", names, "0", (i) => { bars = series[i].bars; chart.redraw(); });
  return h("div", null, h("h3", null, title, chosen && [" ", chosen]), chart);
}

// rankTable returns the table of the columns of ranks. The key of a column is the path to its
// values; those of "host" are indices in "hosts".
function rankTable(ranks, caption, columns) {
  const value = ({ key, unit }) => {
    const values = key.split(".").reduce((of, part) => of?.[part], ranks) || [];
    const names = unit === "" && ranks[key + "s"];
    return (i) => (names ? names[values[i]] : values[i]);
  };
  const columnOf = (c) => ({ head: c.head, note: c.help, numeric: c.unit !== "", value: value(c),
    text: c.unit === "ns" ? (i) => exactCell(value(c)(i), "ns") : undefined });
  const words = columns.filter((c) => c.unit === "" || c.unit === "rank").map(value);
  return table(columns.map(columnOf), [...ranks.rank.keys()], { id: "ranks", caption, limit: 12,
    filter: (i) => words.map((of) => of(i)).join(" ") });
}
