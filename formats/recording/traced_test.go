package recording

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Rows of a traced process, by their index in its table. Tests make events of
// them. The peer is world rank 2 for receives and 3 for sends.
const (
	anIrecv = iota
	anIrecvFromAny
	anIrecvMoved
	anIrecvCancelled
	anIrecvTruncated
	anIrecvFreed
	anIsend
	aSend
	aSendOfThread1
	aSendInTwin // in a communicator that is the first one's twin once they are unified
	aRecv
	aSendrecv
	aSendrecvToNobody
	aSendrecvMoved
	aStart
	aStartPosted
	aStartMoved
	aStartall
	aStartallSent
	anMprobe
	anMrecv
	anImrecv
	anImrecvMoved
	aWait
	numTracedRows
)

func tracedRows() []layout.Row {
	rows := make([]layout.Row, numTracedRows)
	set := func(i int, call string, direction uint8, comm uint32, peer int32) {
		rows[i] = layout.Row{Callsite: 0x401000, Comm: comm, Peer: peer, Call: profile.CallNamed(call).ID, Direction: direction, Count: 1}
	}
	set(anIrecv, "Irecv", layout.DirNone, 0, 2)
	set(anIrecvFromAny, "Irecv", layout.DirNone, 0, layout.PeerAnySource)
	set(anIrecvMoved, "Irecv", layout.DirRecvPosted, 0, 2)
	set(anIrecvCancelled, "Irecv", layout.DirCancelled, 0, layout.PeerAnySource)
	set(anIrecvTruncated, "Irecv", layout.DirTruncated, 0, 2)
	set(anIrecvFreed, "Irecv", layout.DirFreed, 0, 2)
	set(anIsend, "Isend", layout.DirSend, 0, 3)
	set(aSend, "Send", layout.DirSend, 0, 3)
	set(aSendOfThread1, "Send", layout.DirSend, 0, 3)
	set(aSendInTwin, "Send", layout.DirSend, 1, 3)
	set(aRecv, "Recv", layout.DirRecv, 0, 2)
	set(aSendrecv, "Sendrecv", layout.DirSend, 0, 3)
	set(aSendrecvToNobody, "Sendrecv", layout.DirNone, 0, layout.PeerProcNull)
	set(aSendrecvMoved, "Sendrecv", layout.DirRecvPosted, 0, 2)
	set(aStart, "Start", layout.DirNone, 0, 2)
	set(aStartPosted, "Start", layout.DirPosted, 0, 2)
	set(aStartMoved, "Start", layout.DirRecvPosted, 0, 2)
	set(aStartall, "Startall", layout.DirNone, layout.CommNone, layout.PeerNone)
	set(aStartallSent, "Startall", layout.DirSendPosted, 0, 3)
	set(anMprobe, "Mprobe", layout.DirNone, 0, 2)
	set(anMrecv, "Mrecv", layout.DirRecv, 0, 2)
	set(anImrecv, "Imrecv", layout.DirNone, 0, 2)
	set(anImrecvMoved, "Imrecv", layout.DirRecvPosted, 0, 2)
	set(aWait, "Wait", layout.DirNone, layout.CommNone, layout.PeerNone)
	return rows
}

// traced is a recording, and how to write its events.
type traced struct {
	path   string // of the recording
	first  uint32 // where its first row is, in units of rows
	header layout.EventsHeader
	order  interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
}

func eventsHeader() layout.EventsHeader {
	return layout.EventsHeader{Magic: layout.EventsMagic, Version: layout.EventsVersion, ByteOrder: layout.ByteOrder,
		HeaderSize: layout.EventsHeaderSize, ChunkSize: layout.ChunkSize}
}

// newTraced writes the recording of a process with all of the rows: rank 1 of
// 4. Two ticks of its clock are one nanosecond, and tick 1000 was at 1,000,000
// ns.
func newTraced(t testing.TB) *traced {
	t.Helper()
	b := &builder{rows: tracedRows()}
	b.text(layout.StringHost, "node7")
	for i := range uint32(2) { // the second was made as the first was, over and over
		b.record(layout.RecordComm, layout.Comm{Index: i, ID: [2]uint64{1, uint64(i)}, FoldID: [2]uint64{9, 9}, Folded: uint64(i),
			Parent: layout.CommNone, Size: 4, Rank: 1, Stride: 1})
	}
	const head, unit = 16, 64 // rows are at multiples of their size
	b.text(layout.StringTool, strings.Repeat("x", unit-(len(b.log)+head)%unit))
	raw := b.bytes()
	w := &traced{path: filepath.Join(t.TempDir(), "1.rec"), header: eventsHeader(), order: binary.LittleEndian}
	testenv.WriteFile(t, w.path, raw)
	f := newFile(nil, int64(len(raw)))
	if f.ahead = raw; f.open() != nil || f.threads[0].Table%unit != 0 {
		t.Fatalf("the table is at byte %d", f.threads[0].Table)
	}
	w.first = uint32(f.threads[0].Table/unit + 1)
	return w
}

// ev returns an event of one of the rows, with times in ticks.
func (w *traced) ev(row int, start, ticks uint64, request uint32, tag int32) layout.Event {
	return layout.Event{Start: start, Ticks: ticks | uint64(request)<<48, Bytes: 8 | uint64(request>>16)<<48,
		Row: w.first + uint32(row), Tag: tag}
}

func completed(start uint64, request uint32) layout.Event {
	return layout.Event{Start: start, Ticks: uint64(request) << 48, Bytes: uint64(request>>16) << 48,
		Row: layout.EventCompleted, Tag: layout.EventNoTag}
}

// written is a chunk to write.
type written struct {
	layout.Chunk
	events []layout.Event
}

func chunkOf(thread uint32, sequence uint64, events ...layout.Event) written {
	return written{layout.Chunk{Magic: layout.ChunkMagic, Thread: thread, Sequence: sequence, Count: uint64(len(events))}, events}
}

// encode returns chunks one behind the other.
func (w *traced) encode(raw []byte, chunks []written) []byte {
	for _, c := range chunks {
		end := len(raw) + layout.ChunkSize
		raw, _ = binary.Append(raw, w.order, c.Chunk)
		for _, e := range c.events {
			raw = w.order.AppendUint64(raw, e.Start)
			raw = w.order.AppendUint64(raw, e.Ticks)
			raw = w.order.AppendUint64(raw, e.Bytes)
			raw = w.order.AppendUint32(raw, e.Row)
			raw = w.order.AppendUint32(raw, uint32(e.Tag))
		}
		raw = append(raw, make([]byte, end-len(raw))...)
	}
	return raw
}

// events returns the file of events, as it is in memory.
func (w *traced) events(chunks ...written) []byte {
	w.header.Chunks = uint64(len(chunks))
	raw, _ := binary.Append(nil, w.order, w.header)
	return w.encode(append(raw, make([]byte, layout.EventsHeaderSize-len(raw))...), chunks)
}

// leave writes a file beside the recording.
func (w *traced) leave(t testing.TB, ending string, raw []byte) {
	t.Helper()
	testenv.WriteFile(t, strings.TrimSuffix(w.path, ".rec")+ending, raw)
}

// open opens the events.
func (w *traced) open(t testing.TB) *EventReader {
	t.Helper()
	p := readPath(t, w.path)
	_, clock, err := ReadClock(w.path)
	testenv.NoError(t, err)
	e, err := OpenEvents(p, clock)
	testenv.NoError(t, err)
	return e
}

// readEvents returns all events.
func readEvents(t testing.TB, e *EventReader) (all profile.Events, kinds []profile.EventKind) {
	t.Helper()
	err := e.Each(func(b *profile.Events, k []profile.EventKind) error {
		all.Start, all.Duration, all.Bytes = append(all.Start, b.Start...), append(all.Duration, b.Duration...), append(all.Bytes, b.Bytes...)
		all.Kind, all.Tag = append(all.Kind, b.Kind...), append(all.Tag, b.Tag...)
		all.Link, all.Seq = append(all.Link, b.Link...), append(all.Seq, b.Seq...)
		kinds = k
		return nil
	})
	testenv.NoError(t, err)
	return all, kinds
}
