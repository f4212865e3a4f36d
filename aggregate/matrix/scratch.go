package matrix

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// Scratch is a temporary file for the entries of matrices that need more memory than a
// budget. Several matrices may use it, each in a goroutine of its own. Group patterns stay
// in memory: they need little.
//
// If the file cannot be written or read, the matrices are not valid, and Err returns why.
type Scratch struct {
	create func() (ScratchFile, error) // called when the first matrix exceeds the budget
	budget int                         // bytes

	mutex sync.Mutex
	file  ScratchFile
	size  int64
	err   error
}

// ScratchFile is the file of a Scratch.
type ScratchFile interface {
	io.ReaderAt
	io.WriterAt
}

// NewScratch returns a Scratch. Each matrix that uses it keeps about budget bytes of entries
// in memory. create is called once, if a matrix has more.
func NewScratch(budget int, create func() (ScratchFile, error)) *Scratch {
	return &Scratch{create: create, budget: budget}
}

// Err returns the first error of the file.
func (s *Scratch) Err() error {
	if s == nil {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.err
}

func (s *Scratch) fail(doing string, err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("%s temporary file for sums of pairs: %w", doing, err)
	}
}

// sortedRun is a part of the file: rows in ascending order, each with entries in ascending
// order. A row is its distance from the row before it, the number of its entries and, for
// each entry, the distance from the column before it, bytes and messages, all as varints.
type sortedRun struct {
	*Scratch
	start, end int64
	index      []rowOffset // of every indexStep-th row
	total      Volume
	size       int // largest rank of any entry, plus 1
}

type rowOffset struct {
	from   int
	offset int64
}

const (
	indexStep    = 128
	scratchPiece = 64 << 10 // bytes read or written at a time
	// Estimates of the memory that a Matrix needs, in bytes.
	rowMemory   = 160
	entryMemory = 24
)

// spill moves the rows of m, which are settled, to the file.
func (m *Matrix) spill() {
	s := m.scratch
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if run := s.write(m.rows); run != nil {
		m.runs = append(m.runs, run)
	}
	m.reuse()
	m.last, m.held = nil, 0
}

// reuse keeps the memory of the rows, which are in the file now, for later rows. It keeps no
// more than the budget: a few rows may have had many entries.
func (m *Matrix) reuse() {
	m.spare = m.spare[:0]
	room := m.scratch.budget
	for _, row := range m.rows {
		if room -= rowMemory + entryMemory*cap(row.indices); room < 0 {
			break
		}
		row.clear()
		m.spare = append(m.spare, row)
	}
	clear(m.rows)
}

// write appends a run to the file. It returns nil on an error.
func (s *Scratch) write(rows map[int]*vector) *sortedRun {
	if s.file == nil && s.err == nil {
		file, err := s.create()
		s.file = file
		s.fail("create", err)
	}
	if s.err != nil {
		return nil
	}
	run := &sortedRun{Scratch: s, start: s.size}
	var buffer []byte
	at, before := s.size, 0
	for i, from := range slices.Sorted(maps.Keys(rows)) {
		if i%indexStep == 0 {
			run.index = append(run.index, rowOffset{from, at + int64(len(buffer))})
			before = 0 // so that reading can begin here
		}
		buffer = appendRow(buffer, from-before, rows[from])
		run.note(from, rows[from])
		before = from
		if len(buffer) >= scratchPiece {
			_, err := s.file.WriteAt(buffer, at)
			s.fail("write", err)
			at, buffer = at+int64(len(buffer)), buffer[:0]
		}
	}
	_, err := s.file.WriteAt(buffer, at)
	if s.fail("write", err); s.err != nil {
		return nil
	}
	run.end = at + int64(len(buffer))
	s.size = run.end
	return run
}

// note adds a row to what is known of the run without reading it.
func (r *sortedRun) note(from int, row *vector) {
	r.size = max(r.size, row.size(from))
	r.total.Add(row.sumOfAll())
}

func appendRow(b []byte, distance int, row *vector) []byte {
	row.settle()
	b = binary.AppendUvarint(b, uint64(distance))
	b = binary.AppendUvarint(b, uint64(len(row.indices)))
	before := int32(0)
	for i, to := range row.indices {
		b = binary.AppendUvarint(b, uint64(to-before))
		b = binary.AppendUvarint(b, row.volumes[i].Bytes)
		b = binary.AppendUvarint(b, row.volumes[i].Messages)
		before = to
	}
	return b
}

// rowCursor reads the rows of a run, or of memory, one after the other.
type rowCursor struct {
	from int
	row  *vector // nil at the end

	memory map[int]*vector // nil for a run
	keys   []int

	run    *sortedRun
	at     int64  // offset in the file after rest
	rest   []byte // read, but not decoded
	buffer []byte
	number int // of the next row
}

// cursorAt returns a cursor for finding the row of a rank. Its next row is the last one of the
// index that is not after that row, so at most indexStep-1 rows have to be skipped.
func (r *sortedRun) cursorAt(from int) *rowCursor {
	c := &rowCursor{run: r, at: r.start, row: new(vector)}
	i, found := slices.BinarySearchFunc(r.index, from, func(o rowOffset, from int) int { return o.from - from })
	if !found {
		i = max(i-1, 0)
	}
	if len(r.index) > 0 {
		c.at, c.number = r.index[i].offset, i*indexStep
	}
	return c
}

// next goes to the next row.
func (c *rowCursor) next() {
	if c.run == nil {
		c.row = nil
		if len(c.keys) > 0 {
			c.from, c.keys = c.keys[0], c.keys[1:]
			c.row = c.memory[c.from]
			c.row.settle()
		}
		return
	}
	if len(c.rest) == 0 && c.at >= c.run.end {
		c.row = nil
		return
	}
	if c.number%indexStep == 0 {
		c.from = 0
	}
	c.number++
	c.ensure(2 * binary.MaxVarintLen64)
	rest := c.rest
	distance, rest := varint(rest)
	length, rest := varint(rest)
	c.rest = rest
	c.from += int(distance)
	n := int(length)
	c.ensure(int64(n) * 3 * binary.MaxVarintLen64)
	if c.row.indices = c.row.indices[:0]; n > len(c.rest)/3 {
		c.fail(io.ErrUnexpectedEOF)
		return
	}
	c.row.indices, c.row.volumes = slices.Grow(c.row.indices, n)[:n], slices.Grow(c.row.volumes[:0], n)[:n]
	rest = c.rest
	to, more := uint64(0), uint64(0)
	for i := range n {
		v := &c.row.volumes[i]
		more, rest = varint(rest)
		v.Bytes, rest = varint(rest)
		v.Messages, rest = varint(rest)
		to += more
		c.row.indices[i] = int32(to)
	}
	c.rest = rest
	if c.row.sorted = n; rest == nil {
		c.fail(io.ErrUnexpectedEOF)
	}
}

// fail ends the reading of a file that is damaged or could not be read.
func (c *rowCursor) fail(err error) {
	c.run.report(err)
	c.row, c.rest, c.at = nil, nil, c.run.end
}

// varint decodes a number at the start of b, and returns the bytes after it, which are nil
// if b is too short.
func varint(b []byte) (uint64, []byte) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

// ensure reads until rest has n bytes, or all that are left.
func (c *rowCursor) ensure(n int64) {
	if int64(len(c.rest)) >= n || c.at >= c.run.end {
		return
	}
	size := min(max(scratchPiece, n), c.run.end-c.at)
	c.buffer = slices.Grow(append(c.buffer[:0], c.rest...), int(size))
	kept := len(c.buffer)
	got, err := c.run.file.ReadAt(c.buffer[kept:kept+int(size)], c.at)
	if int64(got) < size {
		c.run.report(err)
		c.at = c.run.end
	}
	c.at += int64(got)
	c.rest = c.buffer[:kept+got]
}

func (s *Scratch) report(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fail("read", err)
}

// eachEntryRow visits the entries that are held one by one, as rows in ascending order. A row
// is settled, and valid until visit returns. It stops if visit returns false.
func (m *Matrix) eachEntryRow(visit func(from int, row *vector) bool) {
	memory := &rowCursor{memory: m.rows, keys: slices.Sorted(maps.Keys(m.rows))}
	cursors := []*rowCursor{memory}
	for _, r := range m.runs {
		cursors = append(cursors, r.cursorAt(0))
	}
	cursors = advance(cursors, 0) // all begin there
	var sum rowSum
	for len(cursors) > 0 {
		first, several := 0, false
		for i, c := range cursors[1:] {
			switch {
			case c.from < cursors[first].from:
				first, several = i+1, false
			case c.from == cursors[first].from:
				several = true
			}
		}
		from, row := cursors[first].from, cursors[first].row
		if several {
			row = sum.of(cursors, from)
		}
		if !visit(from, row) {
			return
		}
		cursors = advance(cursors, from)
	}
}

// advance goes to the next row of the cursors that are at a row, and drops those at their end.
func advance(cursors []*rowCursor, from int) []*rowCursor {
	ended := false
	for _, c := range cursors {
		if c.from == from {
			c.next()
			ended = ended || c.row == nil
		}
	}
	if ended {
		cursors = slices.DeleteFunc(cursors, func(c *rowCursor) bool { return c.row == nil })
	}
	return cursors
}

// rowSum adds up rows in memory that it uses again.
type rowSum struct{ sum, room vector }

// of returns the sum of the cursors' rows of a rank. It is valid until the next call.
func (s *rowSum) of(cursors []*rowCursor, from int) *vector {
	s.sum.clear()
	for _, c := range cursors {
		if c.from == from {
			s.room.clear()
			s.room.appendSum(&s.sum, c.row)
			s.sum, s.room = s.room, s.sum
		}
	}
	return &s.sum
}

// entryRow returns the entries of one row that are held one by one, settled; nil if there
// are none. It must not be changed.
func (m *Matrix) entryRow(from int) *vector {
	row := m.rows[from]
	if row != nil {
		row.settle()
	}
	if len(m.runs) == 0 {
		return row
	}
	var out vector
	if row != nil {
		out.appendAll(row)
	}
	for _, r := range m.runs {
		c := r.cursorAt(from)
		for c.next(); c.row != nil && c.from < from; {
			c.next()
		}
		if c.row != nil && c.from == from {
			out.appendAll(c.row)
		}
	}
	if len(out.indices) == 0 {
		return nil
	}
	out.settle()
	return &out
}
