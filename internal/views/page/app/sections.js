// What the page draws of a report itself: charts, and tables of the columns of its data.

// drawings return the elements of drawings by their name.
const drawings = {
  matrix: ({ job }) => job.matrices.length > 0 && matrixView({ sheets: job.matrices, ranks: job.ranks,
    pairs: job.pairs || served.pairs, placement: job.placement }),
  times: ({ job, data }) => job.ranks.activity_ns.some((column) => column.some((ns) => ns > 0)) && timeChart(job, data),
  scaling: (page, drawing) => scalingView(drawing.table),
  bars: ({ job }, drawing) => barChart(job.ranks, drawing),
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
