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

// ranksText returns "rank 3" or "ranks 0-2, 5" from the text of a set of ranks.
const ranksText = (set) => (/^\d+$/.test(set) ? "rank " : "ranks ") + set.replaceAll(",", ", ");
