// What the page draws of a report itself: charts, and tables of the columns of its data.

// The section that is not made by Go yet.
const sections = [["placement", "Placement", placementSection]];

// drawings return the elements of drawings by their name.
const drawings = {
  matrix: ({ job }) => job.matrices.length > 0 && matrixView({ sheets: job.matrices, ranks: job.ranks,
    pairs: job.pairs || served.pairs, placement: job.placement }),
  sizes: ({ job }) => sizeChart(job.sizes),
  times: ({ job, data }) => job.ranks.activity_ns.some((column) => column.some((ns) => ns > 0)) && timeChart(job, data),
  histogram: ({ job }) => histogram(job.ranks),
  ranks: ({ job }, { title, columns }) => rankTable(job.ranks, title, columns),
  timeline: ({ job, data }) => new TimelineChart(job, data.activities).element,
};

// facts returns a list of names and values. Missing values are left out.
function facts(...pairs) {
  const known = pairs.filter((p) => p && p[1]);
  return h("dl", { class: "list" }, known.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

const bullets = (items) => items.length > 0 && h("ul", { class: "plain" }, items.map((i) => h("li", null, i)));

// seconds returns s as a duration, with its standard error if it is an estimate.
const seconds = (s, error) => isMissing(s) ? "–" : duration(1e9 * s) + (error ? " ± " + duration(1e9 * error) : "");

// ranksText returns "rank 3" or "ranks 0-2, 5" from the text of a set of ranks.
const ranksText = (set) => (/^\d+$/.test(set) ? "rank " : "ranks ") + set.replaceAll(",", ", ");

// sizeChart draws the messages of each size class, of one call or all.
function sizeChart(list) {
  const used = list.flatMap((c) => c.sizes.map((z) => z.size_class));
  const first = Math.min(...used), n = Math.max(...used) - first + 1;
  const barsOf = (call) => Array.from({ length: n }, (_, k) => {
    const least = first + k ? 2 ** (first + k - 1) : 0;
    const here = list.filter((c) => !call || c.call === call).flatMap((c) => c.sizes)
      .filter((z) => z.size_class === first + k);
    const [messages, sent] = ["messages", "bytes"].map((of) => here.reduce((sum, z) => sum + z[of], 0));
    const words = `${sizeRange(least)}: ${plural(messages, "message")}, ${bytes(sent)}`;
    return { n: messages, name: short(bytes(least)), words };
  });
  let bars = barsOf("");
  const chart = barChart("Messages by size. The table below has the values.", () => bars);
  const calls = [["", "all calls"], ...list.map((c) => [c.call, c.call])];
  const chosen = choice("messages by size, of", calls, "", (call) => { bars = barsOf(call); chart.redraw(); });
  return h("div", null, h("div", { class: "controls" }, chosen), chart);
}

const sizeRange = (least) => least ? `${short(bytes(least))} to < ${short(bytes(2 * least))}` : "0 B";
