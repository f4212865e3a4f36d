// What the page draws of a report itself, and sections that are not made by Go yet.

const sections = [
  ["time", "Time", timeSection], ["placement", "Placement", placementSection], ["waits", "Waits", waitsSection],
  ["timeline", "Timeline", timelineSection], ["settings", "Settings", settingsSection],
];

// drawings return the elements of drawings by their name.
const drawings = {
  matrix: ({ job }) => job.matrices.length > 0 && matrixView({ sheets: job.matrices, ranks: job.ranks,
    pairs: job.pairs || served.pairs, placement: job.placement }),
  sizes: ({ s }) => sizeChart(s.message_sizes),
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

const timed = (s) => s.timing !== "off";

function timeSection(page) {
  const { job } = page, p = job.analysis && job.analysis.pop;
  const active = job.ranks.activity_ns.some((column) => column.some((ns) => ns > 0));
  return [active && timeChart(page),
    h("div", { class: "columns" }, histogram(job.ranks), p && efficiencyTable(p)), rankTable(page)];
}

function efficiencyTable(p) {
  const runtime = seconds(p.runtime_s), ideal = seconds(p.ideal_runtime_s);
  const mean = seconds(p.useful_mean_s), most = seconds(p.useful_max_s);
  const busiest = `rank ${p.useful_max_rank} computes ${most}`;
  const because = textColumn("because", (r) => r[2]);
  return table([textColumn("efficiency", (r) => r[0]), percentColumn("", (r) => r[1]), because], [
    ["parallel efficiency", p.parallel_efficiency, `ranks compute ${mean} of ${runtime} on average`],
    ["load balance", p.load_balance, `${busiest}, the mean is ${mean}`],
    ["communication", p.communication_efficiency, `${busiest} of ${runtime}`],
    ["– serialisation", p.serialisation, `${most} of ${ideal} on an ideal network`],
    ["– transfer", p.transfer, `${ideal} of ${runtime}; the rest is lost in messages and calls`],
  ], { caption: "Efficiencies from the trace" });
}

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

// timingWords says what each value of --timing means.
const timingWords = {
  exact: "exact: every call", sampled: "sampled: times are estimates, ± is one standard error",
  off: "off: calls, messages and bytes are exact",
};

function settingsSection({ s, data }) {
  const run = data.run || {}, settings = run.settings || [], variables = run.cvars || [];
  return [
    facts(
      ["timing", timingWords[s.timing] || s.timing],
      ["nonblocking receives", s.receives === "on" ? "followed" : "not followed: what they received is not known"],
      ["launched by", run.command && h("span", { class: "code" }, run.command.join(" "))],
      ["in", run.working_directory], ["mpitrace", run.mpitrace]),
    h("div", { class: "columns" },
      settings.length > 0 && table([
        textColumns({ "setting of mpitrace": "name", value: "value" }), textColumn("from", (v) => v.set_by || v.source),
      ], settings, { caption: "Settings that are not the default" }),
      s.variables.length > 0 && table(
        textColumns({ "MPI variable": "name", value: "value", from: "from", ranks: "ranks", refused: "refused" }),
        s.variables, { caption: "MPI variables that the user set", filter: (v) => v.name }),
      variables.length > 0 && table(textColumns({ variable: "name", value: "value", default: "default" }), variables,
        { caption: "Control variables of the MPI that are not the default", filter: (v) => v.name, limit: 10 })),
  ];
}
