package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// contain moves the recording and these chunks into a container, where another
// process has extents between them. Chunks in lost are not written.
func (w *traced) contain(t *testing.T, chunks []written, lost ...int) {
	t.Helper()
	raw := testenv.ReadFile(t, w.path)
	c := recordingtest.NewContainer("node7")
	x := layout.Extent{Kind: layout.ExtentRecording, Pid: 7, Owner: 99}
	c.Extend(x, raw)
	events := w.events(chunks...)
	x.Kind = layout.ExtentEvents
	c.Extend(x, events[:layout.Granule-layout.ExtentSize])
	for i := range chunks {
		x.Sequence, x.Logical = uint32(i+1), uint64(layout.EventsHeaderSize+i*layout.ChunkSize)
		c.Extend(layout.Extent{Kind: layout.ExtentEvents, Pid: 8, Owner: 99}, bytes.Repeat([]byte{0xff}, 100))
		if len(lost) > 0 && lost[0] == i {
			c.Claim(4)
			continue
		}
		c.Extend(x, events[x.Logical:][:layout.ChunkSize-layout.ExtentSize])
	}
	w.path = filepath.Join(writeContainer(t, c.Bytes()), "node7-7-99.rec")
}

// Events in a container are the same as in a file beside the recording.
func TestEventsInContainer(t *testing.T) {
	w := newTraced(t)
	chunks := []written{chunkOf(0, 2, w.sends(3, 400_000)...), chunkOf(1, 3, w.ev(aSendOfThread1, 500, 10, 0, 7)),
		chunkOf(0, 1, w.sends(layout.ChunkEvents, 0)...), {}}
	w.leave(t, eventsEnding, w.events(chunks...))
	want, wantKinds := readEvents(t, w.open(t))
	w.contain(t, chunks)
	if files := EventFiles(w.path); len(files) != 1 || filepath.Base(files[0]) != "node7-7-99.events" {
		t.Fatalf("%q", files)
	}
	e := w.check(t, layout.ChunkEvents+4)
	got, gotKinds := readEvents(t, e)
	testenv.Equal(t, want, got)
	testenv.Equal(t, wantKinds, gotKinds)
	if n, err := CountEvents(w.path); n != layout.ChunkEvents+4 || err != nil || e.Trace().Cut {
		t.Errorf("%d events, %v, cut %v", n, err, e.Trace().Cut)
	}
	if err := RemoveEvents(w.path); err != nil || len(EventFiles(w.path)) != 1 {
		t.Errorf("%v, %q: they stay until the container is packed", err, EventFiles(w.path))
	}
}

// A chunk whose extent is lost is reported, and the others are read.
func TestEventsLostInContainer(t *testing.T) {
	for lost, want := range [][]string{
		{"node7-7-99.events: byte 65536: chunks that are missing: 1"},
		{"node7-7-99.events: byte 65536: chunks that are missing: 1"},
		{fmt.Sprintf("node7-7-99.events: byte %d: truncated: it had 3 chunks", secondChunk+layout.ChunkSize)},
	} {
		w := newTraced(t)
		chunks := []written{chunkOf(0, 1, w.sends(10, 0)...), chunkOf(0, 2, w.sends(10, 2000)...), chunkOf(0, 3, w.sends(10, 4000)...)}
		w.contain(t, chunks, lost)
		if e := w.check(t, 20, want...); !e.Trace().Cut {
			t.Errorf("chunk %d lost: the trace is said to be whole", lost)
		}
	}
}

// A thread whose last chunk is full may have run out of room: from then on,
// events of other threads are not whole.
func TestEventsWholeInContainer(t *testing.T) {
	w := newTraced(t)
	w.header.Cut = layout.CutLimit
	chunks := []written{chunkOf(0, 1, w.sends(layout.ChunkEvents, 0)...), chunkOf(1, 2, w.ev(aSendOfThread1, 900_000, 10, 0, 7))}
	w.contain(t, chunks)
	last := 20*(layout.ChunkEvents-1) + 10 // ticks; two are one ns, and tick 1000 was at 1,000,000 ns
	if e := w.check(t, layout.ChunkEvents+1); e.Trace().WholeUntil != 1_000_000+int64(last-1000)/2 {
		t.Errorf("whole until %d", e.Trace().WholeUntil)
	}
}

// A process that runs goes on to write: what it adds is read, though the
// container is kept open.
func TestEventsAddedInContainer(t *testing.T) {
	w := newTraced(t)
	chunks := []written{chunkOf(0, 1, w.sends(10, 0)...)}
	w.contain(t, chunks)
	if n, err := CountEvents(w.path); n != 10 || err != nil {
		t.Fatalf("%d events, %v", n, err)
	}
	container := FileOf(w.path)
	raw := testenv.ReadFile(t, container)
	var h layout.ContainerHeader
	binary.Decode(raw, little, &h)
	x := layout.Extent{Magic: layout.ExtentMagic, Kind: layout.ExtentEvents, Sequence: 2, Granules: 4, ID: h.ID, Offset: uint64(len(raw)),
		Owner: 99, Logical: secondChunk, Pid: 7}
	x.Checksum = x.Sum(little)
	raw = append(appendFixed(raw, x), w.encode(nil, []written{chunkOf(0, 2, w.sends(5, 2000)...)})[:layout.ChunkSize-layout.ExtentSize]...)
	h.Claimed += 4
	copy(raw, appendFixed(nil, h))
	if err := os.WriteFile(container, raw, 0o600); err != nil { // the same file, as for a process that has mapped it
		t.Fatal(err)
	}
	if n, err := CountEvents(w.path); n != 15 || err != nil {
		t.Errorf("%d events, %v, after a chunk was added", n, err)
	}
}

// Events find their rows although the buffer of the recording is used again.
func TestRowsAfterBuffer(t *testing.T) {
	w := newTraced(t)
	chunks := []written{chunkOf(0, 1, w.sends(10, 0)...), chunkOf(1, 2, w.ev(aSendOfThread1, 500, 10, 0, 7))}
	w.leave(t, eventsEnding, w.events(chunks...))
	_, want := readEvents(t, w.open(t))
	w.contain(t, chunks)
	r := eventReading{EventReader: w.open(t)}
	defer r.close()
	err := withFile(w.path, func(f *file) error {
		r.order = f.order
		return r.rows.load(r.of, f)
	})
	overwriteBuffers()
	if err = errors.Join(err, r.openFiles(), r.link()); err != nil {
		t.Error(err)
	}
	testenv.Equal(t, want, r.rows.all)
}

// overwriteBuffers overwrites the free buffers, as happens when another recording is read.
func overwriteBuffers() {
	for range 100 {
		b := buffers.Get().(*[]byte)
		defer buffers.Put(b)
		all := (*b)[:cap(*b)]
		for i := range all {
			all[i] = 0xff
		}
	}
}
