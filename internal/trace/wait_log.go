package trace

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/causes"
)

// causesMemory limits what finding causes needs in memory.
type causesMemory struct {
	waits int // number of waits that are kept for the pass
	bytes int // about what the pass itself needs
}

var usualMemory = causesMemory{waits: 1_000_000, bytes: 128 << 20}

// waitLog keeps the waits that the replay finds, for the pass that finds their causes. Beyond a
// budget, they go to a file.
type waitLog struct {
	of       [][]loggedWait // by index of the process, not sorted
	held     int
	most     int            // number of waits in memory
	parts    [][]loggedPart // by index of the process, in the file
	overflow *causes.Overflow
	err      error

	// Patterns that are known only after the replay.
	late   []func() Pattern
	lateOf map[any]uint32 // index in late, by what the pattern depends on
}

// loggedWait is a wait in an event of a process.
type loggedWait struct {
	event        int64 // index of the event
	offset, long int64 // from the start of the event, and how long, ns
	on           int32 // lane that was waited for
	pattern      uint32
}

// latePattern is the first loggedWait.pattern that stands for an index in waitLog.late.
const latePattern = uint32(numPatterns)

// loggedPart is a part of the file, with waits in the order of events.
type loggedPart struct {
	causes.FilePart
	first int64 // event of the first wait
}

func newWaitLog(processes, most int) *waitLog {
	overflow := causes.NewOverflow(func() (causes.OverflowFile, error) { return atomicfile.Unnamed("") })
	return &waitLog{of: make([][]loggedWait, processes), parts: make([][]loggedPart, processes), most: most, overflow: overflow, lateOf: map[any]uint32{}}
}

// add adds a wait of a process, unless no waits are kept.
func (l *waitLog) add(process int, w loggedWait) {
	if l == nil {
		return
	}
	l.of[process] = append(l.of[process], w)
	if l.held++; l.held >= l.most {
		l.flush()
	}
}

// depends returns the number of a pattern that is known only after the replay. on is what it depends
// on.
func (l *waitLog) depends(on any, pattern func() Pattern) uint32 {
	if l == nil {
		return 0
	}
	n, ok := l.lateOf[on]
	if !ok {
		n = latePattern + uint32(len(l.late))
		l.late = append(l.late, pattern)
		l.lateOf[on] = n
	}
	return n
}

// settle finds out the late patterns, now that the replay is over.
func (l *waitLog) settle() []Pattern {
	known := make([]Pattern, len(l.late))
	for i, pattern := range l.late {
		known[i] = pattern()
	}
	return known
}

func byEvent(a, b loggedWait) int {
	return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.offset, b.offset))
}

// flush moves the waits to the file.
func (l *waitLog) flush() {
	var b []byte
	for i, waits := range l.of {
		if len(waits) == 0 {
			continue
		}
		slices.SortFunc(waits, byEvent)
		b = b[:0]
		before := int64(0)
		for _, w := range waits {
			for _, v := range []int64{w.event - before, w.offset, w.long, int64(w.on), int64(w.pattern)} {
				b = binary.AppendUvarint(b, uint64(v))
			}
			before = w.event
		}
		part, err := l.overflow.Write(b)
		l.err = cmp.Or(l.err, err)
		l.parts[i] = append(l.parts[i], loggedPart{part, waits[0].event})
		l.of[i] = waits[:0]
	}
	l.held = 0
}

// waitReader reads the waits of a process in the order of events.
type waitReader struct {
	memory []loggedWait
	parts  []loggedPart // not open yet, in the order of their first events
	open   []*openPart
	log    *waitLog
	err    error
}

type openPart struct {
	file *bufio.Reader
	next loggedWait
}

func (l *waitLog) reader(process int) *waitReader {
	r := &waitReader{memory: l.of[process], parts: l.parts[process], log: l, err: l.err}
	slices.SortFunc(r.memory, byEvent)
	slices.SortStableFunc(r.parts, func(a, b loggedPart) int { return cmp.Compare(a.first, b.first) })
	return r
}

// next returns the next wait. ok is false at the end, and after an error.
func (r *waitReader) next() (w loggedWait, ok bool) {
	if r.err != nil {
		return w, false
	}
	first := -1 // of open; -1 for memory
	if ok = len(r.memory) > 0; ok {
		w = r.memory[0]
	}
	for i, p := range r.open {
		if !ok || byEvent(p.next, w) < 0 {
			first, w, ok = i, p.next, true
		}
	}
	if len(r.parts) > 0 && (!ok || r.parts[0].first <= w.event) {
		p := &openPart{file: r.log.overflow.Reader(r.parts[0].FilePart)}
		r.parts = r.parts[1:]
		if p.read(r) {
			r.open = append(r.open, p)
		}
		return r.next()
	}
	switch {
	case !ok:
	case first < 0:
		r.memory = r.memory[1:]
	case !r.open[first].read(r):
		r.open = slices.Delete(r.open, first, first+1)
	}
	return w, ok
}

// read reads the next wait of the part. It returns false at the end.
func (p *openPart) read(r *waitReader) bool {
	var v [5]uint64
	for i := range v {
		var err error
		if v[i], err = binary.ReadUvarint(p.file); err != nil {
			if err != io.EOF || i > 0 {
				r.err = fmt.Errorf("read temporary file for waits: %w", err)
			}
			return false
		}
	}
	p.next = loggedWait{p.next.event + int64(v[0]), int64(v[1]), int64(v[2]), int32(v[3]), uint32(v[4])}
	return true
}
