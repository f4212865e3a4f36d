package timeline

// bins is how long a lane was in each class, by column.
type bins struct {
	from, to int64 // Unix ns: the axis
	columns  int
	perNs    float64 // columns
	edges    []int64 // where columns begin, and the last ends
	lines    int     // whose times are added up
	ns       []int64 // [column*numClasses + class]
}

// newBins has columns of whole ns: on an axis of fewer than columns, some are
// empty.
func newBins(from, to int64, columns int) *bins {
	b := &bins{from: from, to: to, columns: columns, perNs: float64(columns) / float64(to-from),
		edges: make([]int64, columns+1), ns: make([]int64, columns*numClasses)}
	whole, rest := (to-from)/int64(columns), (to-from)%int64(columns)
	for i := range b.edges {
		b.edges[i] = from + int64(i)*whole + int64(i)*rest/int64(columns)
	}
	return b
}

// column is the one that a time from b.from to b.to lies in.
func (b *bins) column(at int64) int {
	c := min(int(float64(at-b.from)*b.perNs), b.columns-1)
	for c > 0 && at < b.edges[c] { // the quotient may be off by one
		c--
	}
	for c < b.columns-1 && at >= b.edges[c+1] {
		c++
	}
	return c
}

// add puts the time from start to end into the columns that it lies in.
func (b *bins) add(class int, start, end int64) {
	start, end = max(start, b.from), min(end, b.to)
	if start >= end {
		return
	}
	for c := b.column(start); start < end; c++ {
		edge := min(end, b.edges[c+1])
		b.ns[c*numClasses+class] += edge - start
		start = edge
	}
}

// shares are those of plot.Lane: of the time of all lines. Calls inside of calls
// may make more of a column than there is; then all give way.
func (b *bins) shares() []float32 {
	shares := make([]float32, len(b.ns))
	for c := range b.columns {
		room := (b.edges[c+1] - b.edges[c]) * int64(b.lines)
		column := b.ns[c*numClasses:][:numClasses]
		var sum int64
		for _, ns := range column {
			sum += ns
		}
		if room = max(room, sum); room == 0 {
			continue
		}
		for class, ns := range column {
			shares[c*numClasses+class] = float32(float64(ns) / float64(room))
		}
	}
	return shares
}

// reset makes it ready for a lane of so many lines.
func (b *bins) reset(lines int) {
	clear(b.ns)
	b.lines = lines
}
