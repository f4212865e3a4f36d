// Orders of the ranks in the matrix: the best one found, and order files.

// bestOrder returns the best order found for the matrix: the ranks in the order of their slots,
// and the index in hosts of each rank's node. It is null if there is none.
function bestOrder(placement, hosts) {
  if (!placement) return null;
  const { slot, placed } = placement;
  const order = Uint32Array.from(slot.keys()).sort((a, b) => slot[a] - slot[b]);
  const nodes = placed.flatMap(({ node, ranks }) => parseRanks(ranks).map((rank) => [rank, hosts.indexOf(node)]));
  return { order, hostOf: new Map(nodes) };
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
