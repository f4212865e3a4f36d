package recording

import (
	"bytes"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestLifetimes reads threads of a process that left MPI_Init at 1500 and called
// MPI_Finalize at 2500, or was killed after 2800, in ticks of 0.5 ns.
func TestLifetimes(t *testing.T) {
	const killed = layout.StateRunning
	main := func(first, last uint64) layout.Thread {
		return layout.Thread{Index: 1, Flags: layout.ThreadMain, First: first, Last: last}
	}
	other := func(first, last uint64) layout.Thread { return layout.Thread{Index: 2, First: first, Last: last} }
	for _, test := range []struct {
		name    string
		state   uint32
		threads []layout.Thread
		want    int64 // ns
	}{
		{"main thread", layout.StateFinalized, []layout.Thread{main(1500, 2900)}, 500},
		{"main thread and another", layout.StateFinalized, []layout.Thread{main(1500, 2900), other(1600, 2000)}, 700},
		{"main thread without a call before Finalize", layout.StateFinalized, []layout.Thread{main(2500, 2900), other(1600, 2000)}, 200},
		{"main thread has the record of one that lived for 100 before", layout.StateFinalized, []layout.Thread{main(1400, 2900)}, 550},
		{"main thread has ended", layout.StateFinalized, []layout.Thread{{Index: 1, First: 1500, Last: 1700}}, 100},
		{"killed main thread", killed, []layout.Thread{main(1500, 1700)}, 650}, // to the latest known time
		{"killed main thread without a call", killed, []layout.Thread{main(1500, 1500), other(1600, 2000)}, 200},
		{"damaged: a thread that ended before it began", layout.StateFinalized, []layout.Thread{other(2000, 1600)}, 0},
		{"damaged: a thread that lived longer than the process", layout.StateFinalized, []layout.Thread{other(0, 1<<60)}, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &builder{}
			for _, thread := range test.threads {
				b.record(layout.RecordThread, thread)
			}
			b.spoil = func(h *layout.Header) {
				h.Version, h.State = layout.Version, test.state
				h.InitEnd = layout.Clock{Ticks: 1500, Monotonic: 5250, Realtime: 1_000_250}
				if test.state == killed {
					h.Last, h.FinalizeEnd = layout.Clock{Ticks: 2800, Monotonic: 5900, Realtime: 1_000_900}, layout.Clock{}
				} else {
					h.FinalizeStart = layout.Clock{Ticks: 2500, Monotonic: 5750, Realtime: 1_000_750}
				}
			}
			if got := read(t, b.bytes()).Lifetimes; got != test.want {
				t.Errorf("%d ns, want %d", got, test.want)
			}
		})
	}
}

// TestThreadOfVersion8 reads a thread without the later fields, and the open call that
// follows it at once.
func TestThreadOfVersion8(t *testing.T) {
	b := &builder{}
	b.record(layout.RecordThread, struct {
		Record          layout.Record
		Index, Reserved uint32
		Table           uint64
		Last, Open      uint64
	}{Index: 1, Open: layout.HeaderSize + 64 + 40}, layout.Open{Call: 10, Comm: layout.CommNone, Peer: 3, Last: 2000})
	b.spoil = func(h *layout.Header) { h.Version, h.State = 8, layout.StateRunning }
	p := read(t, b.bytes())
	if len(p.Open) != 1 || p.Open[0].Call != "Send" || p.Open[0].Peer != 3 || p.Lifetimes != 0 {
		t.Errorf("%+v, lifetimes %d; %q", p.Open, p.Lifetimes, p.Problems)
	}
}

// TestLifetimesWritten checks that recordings of tests have the lifetimes of a profile.
func TestLifetimesWritten(t *testing.T) {
	p := killed()
	p.Lifetimes = 1001
	var out bytes.Buffer
	testenv.NoError(t, recordingtest.Write(&out, p))
	if got := read(t, out.Bytes()); got.Lifetimes != 1001 || got.End != p.End {
		t.Errorf("lifetimes %d, end %d, want 1001, %d", got.Lifetimes, got.End, p.End)
	}
}

// TestThreadUse reads what threads used of a process that ran from 1500 to 2500, in ticks of
// 0.5 ns: its own time is 500 ns.
func TestThreadUse(t *testing.T) {
	main := layout.Thread{Index: 1, Flags: layout.ThreadMain, First: 1500, Last: 2900, CPUTime: 400, RunDelay: 70}
	idle := layout.Thread{Index: 1, Flags: layout.ThreadMain, First: 2500, Last: 2900, CPUTime: 400, RunDelay: 70}
	other := layout.Thread{Index: 2, First: 1600, Last: 2000, CPUTime: 90, RunDelay: 30}
	lost := layout.Thread{Index: 2, Flags: layout.ThreadUseUnknown, First: 1600, Last: 2000, CPUTime: 90, RunDelay: 30}
	for _, test := range []struct {
		name    string
		version uint32
		count   uint32 // of threads, in the header
		threads []layout.Thread
		want    *profile.ThreadUse
	}{
		{"main thread", 9, 5, []layout.Thread{main}, &profile.ThreadUse{Busy: 3, CPUNs: 400, DelayNs: 70}},
		{"main thread and another", 9, 5, []layout.Thread{main, other}, &profile.ThreadUse{Busy: 3, CPUNs: 490, DelayNs: 100}},
		{"main thread without a call, and another", 9, 5, []layout.Thread{idle, other}, &profile.ThreadUse{Busy: 3, CPUNs: 90, DelayNs: 30}},
		{"only the main thread, without a call", 9, 5, []layout.Thread{idle}, &profile.ThreadUse{Busy: 3, CPUNs: 400, DelayNs: 70}},
		{"more than the lifetime", 9, 5, []layout.Thread{main, {Index: 2, First: 1600, Last: 2000, CPUTime: 300, RunDelay: 300}},
			&profile.ThreadUse{Busy: 3, CPUNs: 600, DelayNs: 270}},
		{"a thread's is not known", 9, 5, []layout.Thread{main, lost}, &profile.ThreadUse{Busy: 3, CPUNs: 490, DelayNs: 100, Incomplete: true}},
		{"damaged: more busy threads than threads", 9, 2, []layout.Thread{main}, &profile.ThreadUse{Busy: 2, CPUNs: 400, DelayNs: 70}},
		{"the kernel does not count it", 9, 0, []layout.Thread{main}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &builder{}
			for _, thread := range test.threads {
				b.record(layout.RecordThread, thread)
			}
			b.spoil = func(h *layout.Header) {
				h.Version, h.State, h.Threads, h.BusyThreads = test.version, layout.StateFinalized, test.count, 3
				h.InitEnd = layout.Clock{Ticks: 1500, Monotonic: 5250, Realtime: 1_000_250}
				h.FinalizeStart = layout.Clock{Ticks: 2500, Monotonic: 5750, Realtime: 1_000_750}
			}
			testenv.Equal(t, test.want, read(t, b.bytes()).ThreadUse)
		})
	}
}
