package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sends returns n sends from tick start on, one every ten ticks, each of ten
// ticks.
func (w *traced) sends(n int, start uint64) []layout.Event {
	out := make([]layout.Event, n)
	for i := range out {
		out[i] = w.ev(aSend, start+20*uint64(i), 10, 0, 7)
	}
	return out
}

// check opens the files, and compares the number of events and the problems.
// Each problem must contain the wanted text.
func (w *traced) check(t *testing.T, events int, problems ...string) *EventReader {
	t.Helper()
	e := w.open(t)
	all, _ := readEvents(t, e)
	if all.Len() != events || e.Trace().Events != uint64(events) {
		t.Errorf("%d events, of %d; want %d", all.Len(), e.Trace().Events, events)
	}
	if !slices.EqualFunc(e.Problems, problems, strings.Contains) {
		t.Errorf("problems %q, want %q", e.Problems, problems)
	}
	return e
}

// Offsets of chunks in the mapped file.
const (
	firstChunk  = layout.EventsHeaderSize
	secondChunk = firstChunk + layout.ChunkSize
)

// A chunk that is in both files counts once: the copy with more events is read.
func TestChunkInBothFiles(t *testing.T) {
	for name, counts := range map[string][2]int{"the spill is older": {5, 3}, "they are the same": {5, 5}} {
		t.Run(name, func(t *testing.T) {
			w := newTraced(t)
			w.header.Spilled = 1
			w.leave(t, eventsEnding, w.events(chunkOf(0, 2, w.sends(4, 1000)...), chunkOf(0, 1, w.sends(counts[0], 0)...)))
			w.leave(t, spillEnding, w.encode(nil, []written{chunkOf(0, 1, w.sends(counts[1], 0)...)}))
			e := w.check(t, 9)
			if e.Trace().Cut {
				t.Error("the trace is cut")
			}
			all, _ := readEvents(t, e)
			if !slices.IsSorted(all.Start) {
				t.Errorf("started %v", all.Start)
			}
		})
	}
}

// A process was killed while it copied a chunk to the other file; the original
// is complete, so nothing is lost.
func TestChunkBeingWrittenOut(t *testing.T) {
	w := newTraced(t)
	w.header.Spilled = 1
	spill := w.encode(nil, []written{chunkOf(0, 1, w.sends(7, 0)...), chunkOf(0, 2, w.sends(50, 1000)...)})
	w.leave(t, eventsEnding, w.events(chunkOf(0, 2, w.sends(50, 1000)...)))
	w.leave(t, spillEnding, spill[:layout.ChunkSize+1000])
	w.check(t, 57)
}

func TestUnusedChunks(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1), written{}, chunkOf(0, 2, w.sends(3, 0)...), written{}))
	w.check(t, 3)
}

// The same for a chunk that was copied to the end of its own file: with its
// number already counted there or not, and complete or not.
func TestChunkBeingAppended(t *testing.T) {
	for name, left := range map[string]int{"begun": 63, "half": 1000, "whole": layout.ChunkSize} {
		for counted := range 2 {
			if counted == 1 && left < layout.ChunkSize {
				continue
			}
			t.Run(fmt.Sprintf("%s, counted %d", name, counted), func(t *testing.T) {
				w := newTraced(t)
				full := chunkOf(0, 2, w.sends(50, 1000)...)
				raw := w.events(full, chunkOf(0, 1, w.sends(7, 0)...))
				w.header.Chunks += uint64(counted)
				head, _ := binary.Append(nil, w.order, w.header)
				copy(raw, head)
				raw = append(raw, w.encode(nil, []written{full})[:left]...)
				w.leave(t, eventsEnding, raw)
				w.check(t, 57)
			})
		}
	}
}

// TestChunkFilledAgain has a running process refill a chunk after it was listed
// and before it was read. The chunk is read from where it was written before;
// with --keep last it is lost.
func TestChunkFilledAgain(t *testing.T) {
	w := newTraced(t)
	first, second := chunkOf(0, 1, w.sends(50, 0)...), chunkOf(0, 2, w.sends(3, 9000)...)
	w.leave(t, eventsEnding, w.events(first))
	for _, c := range []struct {
		name  string
		after []byte
		left  int
	}{
		{"written", w.events(second, first), 50},
		{"not kept", w.events(second), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.leave(t, eventsEnding, w.events(first))
			r := eventReading{EventReader: w.open(t)}
			defer r.close()
			testenv.NoError(t, r.open())
			w.leave(t, eventsEnding, c.after)
			got := 0
			err := r.each(func(b *profile.Events, _ []profile.EventKind) error { got += b.Len(); return nil })
			if got != c.left || (err == nil) != (c.left > 0) || err != nil && !errors.Is(err, errMoved) {
				t.Errorf("%d events, %v, want %d", got, err, c.left)
			}
		})
	}
}

// TestChunkWrittenSince copies the files of a running process while it writes a
// chunk behind the others and refills it.
func TestChunkWrittenSince(t *testing.T) {
	w := newTraced(t)
	half, full, more := chunkOf(0, 1, w.sends(20, 0)...), chunkOf(0, 1, w.sends(50, 0)...), chunkOf(0, 2, w.sends(7, 9000)...)
	w.leave(t, eventsEnding, w.events(half, full, more))
	if e := w.check(t, 57); e.Trace().Gaps {
		t.Error("the trace is said to have gaps")
	}
}

// Damage is reported with its place, and the rest is read.
func TestDamagedEvents(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(raw []byte) []byte // of two chunks with 100 events
		left  int
		want  []string
	}{
		{"cut inside an event", func(raw []byte) []byte { return raw[:secondChunk+64+10*32+31] }, 110,
			[]string{fmt.Sprintf("1.events: byte %d: truncated: it had 2 chunks", secondChunk+64+10*32+31),
				fmt.Sprintf("1.events: byte %d: truncated: of the chunk's 100 events there are 10", secondChunk)}},
		{"cut inside a chunk's head", func(raw []byte) []byte { return raw[:secondChunk+63] }, 100,
			[]string{fmt.Sprintf("1.events: byte %d: truncated: it had 2 chunks", secondChunk+63)}},
		{"cut between chunks", func(raw []byte) []byte { return raw[:secondChunk] }, 100,
			[]string{fmt.Sprintf("1.events: byte %d: truncated: it had 2 chunks", secondChunk)}},
		{"cut behind the header", func(raw []byte) []byte { return raw[:firstChunk] }, 0,
			[]string{fmt.Sprintf("1.events: byte %d: truncated: it had 2 chunks", firstChunk)}},
		{"a count larger than a chunk", func(raw []byte) []byte {
			binary.LittleEndian.PutUint64(raw[firstChunk+16:], layout.MaxChunkEvents+1)
			return raw
		}, 100, []string{fmt.Sprintf("1.events: byte %d: no chunk of events", firstChunk)}},
		{"a chunk of no magic", func(raw []byte) []byte { raw[firstChunk] ^= 1; return raw }, 100,
			[]string{fmt.Sprintf("1.events: byte %d: no chunk of events", firstChunk)}},
		{"a chunk of no number", func(raw []byte) []byte { raw[firstChunk+8] = 0; return raw }, 100,
			[]string{fmt.Sprintf("1.events: byte %d: no chunk of events", firstChunk)}},
		{"chunks of one number", func(raw []byte) []byte { raw[secondChunk+8] = 1; return raw }, 100,
			[]string{fmt.Sprintf("1.events: byte %d: chunk 1 of thread 0 comes again", firstChunk)}},
		{"chunks of one number and two threads", func(raw []byte) []byte { raw[secondChunk+8], raw[secondChunk+4] = 1, 1; return raw }, 100,
			[]string{fmt.Sprintf("1.events: byte %d: chunk 1 of thread 0 comes again", firstChunk)}},
		{"a chunk that is missing", func(raw []byte) []byte { raw[secondChunk+8] = 4; return raw }, 200,
			[]string{fmt.Sprintf("1.events: byte %d: chunks that are missing: 2", firstChunk)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTraced(t)
			w.leave(t, eventsEnding, c.spoil(w.events(chunkOf(0, 1, w.sends(100, 0)...), chunkOf(0, 2, w.sends(100, 5000)...))))
			if e := w.check(t, c.left, c.want...); !e.Trace().Cut {
				t.Error("the trace is said to be whole")
			}
		})
	}
}

// Missing chunks are reported, in either file.
func TestMissingFile(t *testing.T) {
	w := newTraced(t)
	w.header.Spilled = 2
	w.leave(t, eventsEnding, w.events(chunkOf(0, 3, w.sends(5, 0)...)))
	w.check(t, 5, "1.events: byte 0: the file beside it is missing, with the earliest 2 chunks")
	spill := w.encode(nil, []written{chunkOf(0, 1, w.sends(7, 0)...), chunkOf(0, 2, w.sends(7, 0)...)})
	w.leave(t, spillEnding, spill[:layout.ChunkSize])
	w.check(t, 12, fmt.Sprintf("1.spill: byte %d: truncated: it had 2 chunks", layout.ChunkSize))
	w.leave(t, spillEnding, spill)
	w.check(t, 19)
	testenv.NoError(t, os.Remove(strings.TrimSuffix(w.path, ".rec")+eventsEnding))
	w.check(t, 14, "1.spill: byte 0: the file beside it is missing, with the latest events")
}

// A file that is no file of events is an error that says why.
func TestNoEvents(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(h *layout.EventsHeader)
		want  string
	}{
		{"another file", func(h *layout.EventsHeader) { h.Magic[3]++ }, `byte 0: it does not start with "MPIEVENT"`},
		{"a version to come", func(h *layout.EventsHeader) { h.Version++ }, "byte 8: version 2 with chunks of 262144 bytes"},
		{"chunks of another size", func(h *layout.EventsHeader) { h.ChunkSize = 64 }, "byte 8: version 1 with chunks of 64 bytes"},
		{"a header of another size", func(h *layout.EventsHeader) { h.HeaderSize = 1 << 31 }, "byte 8"},
		{"another byte order", func(h *layout.EventsHeader) { h.ByteOrder = 0x04030201 }, "byte 12: the byte order is not that of the recording"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTraced(t)
			c.spoil(&w.header)
			w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.sends(1, 0)...)))
			w.fails(t, c.want)
		})
	}
	t.Run("cut inside the header", func(t *testing.T) {
		w := newTraced(t)
		w.leave(t, eventsEnding, w.events()[:40])
		w.fails(t, "1.events: truncated inside its header")
	})
	t.Run("none", func(t *testing.T) { newTraced(t).fails(t, "1.rec: its process was not traced") })
	t.Run("a pipe", func(t *testing.T) {
		w := newTraced(t)
		testenv.NoError(t, syscall.Mkfifo(strings.TrimSuffix(w.path, ".rec")+eventsEnding, 0o600))
		w.fails(t, "1.events is a named pipe, not a regular file")
	})
}

// fails opens the files, which must be an error.
func (w *traced) fails(t *testing.T, want string) {
	t.Helper()
	p := readPath(t, w.path)
	if _, err := OpenEvents(p, Clock{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// Events of rows that do not exist have no known call; their other values are
// unchanged. Row 0 stands for calls for which there was no room in the table,
// and is not damage.
func TestRowsThatAreNotThere(t *testing.T) {
	w := newTraced(t)
	const tableRows, unit = 256, 64
	size := func() uint32 {
		info, err := os.Stat(w.path)
		testenv.NoError(t, err)
		return uint32(info.Size() / unit)
	}()
	for name, c := range map[string]struct {
		row     uint32
		problem bool
	}{
		"none":                  {0, false},
		"inside the header":     {2, true},
		"in the log":            {layout.HeaderSize/unit + 1, true},
		"the head of the table": {w.first - 1, true},
		"not used":              {w.first + numTracedRows, true},
		"behind the table":      {w.first + tableRows, true}, // the head of the next
		"behind the file":       {size, true},
		"far behind the file":   {1<<32 - 1, true},
		"one that would be the first if it were cut to 32 bits": {w.first + 1<<26, true},
	} {
		t.Run(name, func(t *testing.T) {
			event := w.ev(aSend, 1200, 10, 0, 7)
			event.Row = c.row
			w.leave(t, eventsEnding, w.events(chunkOf(3, 1, event)))
			e := w.open(t)
			all, kinds := readEvents(t, e)
			k := kinds[all.Kind[0]]
			if k.Call != "unknown" || k.Action != profile.Called || k.Comm != -1 || k.Peer != profile.PeerLost || k.Thread != 3 ||
				all.Start[0] != 1_000_100 || all.Duration[0] != 5 || all.Bytes[0] != 8 || all.Tag[0] != profile.NoTag || all.Seq[0] != 0 {
				t.Errorf("got %+v, %+v", all, k)
			}
			if told := len(e.Problems) > 0; told != c.problem || told && !strings.Contains(e.Problems[0], fmt.Sprintf("row %d: ", c.row)) {
				t.Errorf("problems %q", e.Problems)
			}
		})
	}
}

// A running process may have made a communicator since its profile was read.
func TestCommunicatorMadeSince(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.ev(aSendInTwin, 10, 10, 0, 7), w.ev(aSend, 30, 10, 0, 7))))
	p := readPath(t, w.path)
	p.Comms = p.Comms[:1]
	e, err := OpenEvents(p, Clock{})
	testenv.NoError(t, err)
	all, kinds := readEvents(t, e)
	if k := kinds[all.Kind[0]]; k.Call != "Send" || k.Comm != -1 || k.Peer != profile.PeerLost {
		t.Errorf("in the one that is not known: %+v", k)
	}
	if k := kinds[all.Kind[1]]; k.Comm != 0 || k.Peer != 3 {
		t.Errorf("in the one that is: %+v", k)
	}
	if want := []uint32{0, 1}; !slices.Equal(all.Seq, want) {
		t.Errorf("numbers %v, want %v", all.Seq, want)
	}
}

// Both files come from one machine: events of another byte order are not read.
func TestByteOrders(t *testing.T) {
	w := newTraced(t)
	h := layout.Header{Magic: layout.Magic, Version: layout.Version, ByteOrder: layout.ByteOrder, HeaderSize: layout.HeaderSize,
		End: layout.HeaderSize, State: layout.StateFinalized, WorldSize: 1, Clock: layout.ClockMonotonic, Start: layout.Clock{Ticks: 1000, Realtime: 1_000_000}}
	raw, err := binary.Append(nil, binary.BigEndian, h)
	testenv.NoError(t, err)
	testenv.WriteFile(t, w.path, append(raw, make([]byte, layout.HeaderSize-len(raw))...))
	events := []written{chunkOf(5, 1, w.ev(aSend, 1200, 34, 1<<17+1, 7))}
	w.leave(t, eventsEnding, w.events(events...))
	w.fails(t, "byte 12: the byte order is not that of the recording")
	w.order = binary.BigEndian
	w.leave(t, eventsEnding, w.events(events...))
	all, kinds := readEvents(t, w.open(t))
	if all.Len() != 1 || all.Start[0] != 1_000_200 || all.Duration[0] != 34 || all.Bytes[0] != 8 || kinds[all.Kind[0]].Thread != 5 {
		t.Errorf("got %+v, %+v", all, kinds)
	}
}

// Two ticks are one nanosecond, and tick 1000 was at 1,000,000 ns.
func TestTraceOfEvents(t *testing.T) {
	w := newTraced(t)
	w.header.Dropped = 17
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.sends(3, 2000)...)))
	e := w.check(t, 3)
	got := e.Trace()
	if got.Rank != 1 || got.Size != 4 || got.Host != "node7" || got.Dropped != 17 || got.Cut || got.Threads != 1 ||
		got.Start != 1_000_000 || got.InitEnd != 0 || got.End != 1_001_000 || len(got.Comms) != 2 || got.Comms[0].Size != 4 || got.Comms[0].Rank != 1 {
		t.Errorf("got %+v", got)
	}
	all, _ := readEvents(t, e)
	if want := []int64{1_000_500, 1_000_510, 1_000_520}; !slices.Equal(all.Start, want) {
		t.Errorf("started at %v, want %v", all.Start, want)
	}
	w.header.Cut = layout.CutRing
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.sends(3, 2000)...)))
	if !w.check(t, 3).Trace().Cut {
		t.Error("the trace is said to be whole")
	}
}

// All processes of a node use the clock that was measured over the longest
// time.
func TestClockOfNode(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.sends(1, 2000)...)))
	p := readPath(t, w.path)
	host, own, err := ReadClock(w.path)
	if err != nil || host != "node7" || own.span != 1000 {
		t.Fatalf("%s, %+v, %v", host, own, err)
	}
	better := Clock{ticks: 500, unix: 2_000_000, scale: 2, span: 1001}
	for _, c := range []Clock{own.Better(better), better.Better(own), Clock{}.Better(better)} {
		e, err := OpenEvents(p, c)
		testenv.NoError(t, err)
		all, _ := readEvents(t, e)
		if tr := e.Trace(); tr.Start != 2_001_000 || tr.End != 2_005_000 || all.Start[0] != 2_003_000 || all.Duration[0] != 20 {
			t.Errorf("from %d to %d, its event at %d for %d", tr.Start, tr.End, all.Start[0], all.Duration[0])
		}
	}
}

// Event files may be removed after conversion; then there are no events.
func TestRemoveEvents(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events())
	w.leave(t, spillEnding, nil)
	if found := EventFiles(w.path); len(found) != 2 || RemoveEvents(w.path) != nil || EventFiles(w.path) != nil {
		t.Errorf("found %q, left %q", found, EventFiles(w.path))
	}
	if raw, err := os.ReadFile(w.path); err != nil || !bytes.HasPrefix(raw, magic) {
		t.Errorf("the recording: %v", err)
	}
}
