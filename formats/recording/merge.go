package recording

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

const eventSize = 32

// inOrder sorts the chunks of each thread. A chunk may occur twice if the
// process was killed, or its files were copied, while it was written: the
// complete one is kept.
func (r *eventReading) inOrder(all []chunk) [][]chunk {
	slices.SortFunc(all, func(a, b chunk) int { // of two equal chunks, the one that is no longer filled comes first
		if a.far != b.far && a.Sequence == b.Sequence && a.Count == b.Count {
			return map[bool]int{true: -1, false: 1}[a.far]
		}
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(b.Count, a.Count), cmp.Compare(b.at, a.at))
	})
	threads := map[uint32][]chunk{}
	missing := uint64(0)
	for i := range all {
		c := &all[i]
		switch before := &all[max(i, 1)-1]; {
		case i > 0 && c.Sequence == before.Sequence:
			if !r.running() && !c.agrees(before) {
				r.problem(c.in, c.at-chunkHead, fmt.Sprintf("chunk %d of thread %d comes again, skipped", c.Sequence, c.Thread))
			}
			continue
		case i == 0:
			missing += c.Sequence - 1
		default:
			missing += c.Sequence - before.Sequence - 1
		}
		if c.cut > c.Count {
			r.problem(c.in, c.at-chunkHead, fmt.Sprintf("truncated: of the chunk's %d events there are %d", c.cut, c.Count))
		}
		if c.Count > 0 {
			threads[c.Thread] = append(threads[c.Thread], *c)
		}
	}
	r.holes = missing
	var out [][]chunk
	for _, t := range slices.Sorted(maps.Keys(threads)) {
		out = append(out, threads[t])
	}
	return out
}

// agrees reports whether two chunks are of one thread and have the same events,
// as far as both have them.
func (c *chunk) agrees(d *chunk) bool {
	n := min(c.Count, d.Count) * eventSize
	a, b := make([]byte, n), make([]byte, n)
	_, err := c.in.ReadAt(a, c.at)
	_, other := d.in.ReadAt(b, d.at)
	return c.Thread == d.Thread && err == nil && other == nil && bytes.Equal(a, b)
}

// decodedEvent is a decoded layout.Event.
type decodedEvent struct {
	start, ticks, bytes  uint64
	row, request, thread uint32
	tag                  int32
}

var little = binary.LittleEndian

func decodeEvent(b []byte, thread uint32) decodedEvent {
	_ = b[eventSize-1]
	ticks, bytes := little.Uint64(b[8:]), little.Uint64(b[16:])
	return decodedEvent{start: little.Uint64(b), ticks: ticks << 16 >> 16, bytes: bytes << 16 >> 16,
		request: uint32(ticks>>48 | bytes>>48<<16), row: little.Uint32(b[24:]), tag: int32(little.Uint32(b[28:])), thread: thread}
}

func (e *decodedEvent) end() uint64 { return e.start + e.ticks }

func endOf(b []byte) uint64 { return little.Uint64(b) + little.Uint64(b[8:])<<16>>16 }

// toLittle converts events of the other byte order to little endian. Code that
// decodes only one byte order takes half the time.
func toLittle(raw []byte) {
	for ; len(raw) >= eventSize; raw = raw[eventSize:] {
		slices.Reverse(raw[0:8])
		slices.Reverse(raw[8:16])
		slices.Reverse(raw[16:24])
		slices.Reverse(raw[24:28])
		slices.Reverse(raw[28:32])
	}
}

// cursor reads the events of one thread.
type cursor struct {
	chunks []chunk
	order  binary.ByteOrder
	raw    []byte // events of the current chunk that are not read yet
	buffer []byte
	find   func(chunk) (chunk, error)
}

// errMoved means that a running process filled a chunk again while it was read.
var errMoved = errors.New("the chunk was filled again while it was read")

// read reads the events of a chunk, and then checks that the chunk is still the
// same.
func (c *chunk) read(raw []byte, order binary.ByteOrder) error {
	if _, err := c.in.ReadAt(raw, c.at); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the file was long enough before
		}
		return fmt.Errorf("%s: byte %d: %w", c.in.Name(), c.at, err)
	}
	head := make([]byte, chunkHead)
	if _, err := c.in.ReadAt(head, c.at-chunkHead); err != nil {
		return fmt.Errorf("%s: byte %d: %w", c.in.Name(), c.at-chunkHead, err)
	}
	var now layout.Chunk
	binary.Decode(head, order, &now) // cannot fail: head has the size of a Chunk
	if now.Sequence != c.Sequence {
		return errMoved
	}
	return nil
}

// fill reads the next chunk if the current one is used up. It returns false at
// the end.
func (c *cursor) fill() (bool, error) {
	if len(c.raw) > 0 || len(c.chunks) == 0 {
		return len(c.raw) > 0, nil
	}
	at := c.chunks[0]
	c.chunks = c.chunks[1:]
	c.buffer = slices.Grow(c.buffer[:0], int(at.Count)*eventSize)
	c.raw = c.buffer[:at.Count*eventSize]
	if err := at.read(c.raw, c.order); err == errMoved {
		if at, err = c.find(at); err == nil {
			err = at.read(c.raw, c.order)
		}
		if err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	if c.order == binary.BigEndian {
		toLittle(c.raw)
	}
	return true, nil
}

// take removes and returns the first events that ended before bound.
func (c *cursor) take(bound uint64) []byte {
	n := eventSize
	for n < len(c.raw) && endOf(c.raw[n:]) < bound {
		n += eventSize
	}
	run := c.raw[:n]
	c.raw = c.raw[n:]
	return run
}

// eachRun calls f with all events of the process, still encoded, in runs of one
// thread. Runs are in the order in which events ended. first is the number of
// the first event of a run. run is valid until f returns.
func (r *eventReading) eachRun(f func(first int, thread uint32, run []byte) error) error {
	open := make([]cursor, len(r.streams))
	for t, s := range r.streams {
		open[t] = cursor{chunks: s, order: r.order, find: r.find}
		if _, err := open[t].fill(); err != nil {
			return err
		}
	}
	threads := make([]uint32, len(open))
	for t, s := range r.streams {
		threads[t] = s[0].Thread
	}
	for first := 0; len(open) > 0; {
		t, bound := earliest(open)
		run := open[t].take(bound)
		if err := f(first, threads[t], run); err != nil {
			return err
		}
		first += len(run) / eventSize
		more, err := open[t].fill()
		if err != nil {
			return err
		}
		if !more {
			open, threads = slices.Delete(open, t, t+1), slices.Delete(threads, t, t+1)
		}
	}
	return nil
}

// earliest returns the thread whose next event ended first, and the time before
// which its following events must have ended to come next as well.
func earliest(open []cursor) (first int, bound uint64) {
	bound = math.MaxUint64
	if len(open) == 1 {
		return 0, bound
	}
	least := endOf(open[0].raw)
	for t := 1; t < len(open); t++ {
		switch end := endOf(open[t].raw); {
		case end < least:
			first, least, bound = t, end, least
		case end < bound:
			bound = end
		}
	}
	return first, bound
}
