// Where ranks run: what orders of the ranks cost, the best one found, and order files. Also the
// patterns that the matrix is made of.

// bestOrder returns the best order found for the matrix: the ranks in the order of their slots,
// and the index in hosts of each rank's node. It is null if there is none.
function bestOrder(placement, hosts) {
  if (!placement) return null;
  const { slot, placed } = placement;
  const order = Uint32Array.from(slot.keys()).sort((a, b) => slot[a] - slot[b]);
  const nodes = placed.flatMap(({ node, ranks }) => parseRanks(ranks).map((rank) => [rank, hosts.indexOf(node)]));
  return { order, hostOf: new Map(nodes) };
}

// placementSection compares orders of the ranks. It has the numbers and words of
// `mpitrace reorder`.
function placementSection({ job: { placement: answer } }) {
  if (!answer) return null;
  const distances = answer.levels.map((l) => `${l.distance} ${within(l.level)}`);
  const last = distances.pop(), list = distances.length ? distances.join(", ") + " and " + last : last;
  return [
    h("p", null, "Orders are compared by their objective: the sum, over all pairs of ranks, of the bytes that they " +
      `send to each other × the distance of their slots, which is ${list}. Point-to-point and one-sided calls count, ` +
      "or collectives if there are none."),
    h("div", { class: "columns" }, rowsTable(answer), !answer.equal && !answer.near_best && placedTable(answer)),
    h("p", null, conclusion(answer), " ", answer.equal ? null : h("span", { class: "screen" },
      "In the matrix above, choose the order “best order found”. ",
      h("code", null, "mpitrace reorder RUN -o FILE"), " writes the launcher’s file.")),
  ];
}

// within returns "in a node" for the level of nodes.
function within(level) {
  if (level === "system") return "in the system";
  return /^l\d/.test(level) ? "in an " + level.toUpperCase() : "in a " + level;
}

function rowsTable({ orders, levels }) {
  const inner = levels.at(-2)?.level === "node" ? levels.slice(0, -1) : levels; // the last is what leaves a node
  const amount = (head, value) => bytesColumn(head, value);
  const flow = ({ largest_flow: f }) => (f.amount ? bytes(f.amount) + (f.from ? `, ${f.from} → ${f.to}` : "") : null);
  return table([
    textColumn("order", (r) => r.order), countColumn("objective", (r) => r.objective),
    numericColumn("ratio", (r) => r.ratio, "to the objective of the first row", (v) => v.toFixed(3)),
    amount("leave a node", (r) => r.leaves_node),
    inner.map((l, i) => amount(within(l.level), (r) => r.levels[i])),
    { head: "largest flow between nodes", numeric: true, value: (r) => r.largest_flow.amount, text: flow },
  ], orders, { caption: "What orders of the ranks cost; random is a mean" });
}

const placedTable = ({ placed }) => table(
  [textColumn("node", (n) => n.node), textColumn("ranks", (n) => rankList(parseRanks(n.ranks), 12))],
  placed, { caption: "The best order found", limit: 8, filter: (n) => n.node });

function conclusion({ equal, near_best: near, orders }) {
  const [ran, best] = orders, less = percent(1 - best.ratio);
  if (equal) return `There is nothing to gain: ${equal}.`;
  const none = "no better order than the present one was found";
  if (ran.objective === best.objective) return `There is nothing to gain: ${none}.`;
  if (near) return `There is little to gain: the best order found costs ${less} less than the present one.`;
  return `The best order found costs ${less} less than the present one: ` +
    `${bytes(best.leaves_node)} instead of ${bytes(ran.leaves_node)} leave a node.`;
}

// parseOrder reads an order file: world ranks, one in each line or with commas between them, as
// in Cray's MPICH_RANK_ORDER; comments after #. It throws an error that says what is wrong.
function parseOrder(text, ranks) {
  const lineOf = new Map(); // by rank, in the order of the file
  const wordsOf = (line, i) => line.replace(/#.*/, "").split(",").map((word) => [word.trim(), i]);
  const words = text.split(/\r?\n/).flatMap(wordsOf);
  words.forEach(([word, i]) => {
    const rank = Number(word);
    if (!word) return;
    if (!/^\d+$/.test(word) || rank >= ranks) {
      throw new Error(`line ${i + 1}: “${word.slice(0, 40)}” is not a rank from 0 to ${ranks - 1}`);
    }
    if (lineOf.has(rank)) throw new Error(`rank ${rank} is in line ${lineOf.get(rank)} and again in line ${i + 1}`);
    lineOf.set(rank, i + 1);
  });
  if (lineOf.size !== ranks) throw new Error(`the file has ${plural(lineOf.size, "rank")}, the job has ${ranks}`);
  return Uint32Array.from(lineOf.keys());
}
