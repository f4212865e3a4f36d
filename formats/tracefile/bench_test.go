package tracefile

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// clock makes realistic times: gaps of 0.2 to 20 us between calls, mostly short
// ones, and lognormally distributed times in calls.
type clock struct {
	r   *rand.Rand
	now int64
}

func newClock(seed uint64) clock {
	return clock{rand.New(rand.NewPCG(seed, 1)), 1_764_000_000_000_000_000}
}

func (c *clock) call(median float64) (start, duration int64) {
	c.now += 200 + int64(19_800*math.Pow(c.r.Float64(), 3))
	start, duration = c.now, int64(median*math.Exp(0.7*c.r.NormFloat64()))
	c.now += duration
	return start, duration
}

const neighbours = 6

// halo returns the events of a process that exchanges messages of three sizes
// with six neighbors, and calls a reduction every five iterations.
func halo(seed uint64, n int) *jobs.Process {
	l := traceOf(testTrace, 1<<13)
	kind := func(action profile.Action, call string, d profile.Direction, peer int, site string) uint32 {
		l.Kinds = append(l.Kinds, profile.EventKind{Action: action, Call: call, Direction: d, Peer: int32(peer), Callsite: site, Slice: "run"})
		return uint32(len(l.Kinds) - 1)
	}
	var irecv, isend, moved, completed [neighbours]uint32
	for i := range neighbours {
		peer := 3*i + 1
		irecv[i] = kind(profile.Called, "Irecv", profile.None, peer, "exchange halo.c:120")
		isend[i] = kind(profile.Called, "Isend", profile.Send, peer, "exchange halo.c:131")
		moved[i] = kind(profile.Moved, "Irecv", profile.Recv, peer, "exchange halo.c:120")
		completed[i] = kind(profile.Completed, "Isend", profile.None, peer, "exchange halo.c:131")
	}
	waitall := kind(profile.Called, "Waitall", profile.None, profile.PeerNone, "exchange halo.c:140")
	allreduce := kind(profile.Called, "Allreduce", profile.Send, profile.PeerNone, "main halo.c:77")
	c := newClock(seed)
	called := func(kind uint32, median float64, size uint64, tag, link int32, seq uint32) {
		start, duration := c.call(median)
		l.AddOfKind(kind, start, duration, size, tag, link, seq)
	}
	for seq := uint32(1); l.Events.Len() < n; seq++ {
		for i := range neighbours {
			called(irecv[i], 300, 0, int32(i), 2*neighbours+1, 0)
		}
		for i := range neighbours {
			called(isend[i], 700, 8000<<(i/2), int32(i), 2*neighbours+1, seq)
		}
		called(waitall, 9000, 0, profile.NoTag, 0, 0)
		for i := range neighbours {
			l.AddOfKind(moved[i], c.now, 0, 8000<<(i/2), int32(i), -2*neighbours-1, seq)
		}
		for i := range neighbours {
			l.AddOfKind(completed[i], c.now, 0, 0, int32(i), -2*neighbours-1, 0)
		}
		if seq%5 == 0 {
			called(allreduce, 5000, 8, profile.NoTag, 0, 0)
		}
	}
	return l
}

// swaps returns the events of molecular dynamics: atoms at the border go to six
// neighbors one after the other, by Irecv, Send and Wait. Sizes change only
// when the lists of neighbors are renewed, every twenty steps. Every ten steps
// there are reductions.
func swaps(seed uint64, n int) *jobs.Process {
	l := traceOf(testTrace, 1<<13)
	kind := func(action profile.Action, call string, d profile.Direction, peer int, site string) uint32 {
		l.Kinds = append(l.Kinds, profile.EventKind{Action: action, Call: call, Direction: d, Peer: int32(peer), Callsite: site, Slice: "run"})
		return uint32(len(l.Kinds) - 1)
	}
	var irecv, send, moved [neighbours]uint32
	for i := range neighbours {
		irecv[i] = kind(profile.Called, "Irecv", profile.None, i+1, "forward comm.cpp:466")
		send[i] = kind(profile.Called, "Send", profile.Send, i+1, "forward comm.cpp:468")
		moved[i] = kind(profile.Moved, "Irecv", profile.Recv, i+1, "forward comm.cpp:466")
	}
	wait := kind(profile.Called, "Wait", profile.None, profile.PeerNone, "forward comm.cpp:470")
	allreduce := kind(profile.Called, "Allreduce", profile.Send, profile.PeerNone, "thermo.cpp:310")
	c := newClock(seed)
	called := func(kind uint32, median float64, size uint64, tag, link int32, seq uint32) {
		start, duration := c.call(median)
		l.AddOfKind(kind, start, duration, size, tag, link, seq)
	}
	var out, in [neighbours]uint64
	for step := uint32(0); l.Events.Len() < n; step++ {
		for i := range neighbours {
			if step%20 == 0 {
				out[i], in[i] = 24*(1000+c.r.Uint64N(100)), 24*(1000+c.r.Uint64N(100))
			}
			called(irecv[i], 300, 0, 0, 3, 0)
			called(send[i], 2000, out[i], 0, 0, step+1)
			called(wait, 4000, 0, profile.NoTag, 0, 0)
			l.AddOfKind(moved[i], c.now, 0, in[i], 0, -3, step+1)
		}
		if step%10 == 0 {
			for range 4 {
				called(allreduce, 5000, 8, profile.NoTag, 0, 0)
			}
		}
	}
	return l
}

// irregular returns the events of a process that exchanges messages of any size
// with any of 64 others, by blocking calls: the worst case for compression.
func irregular(seed uint64, n int) *jobs.Process {
	l := traceOf(testTrace, 1<<13)
	const peers = 64
	for peer := range int32(peers) {
		l.Kinds = append(l.Kinds, profile.EventKind{Call: "Send", Direction: profile.Send, Peer: peer, Callsite: "out a.c:1", Slice: "run"},
			profile.EventKind{Call: "Recv", Direction: profile.Recv, Peer: peer, Callsite: "in a.c:2", Slice: "run"})
	}
	var seq [2 * peers]uint32
	c := newClock(seed)
	for l.Events.Len() < n {
		kind := c.r.Uint32N(2 * peers)
		seq[kind]++
		start, duration := c.call(2000)
		l.AddOfKind(kind, start, duration, c.r.Uint64N(100_000), c.r.Int32N(4), 0, seq[kind])
	}
	return l
}

var streams = []struct {
	name string
	make func(seed uint64, n int) *jobs.Process
}{{"halo", halo}, {"swaps", swaps}, {"irregular", irregular}}

const benchEvents = 1 << 20

func BenchmarkWrite(b *testing.B) {
	for _, stream := range streams {
		b.Run(stream.name, func(b *testing.B) {
			l := stream.make(1, benchEvents)
			for b.Loop() {
				testenv.NoError(b, Write(io.Discard, l))
			}
			n := float64(l.Events.Len())
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(len(write(b, l, maxBatch, maxHeld)))/n, "B/event")
		})
	}
}

// BenchmarkWriteTwo writes two files concurrently.
func BenchmarkWriteTwo(b *testing.B) {
	for _, stream := range streams {
		b.Run(stream.name, func(b *testing.B) {
			ls := []*jobs.Process{stream.make(1, benchEvents), stream.make(2, benchEvents)}
			for b.Loop() {
				var two errgroup.Group
				for _, l := range ls {
					two.Go(func() error { return Write(io.Discard, l) })
				}
				testenv.NoError(b, two.Wait())
			}
			n := ls[0].Events.Len() + ls[1].Events.Len()
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, stream := range streams {
		b.Run(stream.name, func(b *testing.B) {
			l := stream.make(1, benchEvents)
			f := opened(b, write(b, l, maxBatch, maxHeld))
			for b.Loop() {
				n := 0
				err := f.Each(func(e *profile.Events, _ []profile.EventKind) error {
					n += e.Len()
					return nil
				})
				if err != nil || n != l.Events.Len() {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(l.Events.Len())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// BenchmarkColumns reports the size of each column.
func BenchmarkColumns(b *testing.B) {
	for _, stream := range streams {
		b.Run(stream.name, func(b *testing.B) {
			l := stream.make(1, benchEvents)
			for i, c := range Columns() {
				b.Run(c.Name, func(b *testing.B) {
					size := 0
					for b.Loop() {
						size = columnSize(b, l, i)
					}
					b.ReportMetric(float64(size)/float64(l.Events.Len()), "B/event")
				})
			}
		})
	}
}

// columnSize returns the number of bytes of one column in all batches.
func columnSize(b *testing.B, l *jobs.Process, column int) (size int) {
	b.Helper()
	w, err := newWriter(new(bytes.Buffer), l.Trace(), maxBatch, maxHeld)
	testenv.NoError(b, err)
	w.cols = w.cols[column : column+1]
	err = l.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		if err := w.learn(uint32(len(kinds)-1), kinds); err != nil {
			return err
		}
		w.append(e)
		if w.rows < maxBatch {
			return nil
		}
		valid, values, _ := w.cols[0].take()
		w.rows = 0
		size += len(packer().EncodeAll(valid, nil)) + len(packer().EncodeAll(values, nil))
		return nil
	})
	testenv.NoError(b, err)
	return size
}
