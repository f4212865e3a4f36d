package causes

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// sums adds up the parts of all waits. Cells beyond a budget go to sorted runs in a file.
type sums struct {
	index    []int32 // hash table of the cells: 1 + their index, 0 if empty
	cells    []cell
	most     int       // number of cells in memory
	more     []moreSum // by kind
	lanes    []lane
	overflow *Overflow
	runs     []FilePart
	err      error
}

// cellKey is a lane that waits, a lane that causes it, a kind, and the place of the wait.
type cellKey struct {
	waits, causes int32 // causes is noLane if it is not known
	kind          kind
	place         int32
}

// cell is the sum of all parts of waits with one key.
type cell struct {
	cellKey
	// more is the cost of more bursts, and longer that of longer ones, or of calls; ns.
	longer, more int64
	// The number of waits of which the lane causes the largest part.
	longerWaits, moreWaits uint64
}

func (c *cell) merge(o *cell) {
	c.longer += o.longer
	c.more += o.more
	c.longerWaits += o.longerWaits
	c.moreWaits += o.moreWaits
}

// moreSum is the cost of more bursts of one kind, and how much of it is in waits for several ranks,
// one after the other.
type moreSum struct{ all, chain int64 }

// cellMemory is about what a cell takes in memory, in bytes.
const cellMemory = 128

func newSums(budget int, lanes []lane, overflow *Overflow) sums {
	return sums{index: make([]int32, 1<<10), most: max(budget/cellMemory, 1), lanes: lanes, overflow: overflow}
}

// add adds a part of a wait. counts says that the wait counts here.
func (s *sums) add(key cellKey, ns int64, more, counts bool) {
	slot := s.slot(key)
	if *slot == 0 {
		slot = s.grow(key, slot)
		s.cells = append(s.cells, cell{cellKey: key})
		*slot = int32(len(s.cells))
	}
	c, n := &s.cells[*slot-1], uint64(0)
	if counts {
		n = 1
	}
	if more {
		c.more += ns
		c.moreWaits += n
	} else {
		c.longer += ns
		c.longerWaits += n
	}
}

// slot returns the place of a key in the hash table.
func (s *sums) slot(key cellKey) *int32 {
	mask := uint64(len(s.index) - 1)
	hash := (uint64(uint32(key.waits))<<32 | uint64(uint32(key.causes))) * 0x9e3779b97f4a7c15
	hash = (hash>>29 ^ hash ^ uint64(uint32(key.kind))<<32 ^ uint64(uint32(key.place))) * 0xbf58476d1ce4e5b9
	for i := hash >> 32; ; i++ {
		if at := &s.index[i&mask]; *at == 0 || s.cells[*at-1].cellKey == key {
			return at
		}
	}
}

// grow makes room for a cell. It returns the place of its key, which was at slot.
func (s *sums) grow(key cellKey, slot *int32) *int32 {
	switch {
	case len(s.cells) >= s.most:
		s.spill()
	case 2*len(s.cells) >= len(s.index):
		s.index = make([]int32, 2*len(s.index))
		for i := range s.cells {
			*s.slot(s.cells[i].cellKey) = int32(i + 1)
		}
	default:
		return slot
	}
	return s.slot(key)
}

// unknown adds a wait without a known cause.
func (s *sums) unknown(w *wait) {
	s.add(cellKey{w.lane, w.For, unknownKind, w.Place}, w.long(), false, true)
}

func (s *sums) addMore(k kind, ns int64, chain bool) {
	for int(k) >= len(s.more) {
		s.more = append(s.more, make([]moreSum, len(s.more)+16)...)
	}
	m := &s.more[k]
	m.all += ns
	if chain {
		m.chain += ns
	}
}

func (s *sums) rank(lane int32) int32 { return rankOf(s.lanes, lane) }

// rankOf returns the rank of a lane, -1 if there is none.
func rankOf(lanes []lane, lane int32) int32 {
	if lane == noLane {
		return -1
	}
	return lanes[lane].Rank
}

// compare orders cells by pairs of ranks, then by pairs of lanes.
func (s *sums) compare(a, b *cell) int {
	return cmp.Or(cmp.Compare(s.rank(a.waits), s.rank(b.waits)), cmp.Compare(s.rank(a.causes), s.rank(b.causes)),
		cmp.Compare(a.waits, b.waits), cmp.Compare(a.causes, b.causes), cmp.Compare(a.kind, b.kind), cmp.Compare(a.place, b.place))
}

func (s *sums) sort() {
	slices.SortFunc(s.cells, func(a, b cell) int { return s.compare(&a, &b) })
}

// spill moves the cells to the file.
func (s *sums) spill() {
	s.sort()
	var b []byte
	for i := range s.cells {
		c := &s.cells[i]
		for _, v := range []int64{int64(c.waits), int64(c.causes), int64(c.kind), int64(c.place), c.longer, c.more, int64(c.longerWaits), int64(c.moreWaits)} {
			b = binary.AppendVarint(b, v)
		}
	}
	run, err := s.overflow.Write(b)
	s.err = cmp.Or(s.err, err)
	s.runs = append(s.runs, run)
	s.cells = s.cells[:0]
	clear(s.index)
}

// eachCell calls f with the cells of all sums in order. A cell is valid until f returns.
func eachCell(all []*sums, f func(*cell)) error {
	var cursors []*cellCursor
	for _, s := range all {
		if s.err != nil {
			return s.err
		}
		s.sort()
		s.index = nil
		cursors = append(cursors, &cellCursor{memory: s.cells})
		for _, run := range s.runs {
			cursors = append(cursors, &cellCursor{file: s.overflow.Reader(run)})
		}
	}
	for _, c := range cursors {
		c.next()
	}
	for {
		var first *cellCursor
		for _, c := range cursors {
			if c.cell != nil && (first == nil || all[0].compare(c.cell, first.cell) < 0) {
				first = c
			}
		}
		if first == nil {
			break
		}
		sum := *first.cell
		first.next()
		for _, c := range cursors {
			for c.cell != nil && c.cell.cellKey == sum.cellKey {
				sum.merge(c.cell)
				c.next()
			}
		}
		f(&sum)
	}
	for _, c := range cursors {
		if c.err != nil {
			return fmt.Errorf("read temporary file for waits: %w", c.err)
		}
	}
	return nil
}

// cellCursor reads sorted cells, from memory or from a file.
type cellCursor struct {
	cell   *cell // nil at the end
	memory []cell
	file   *bufio.Reader
	room   cell
	err    error
}

func (c *cellCursor) next() {
	if c.file == nil {
		c.cell = nil
		if len(c.memory) > 0 {
			c.cell, c.memory = &c.memory[0], c.memory[1:]
		}
		return
	}
	var v [8]int64
	for i := range v {
		if v[i], c.err = binary.ReadVarint(c.file); c.err != nil {
			c.cell = nil
			if c.err == io.EOF && i == 0 {
				c.err = nil
			}
			return
		}
	}
	c.room = cell{cellKey{int32(v[0]), int32(v[1]), kind(v[2]), int32(v[3])}, v[4], v[5], uint64(v[6]), uint64(v[7])}
	c.cell = &c.room
}
