package timeline

// bins holds the time that a lane spent in each class, by column.
type bins struct {
	from, to int64 // ends of the axis, Unix ns
	columns  int
	perNs    float64 // columns per ns
	edges    []int64 // start of each column, and the end of the last, Unix ns
	lines    int     // number of lines whose times are added up
	ns       []int64 // ns[column*numClasses+class]
}

// newBins returns bins whose columns start at whole ns. If the axis has fewer
// ns than columns, some columns are empty.
func newBins(from, to int64, columns int) *bins {
	b := &bins{from: from, to: to, columns: columns, perNs: float64(columns) / float64(to-from),
		edges: make([]int64, columns+1), ns: make([]int64, columns*numClasses)}
	whole, rest := (to-from)/int64(columns), (to-from)%int64(columns)
	for i := range b.edges {
		b.edges[i] = from + int64(i)*whole + int64(i)*rest/int64(columns)
	}
	return b
}

// column returns the column that contains a time between b.from and b.to.
func (b *bins) column(at int64) int {
	c := min(int(float64(at-b.from)*b.perNs), b.columns-1)
	for c > 0 && at < b.edges[c] { // rounding may give the next column
		c--
	}
	for c < b.columns-1 && at >= b.edges[c+1] {
		c++
	}
	return c
}

// add adds the time from start to end to the columns that it overlaps.
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

// shares returns the shares for plot.Lane, relative to the time of all lines.
// Nested calls may add up to more than the width of a column; then all shares
// of the column are reduced.
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
