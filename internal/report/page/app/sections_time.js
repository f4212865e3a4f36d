// What each rank spends its time on: the chart of bars by rank, and the section Time.

// rankChart returns a canvas of stacked bars, one for each entry of job.ranks, or for
// several if there is not enough room. Options: label, layers ({name, color(), values} in
// ns), order (indices of entries) and size (a class). mean is drawn as a line if it is set.
// The pointer or the arrow keys show values; a click highlights the ranks of a bar.
function rankChart(ranks, options) {
  const { layers, order } = options;
  const left = 56, low = 20, high = 14;
  const total = (i) => layers.reduce((sum, l) => sum + (l.values[i] || 0), 0);
  const top = (i) => Math.max(total(i), options.most ? options.most[i] : 0);
  const largest = order.reduce((m, i) => Math.max(m, top(i)), 1);
  let at = -1, bars = 1, plot = 1;
  const entriesOf = (bar) => order.slice(Math.floor(bar * order.length / bars), Math.floor((bar + 1) * order.length / bars));

  const element = canvas({ class: "chart " + options.size, tabindex: 0, role: "img", "aria-label": options.label,
    onmousemove: (e) => show(barAt(e.offsetX), e.clientX, e.clientY), onmouseleave: hide, onblur: hide, onkeydown: key,
    onclick: (e) => setHighlight(barAt(e.offsetX) < 0 ? null : toggled(entriesOf(barAt(e.offsetX)).flatMap((i) => ranksOf(ranks, i)))),
  }, draw);

  function barAt(x) {
    const bar = Math.floor((x - left) / plot * bars);
    return bar >= 0 && bar < bars ? bar : -1;
  }

  function show(bar, x, y) {
    at = bar;
    if (bar < 0) return hide();
    tooltip.show(x, y, rankWords(ranks, options, entriesOf(bar), total));
  }

  function hide() {
    at = -1;
    tooltip.hide();
  }

  function key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -bars, End: bars }[e.key];
    if (e.key === "Escape") return hide();
    if (e.key === "Enter" && at >= 0) return setHighlight(toggled(entriesOf(at).flatMap((i) => ranksOf(ranks, i))));
    if (!step) return;
    e.preventDefault();
    const box = element.getBoundingClientRect();
    const bar = Math.min(bars - 1, Math.max(0, at + step));
    show(bar, box.left + left + (bar + .5) * plot / bars, box.top + box.height / 2);
  }

  function draw(context, width, height) {
    plot = width - left - 4;
    bars = Math.max(1, Math.min(order.length, Math.floor(plot)));
    const scale = (height - low - high) / largest, bottom = height - low;
    timeAxis(context, largest, left, width, bottom, scale);
    const colors = layers.map((l) => l.color()), mark = cssColor("--mark");
    const step = plot / bars, wide = step > 6 ? Math.min(64, step * .85) : step > 3 ? step - 1 : Math.ceil(step);
    for (let bar = 0; bar < bars; bar++) {
      const entries = entriesOf(bar), x = Math.round(left + (bar + .5) * step - wide / 2);
      const marked = highlight.ranks && entries.some((i) => ranksOf(ranks, i).some((r) => highlight.ranks.has(r)));
      const most = entries.reduce((m, i) => Math.max(m, top(i)), 0);
      context.globalAlpha = .45;
      context.fillStyle = marked && layers.length === 1 ? mark : colors[0];
      if (entries.length > 1 || options.most) context.fillRect(x, bottom - most * scale, wide, most * scale);
      context.globalAlpha = 1;
      let y = bottom;
      layers.forEach((l, k) => {
        const mean = entries.reduce((sum, i) => sum + (l.values[i] || 0), 0) / entries.length;
        context.fillStyle = marked && layers.length === 1 ? mark : colors[k];
        context.fillRect(x, y - mean * scale, wide, mean * scale);
        y -= mean * scale;
      });
      context.fillStyle = mark;
      if (marked) context.fillRect(x, bottom + 1, Math.max(1, wide), 4);
    }
    if (options.mean) meanLine(context, options.mean, left, width, bottom - options.mean * scale);
    rankAxis(context, options, ranks, left, step, bottom, width, order.length / bars);
  }

  onHighlight(element.redraw);
  return element;
}

// toggled returns ranks, or null if they are highlighted already.
function toggled(list) {
  const now = highlight.ranks;
  return now && now.size === list.length && list.every((r) => now.has(r)) ? null : list;
}

// ranksOf returns the world ranks of an entry.
function ranksOf(ranks, i) {
  if (ranks.block === 1) return [ranks.rank[i]];
  const next = i + 1 < ranks.rank.length ? ranks.rank[i + 1] : ranks.rank[i] + ranks.block;
  return Array.from({ length: Math.min(ranks.block, next - ranks.rank[i]) }, (_, k) => ranks.rank[i] + k);
}

function entryName(ranks, i) {
  const list = ranksOf(ranks, i);
  return list.length === 1 ? "rank " + list[0] : `ranks ${list[0]}–${list[list.length - 1]}, mean`;
}

// rankWords returns the text of the tooltip: the values of an entry, or the means of several.
function rankWords(ranks, options, entries, total) {
  const one = entries.length === 1;
  const of = (value) => entries.reduce((sum, i) => sum + value(i), 0) / entries.length;
  const time = (ns) => ns < 1e3 ? duration(ns) : `${duration(ns)} (${count(Math.round(ns))} ns)`;
  const host = ranks.host[entries[0]];
  const words = [one ? entryName(ranks, entries[0]) + (host >= 0 && ranks.hosts.length > 1 ? " on " + ranks.hosts[host] : "")
    : `mean of ${count(entries.length)} ${ranks.block > 1 ? "blocks" : "ranks"}, ${entryName(ranks, entries[0])} to ${entryName(ranks, entries[entries.length - 1])}`];
  for (const l of options.layers) {
    const known = entries.some((i) => l.values[i] !== null);
    if (!known || of((i) => l.values[i]) > 0) words.push(`${l.name}: ${known ? time(of((i) => l.values[i])) : "not known"}`);
  }
  if (!one || options.most) {
    const most = entries.reduce((a, b) => (options.most ? options.most[b] > options.most[a] : total(b) > total(a)) ? b : a);
    words.push(options.most ? `longest: rank ${ranks.useful_most_rank[most]}, ${time(options.most[most])}`
      : `longest: ${entryName(ranks, most)}, ${time(total(most))}`);
  }
  return words.join("\n");
}

// timeAxis draws lines at round times.
function timeAxis(context, largest, left, width, bottom, scale) {
  const step = roundStep(largest / Math.max(2, largest * scale / 24));
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let t = 0; t <= largest; t += step) {
    const y = Math.round(bottom - t * scale);
    context.fillStyle = cssColor("--line");
    context.fillRect(left, y, width - left, 1);
    context.fillStyle = cssColor("--faint");
    context.fillText(t ? shortTime(t) : "0", left - 6, y);
  }
}

// roundStep returns the least of 1, 2, 5, 10, 20, … that is not below v.
function roundStep(v) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, v)));
  return [1, 2, 5, 10].map((m) => m * ten).find((s) => s >= v - 1e-9);
}

// shortTime is duration without zeros at the end: 1.00 s is 1 s.
function shortTime(ns) {
  return duration(ns).replace(/\.0+ |(\.\d*[1-9])0+ /, "$1 ");
}

function meanLine(context, mean, left, width, y) {
  context.strokeStyle = cssColor("--ink");
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(left, y);
  context.lineTo(width, y);
  context.stroke();
  context.setLineDash([]);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  const text = "mean " + duration(mean), size = context.measureText(text).width;
  context.fillStyle = cssColor("--paper");
  context.fillRect(width - size - 6, y - 15, size + 4, 14);
  context.fillStyle = cssColor("--ink");
  context.fillText(text, width - 4, y - 2);
}

function rankAxis(context, options, ranks, left, step, bottom, width, perBar) {
  context.fillStyle = cssColor("--faint");
  context.textBaseline = "top";
  if (options.ends) {
    context.textAlign = "left";
    context.fillText(options.ends[0], left, bottom + 6);
    context.textAlign = "right";
    context.fillText(options.ends[1], width - 4, bottom + 6);
    return;
  }
  let last = -Infinity;
  const n = options.order.length, every = Math.max(1, roundStep(n / Math.max(1, (width - left) / 60)));
  context.textAlign = "center";
  for (let k = 0; k < n; k += every) {
    const x = left + (k / perBar + .5) * step;
    if (x - last < 30) continue;
    context.fillText((k === 0 ? "rank " : "") + ranks.rank[options.order[k]], x, bottom + 6);
    last = x;
  }
}

// activityColor returns the colour of an activity in the page's theme.
function activityColor(activities, i) {
  if (i === 0) return cssColor("--outside");
  return i === activities.length - 1 ? cssColor("--others") : activities[i].color;
}

const waitColors = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#882255", "#44aa99", "#999933", "#aa4499", "#6699cc"];

// timeLayers returns the layers for activities, or for waits. Layers without time are
// left out.
function timeLayers(page, what) {
  const { ranks } = page.job;
  const layers = what === "waits"
    ? Object.keys(ranks.waits).sort().map((name, i) => ({ name, color: () => waitColors[i % waitColors.length], values: ranks.waits[name] }))
    : page.data.activities.map((a, i) => ({ name: a.name, color: () => activityColor(page.data.activities, i), values: ranks.activity_ns[i] }));
  return layers.filter((l) => l.values.some((v) => v > 0));
}

// waitSums returns the sum of the waits of each entry.
function waitSums(ranks) {
  return ranks.rank.map((_, i) => Object.values(ranks.waits).reduce((sum, column) => sum + column[i], 0));
}

// legend returns the names of layers with their colours and shares of what all ranks did.
function legend(layers) {
  const sums = layers.map((l) => l.values.reduce((a, b) => a + b, 0));
  const all = sums.reduce((a, b) => a + b, 0) || 1;
  return h("ul", { class: "legend" }, layers.map((l, k) => {
    const swatch = h("span", { class: "swatch" });
    const paint = () => { swatch.style.background = l.color(); };
    redraws.push(paint);
    paint();
    return h("li", null, swatch, `${l.name} ${percent(sums[k] / all)}`);
  }));
}

// timeChart returns the chart of all ranks with its controls.
function timeChart(page) {
  const { ranks } = page.job;
  const waited = ranks.waits && waitSums(ranks);
  const orders = { rank: null, computing: ranks.useful_ns, MPI: ranks.mpi_ns, ...(waited && { waiting: waited }) };
  let order = "rank", what = "activities";
  const box = h("div");
  const draw = () => {
    const entries = ranks.rank.map((_, i) => i);
    const key = orders[order];
    if (key) entries.sort((a, b) => (key[b] || 0) - (key[a] || 0));
    const layers = timeLayers(page, what);
    box.replaceChildren(rankChart(ranks, { layers, order: entries, size: "high", ends: key && ["most " + order, "least"],
      label: `Time of each rank by ${what}, in order of ${order}. The table below has the values.` }), legend(layers));
  };
  draw();
  return [h("div", { class: "controls" },
    choice("order", Object.keys(orders).map((o) => [o, o === "rank" ? "by rank" : "most " + o + " first"]), order, (v) => { order = v; draw(); }),
    waited && choice("show", [["activities", "activities"], ["waits", "waits by kind"]], what, (v) => { what = v; draw(); })), box];
}

// histogram returns a chart of how many ranks compute for how long.
function histogram(ranks) {
  const known = ranks.rank.map((_, i) => i).filter((i) => ranks.useful_ns[i] !== null);
  if (known.length < 8) return null;
  const low = known.reduce((m, i) => Math.min(m, ranks.useful_ns[i]), Infinity), high = known.reduce((m, i) => Math.max(m, ranks.useful_ns[i]), 0);
  const n = Math.min(40, Math.ceil(Math.sqrt(known.length)) + 1), width = (high - low) / n || 1;
  const bars = Array.from({ length: n }, (_, k) => ({ n: 0, ranks: [], name: duration(low + k * width) }));
  for (const i of known) {
    const bar = bars[Math.min(n - 1, Math.floor((ranks.useful_ns[i] - low) / width))];
    bar.n++;
    bar.ranks.push(...ranksOf(ranks, i));
  }
  const what = ranks.block > 1 ? "blocks of ranks" : "ranks";
  bars.forEach((bar, k) => { bar.words = `${count(bar.n)} ${what} compute from ${bar.name} to ${duration(low + (k + 1) * width)}`; });
  return h("div", { class: "wide" }, h("h3", null, `How many ${what} compute for how long`), barChart("Distribution of computing time", () => bars));
}

// barChart returns a chart of the bars that list returns: {n, name, words, ranks}. The
// pointer shows the words; a click highlights the ranks, if there are any.
function barChart(label, list) {
  const left = 56;
  const at = (e) => list()[Math.floor((e.offsetX - left) / (e.target.clientWidth - left) * list().length)] || {};
  const element = canvas({ class: "chart low", role: "img", "aria-label": label,
    onmousemove: (e) => (at(e).words ? tooltip.show(e.clientX, e.clientY, at(e).words) : tooltip.hide()), onmouseleave: () => tooltip.hide(),
    onclick: (e) => at(e).ranks && setHighlight(toggled(at(e).ranks)),
  }, (context, width, height) => {
    const bars = list(), step = (width - left) / bars.length, wide = Math.max(1, Math.min(64, step * .9)), base = height - 20;
    const most = bars.reduce((m, b) => Math.max(m, b.n), 1);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    bars.forEach((bar, k) => {
      const x = left + (k + .5) * step, tall = bar.n ? Math.max(2, bar.n / most * (base - 12)) : 0;
      context.fillStyle = cssColor(highlight.ranks && bar.ranks && bar.ranks.some((r) => highlight.ranks.has(r)) ? "--mark" : "--compute");
      context.fillRect(x - wide / 2, base - tall, wide, tall);
      context.fillStyle = cssColor("--faint");
      if (k % Math.ceil(56 / step) === 0) context.fillText(bar.name, x, height - 6);
    });
    context.textAlign = "right";
    context.fillText(count(most), left - 6, 20);
    context.fillText("0", left - 6, base);
    context.fillRect(left, base, width - left, 1);
  });
  onHighlight(element.redraw);
  return element;
}

function rankTable(page) {
  const { ranks } = page.job;
  const rows = ranks.rank.map((_, i) => i);
  const layers = timeLayers(page, "activities").filter((l) => l.values !== ranks.activity_ns[0]);
  const waits = ranks.waits ? timeLayers(page, "waits") : [];
  const columns = [{ head: ranks.block > 1 ? "first rank" : "rank", numeric: true, value: (i) => ranks.rank[i] }];
  if (ranks.hosts.length > 1) columns.push({ head: "host", value: (i) => ranks.hosts[ranks.host[i]] });
  if (ranks.state.some((s) => ranks.states[s] !== "finalized")) columns.push({ head: "end", value: (i) => ranks.states[ranks.state[i]].replace("running", "not finalized") });
  columns.push(timeColumn("application", (i) => ranks.application_ns[i], "from the end of MPI_Init to the start of MPI_Finalize"),
    timeColumn("computing", (i) => ranks.useful_ns[i], "outside MPI"), timeColumn("in MPI", (i) => ranks.mpi_ns[i]),
    ...layers.map((l) => timeColumn(l.name, (i) => l.values[i])), ...waits.map((l) => timeColumn(l.name, (i) => l.values[i], "wait")));
  return table(columns, rows, { caption: ranks.block > 1 ? `Means of blocks of ${ranks.block} ranks` : "Ranks", limit: 12, sort: undefined,
    filter: (i) => `${ranks.rank[i]} ${ranks.hosts[ranks.host[i]] || ""} ${ranks.states[ranks.state[i]]}` });
}
