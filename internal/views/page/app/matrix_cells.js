// The numbers of a matrix: a sheet as a sparse matrix, the sums of coarser cells, and the
// order of the lines. Nothing here draws.

// exactArray returns values in an array in which every sum of them is exact: numbers if the
// sum of all is below 2^53, otherwise BigInts, which are slower.
function exactArray(values) {
  let total = 0;
  for (const v of values) total += Number(v);
  return total < 2 ** 53 ? Float64Array.from(values, Number) : Array.from(values, BigInt);
}

// zeros returns n zeros of the type that an array of exactArray has.
const zeros = (n, like) => Array.isArray(like) ? new Array(n).fill(0n) : new Float64Array(n);

// sumOf returns the exact sum of whole numbers.
function sumOf(values) {
  const exact = exactArray(values);
  return exact.reduce((a, b) => a + b, zeros(1, exact)[0]);
}

// readSheet returns the matrix of a sheet: the entries of line i are those from starts[i] to
// starts[i+1], by column. cache holds what is computed from it later.
function readSheet(sheet) {
  const { lines } = sheet;
  const starts = new Uint32Array(lines + 1), columns = new Uint32Array(sheet.columns.length);
  for (let row = 0, entry = 0; row < lines; row++) {
    starts[row + 1] = starts[row] + sheet.entries[row];
    for (let column = row; entry < starts[row + 1]; entry++) columns[entry] = column += sheet.columns[entry];
  }
  const bytes = exactArray(sheet.bytes), messages = exactArray(sheet.messages);
  return { lines, starts, columns, bytes, messages, cache: new Map() };
}

// regroup returns the matrix in which line i of m is part of line groupOf[i]. With one line
// in each group it puts the lines in another order.
function regroup(m, groupOf, lines) {
  const starts = new Uint32Array(lines + 1), columns = new Uint32Array(m.columns.length);
  const bytes = zeros(columns.length, m.bytes), messages = zeros(columns.length, m.messages);
  const entryOf = new Int32Array(lines).fill(-1); // by column: its entry in the current row
  const members = Array.from({ length: lines }, () => []);
  groupOf.forEach((group, line) => members[group].push(line));
  let end = 0;
  members.forEach((rows, group) => {
    const first = end;
    const each = (visit) => {
      for (const row of rows) for (let e = m.starts[row]; e < m.starts[row + 1]; e++) visit(groupOf[m.columns[e]], e);
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
  });
  const [c, b, n] = [columns, bytes, messages].map((array) => array.slice(0, end));
  return { lines, starts, columns: c, bytes: b, messages: n, cache: new Map() };
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
  const end = m.starts[row + 1], e = lowerBound(m.columns, column, m.starts[row], end);
  const found = e < end && m.columns[e] === column;
  return found ? { bytes: m.bytes[e], messages: m.messages[e] } : { bytes: 0, messages: 0 };
}

// lineTotals returns what each line sent (the sum of its row) and received (of its column).
function lineTotals(m) {
  return remembered(m, "totals", () => {
    const empty = () => ({ bytes: zeros(m.lines, m.bytes), messages: zeros(m.lines, m.messages) });
    const sent = empty(), received = empty();
    for (let row = 0; row < m.lines; row++) {
      for (let e = m.starts[row]; e < m.starts[row + 1]; e++) {
        for (const quantity of ["bytes", "messages"]) {
          sent[quantity][row] += m[quantity][e];
          received[quantity][m.columns[e]] += m[quantity][e];
        }
      }
    }
    return { sent, received };
  });
}

// quantityValues returns bytes, messages or the mean size as floating-point numbers.
function quantityValues({ bytes, messages }, quantity) {
  const values = Float64Array.from(quantity === "messages" ? messages : bytes, Number);
  return quantity === "mean" ? values.map((v, i) => v && v / Number(messages[i])) : values;
}

// entryValues returns the values of a matrix's entries, the least above 0 and the greatest.
function entryValues(m, quantity) {
  return remembered(m, quantity, () => {
    const values = quantityValues(m, quantity);
    const least = values.reduce((a, v) => (v > 0 && v < a ? v : a), Infinity);
    return { values, least, greatest: values.reduce((a, v) => Math.max(a, v), 0) };
  });
}

// pairUp returns the starts of cells twice as large. Two cells with a fence between them stay
// apart until every cell begins at a fence.
function pairUp(starts, fences) {
  const coarse = [0];
  for (let i = 1, cells = 1; i < starts.length - 1; i++, cells++) {
    if (cells < 2 && !fences.has(starts[i])) continue;
    coarse.push(starts[i]);
    cells = 0;
  }
  coarse.push(starts[starts.length - 1]);
  return coarse.length === starts.length ? pairUp(starts, new Set()) : Uint32Array.from(coarse);
}

// arrange says where lines are drawn. order holds the line at each position. nodeOf (by line,
// or null) puts fences between nodes. Cell i of levels[k] covers the positions levels[k][i]
// to levels[k][i+1]-1; in levels[nodeLevel] a cell is one node.
function arrange(order, nodeOf) {
  const lines = order.length, positions = new Uint32Array(lines), fences = new Set();
  order.forEach((line, p) => {
    positions[line] = p;
    if (nodeOf && p > 0 && nodeOf[line] !== nodeOf[order[p - 1]]) fences.add(p);
  });
  const nodes = nodeOf ? fences.size + 1 : lines, levels = [Uint32Array.from({ length: lines + 1 }, (_, i) => i)];
  const least = Math.min(48, nodes); // the smallest picture has room for 48
  for (let last = levels[0]; last.length - 1 > least; levels.push(last)) last = pairUp(last, fences);
  const nodeLevel = nodeOf ? levels.findIndex((starts) => starts.length === nodes + 1) : -1;
  return { order, positions, fences, levels, nodeLevel };
}

// cellOf returns the cell that holds a position.
const cellOf = (starts, position) => lowerBound(starts, Math.floor(position) + 1) - 1;

// levelMatrix returns the matrix of one level. Each level is the sum of the one before it.
function levelMatrix(base, arrangement, level) {
  const { key, levels, order, positions } = arrangement, starts = levels[level];
  return remembered(base, key + " " + level, () => {
    if (level > 0) {
      const groupOf = levels[level - 1].subarray(0, -1).map((start) => cellOf(starts, start));
      return regroup(levelMatrix(base, arrangement, level - 1), groupOf, starts.length - 1);
    }
    return order.every((line, p) => line === p) ? base : regroup(base, positions, order.length);
  });
}

// rankList returns ranks as ranges: "0–3, 8, 12–15". Lists of more than most end with their length.
function rankList(ranks, most = 4) {
  const ranges = [];
  for (const rank of Uint32Array.from(ranks).sort()) {
    const last = ranges[ranges.length - 1];
    if (last && last[1] === rank - 1) last[1] = rank;
    else ranges.push([rank, rank]);
  }
  const texts = ranges.slice(0, most).map(([a, b]) => (a === b ? a : a + "–" + b));
  return texts.join(", ") + (ranges.length > most ? ", … (" + plural(ranks.length, "rank") + ")" : "");
}
