// The numbers of a matrix: a sheet as a sparse matrix, the sums of coarser cells, and the
// order of the lines. Nothing here draws.

// exactArray returns values in an array in which every sum of them is exact. Numbers are, as
// long as the sum of all stays below 2^53; BigInts always are, but are slower.
function exactArray(values) {
  let total = 0;
  for (const v of values) total += Number(v);
  return total < 2 ** 53 ? Float64Array.from(values) : Array.from(values, BigInt);
}

// zeros returns n zeros of the type that an array of exactArray has.
function zeros(n, like) {
  return Array.isArray(like) ? new Array(n).fill(0n) : new Float64Array(n);
}

// sumOf returns the exact sum of whole numbers.
function sumOf(values) {
  const exact = exactArray(values);
  return exact.reduce((a, b) => a + b, zeros(1, exact)[0]);
}

// readSheet returns the matrix of a sheet: the entries of line i are those from starts[i] to
// starts[i+1], by column.
function readSheet(sheet) {
  const starts = new Uint32Array(sheet.lines + 1), columns = new Uint32Array(sheet.columns.length);
  for (let row = 0, entry = 0; row < sheet.lines; row++) {
    starts[row + 1] = starts[row] + sheet.entries[row];
    for (let column = row; entry < starts[row + 1]; entry++) {
      column += sheet.columns[entry];
      columns[entry] = column;
    }
  }
  const bytes = exactArray(sheet.bytes), messages = exactArray(sheet.messages);
  return { lines: sheet.lines, starts, columns, bytes, messages, cache: new Map() };
}

// membersOf returns the lines of each group: those of group g are items[starts[g]] to
// items[starts[g+1]-1].
function membersOf(groupOf, groups) {
  const starts = new Uint32Array(groups + 1), items = new Uint32Array(groupOf.length);
  for (const g of groupOf) starts[g + 1]++;
  for (let g = 0; g < groups; g++) starts[g + 1] += starts[g];
  const next = starts.slice();
  groupOf.forEach((g, line) => { items[next[g]++] = line; });
  return { starts, items };
}

// regroup returns the matrix in which line i of m is added to line groupOf[i]. It also puts
// lines in another order: then each group has one line.
function regroup(m, groupOf, lines) {
  const members = membersOf(groupOf, lines);
  const starts = new Uint32Array(lines + 1), columns = new Uint32Array(m.columns.length);
  const bytes = zeros(columns.length, m.bytes), messages = zeros(columns.length, m.messages);
  const entryOf = new Int32Array(lines).fill(-1); // by column: its entry in the current row
  let end = 0;
  for (let group = 0; group < lines; group++) {
    const first = end;
    const each = (visit) => {
      for (let i = members.starts[group]; i < members.starts[group + 1]; i++) {
        const row = members.items[i];
        for (let e = m.starts[row]; e < m.starts[row + 1]; e++) visit(groupOf[m.columns[e]], e);
      }
    };
    each((column) => {
      if (entryOf[column] >= first) return;
      entryOf[column] = end;
      columns[end++] = column;
    });
    columns.subarray(first, end).sort().forEach((column, i) => { entryOf[column] = first + i; });
    each((column, e) => {
      bytes[entryOf[column]] += m.bytes[e];
      messages[entryOf[column]] += m.messages[e];
    });
    starts[group + 1] = end;
  }
  return {
    lines, starts, columns: columns.slice(0, end), bytes: bytes.slice(0, end),
    messages: messages.slice(0, end), cache: new Map(),
  };
}

// remembered returns what make() returned the first time for this matrix and key.
function remembered(m, key, make) {
  if (!m.cache.has(key)) m.cache.set(key, make());
  return m.cache.get(key);
}

// lowerBound returns the first index from start to end at which values[index] >= value.
function lowerBound(values, value, start = 0, end = values.length) {
  while (start < end) {
    const middle = (start + end) >> 1;
    if (values[middle] < value) start = middle + 1;
    else end = middle;
  }
  return start;
}

// amounts returns what a cell holds.
function amounts(m, row, column) {
  const e = lowerBound(m.columns, column, m.starts[row], m.starts[row + 1]);
  if (e === m.starts[row + 1] || m.columns[e] !== column) return { bytes: 0, messages: 0 };
  return { bytes: m.bytes[e], messages: m.messages[e] };
}

// lineTotals returns what each line sent (its row) and received (its column).
function lineTotals(m) {
  return remembered(m, "totals", () => {
    const empty = () => ({ bytes: zeros(m.lines, m.bytes), messages: zeros(m.lines, m.messages) });
    const sent = empty(), received = empty();
    for (let row = 0; row < m.lines; row++) {
      for (let e = m.starts[row]; e < m.starts[row + 1]; e++) {
        for (const [totals, line] of [[sent, row], [received, m.columns[e]]]) {
          totals.bytes[line] += m.bytes[e];
          totals.messages[line] += m.messages[e];
        }
      }
    }
    return { sent, received };
  });
}

// quantityValues returns bytes, messages or the mean size as floating-point numbers.
function quantityValues({ bytes, messages }, quantity) {
  const values = Float64Array.from(quantity === "messages" ? messages : bytes, Number);
  if (quantity === "mean") values.forEach((v, i) => { values[i] = v && v / Number(messages[i]); });
  return values;
}

// entryValues returns the values of a matrix's entries, the least above 0 and the greatest.
function entryValues(m, quantity) {
  return remembered(m, quantity, () => {
    const values = quantityValues(m, quantity);
    let least = Infinity, greatest = 0;
    for (const v of values) {
      if (v > 0 && v < least) least = v;
      if (v > greatest) greatest = v;
    }
    return { values, least, greatest };
  });
}

// pairUp returns the starts of cells twice as large. Two cells with a fence between them stay
// apart, until every cell begins at a fence.
function pairUp(starts, fences) {
  const coarse = [0];
  let cells = 1; // since the last start
  for (let i = 1; i < starts.length - 1; i++) {
    if (cells === 2 || fences.has(starts[i])) {
      coarse.push(starts[i]);
      cells = 0;
    }
    cells++;
  }
  coarse.push(starts[starts.length - 1]);
  return coarse.length === starts.length ? pairUp(starts, new Set()) : Uint32Array.from(coarse);
}

// coarsest is the number of lines below which no coarser level is needed: the smallest
// picture has room for them.
const coarsest = 48;

// arrange says where lines are drawn. order holds the line at each position; null means that
// position and line are the same. nodeOf (by line, or null) puts the fences between nodes.
// Cell i of levels[k] covers the positions levels[k][i] to levels[k][i+1]-1.
function arrange(lines, order, nodeOf) {
  const fences = new Set();
  for (let p = 1; nodeOf && p < lines; p++) if (nodeOf[order[p]] !== nodeOf[order[p - 1]]) fences.add(p);
  const levels = [Uint32Array.from({ length: lines + 1 }, (_, i) => i)];
  const nodes = nodeOf ? fences.size + 1 : lines;
  let last = levels[0];
  while (last.length - 1 > Math.min(coarsest, nodes)) {
    levels.push(last = pairUp(last, fences));
  }
  const nodeLevel = nodeOf ? levels.findIndex((starts) => starts.length === nodes + 1) : -1;
  return { lines, order, fences, levels, nodeLevel };
}

// cellsOf returns for each position the cell that holds it, numbered by starts.
function cellsOf(starts) {
  const cells = new Uint32Array(starts[starts.length - 1]);
  for (let i = 0; i + 1 < starts.length; i++) cells.fill(i, starts[i], starts[i + 1]);
  return cells;
}

// levelMatrix returns the matrix of one level. Each level is the sum of the one before it.
function levelMatrix(base, arrangement, level) {
  if (level === 0 && !arrangement.order) return base;
  return remembered(base, arrangement.key + " " + level, () => {
    if (level === 0) {
      const positions = new Uint32Array(arrangement.lines);
      arrangement.order.forEach((line, position) => { positions[line] = position; });
      return regroup(base, positions, arrangement.lines);
    }
    const [finer, starts] = [arrangement.levels[level - 1], arrangement.levels[level]];
    const cells = cellsOf(starts);
    const groupOf = Uint32Array.from(finer.subarray(0, -1), (start) => cells[start]);
    return regroup(levelMatrix(base, arrangement, level - 1), groupOf, starts.length - 1);
  });
}

// parseOrder reads an order file: one world rank in each line, comments after #. It throws
// an error that says what is wrong.
function parseOrder(text, ranks) {
  const order = [], lineOf = new Map();
  text.split(/\r?\n/).forEach((line, i) => {
    const word = line.replace(/#.*/, "").trim();
    if (!word) return;
    const rank = Number(word);
    if (!/^\d+$/.test(word) || rank >= ranks) {
      throw new Error(`line ${i + 1}: “${word.slice(0, 40)}” is not a rank from 0 to ${ranks - 1}`);
    }
    if (lineOf.has(rank)) throw new Error(`rank ${rank} is in line ${lineOf.get(rank)} and again in line ${i + 1}`);
    lineOf.set(rank, i + 1);
    order.push(rank);
  });
  if (order.length !== ranks) throw new Error(`the file has ${plural(order.length, "rank")}, the job has ${ranks}`);
  return Uint32Array.from(order);
}

// rankList returns ranks as ranges: "0–3, 8, 12–15". Long lists end with their length.
function rankList(ranks) {
  const ranges = [];
  for (const rank of Uint32Array.from(ranks).sort()) {
    const last = ranges[ranges.length - 1];
    if (last && last[1] === rank - 1) last[1] = rank;
    else ranges.push([rank, rank]);
  }
  const texts = ranges.slice(0, 4).map(([a, b]) => (a === b ? String(a) : a + "–" + b));
  return texts.join(", ") + (ranges.length > 4 ? ", … (" + plural(ranks.length, "rank") + ")" : "");
}
