package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// traceOf returns a trace without events, whose kinds a test numbers.
func traceOf(t profile.Trace, batch int, kinds ...profile.EventKind) *jobs.Process {
	p := jobs.ProcessOf(t)
	p.Batch, p.Kinds = batch, kinds
	return p
}

var testTrace = profile.Trace{Run: "run", Rank: 3, Size: 8, Host: "node1", Pid: 4711, State: profile.Finalized,
	Start: 1e18, InitEnd: 1e18 + 5, FinalizeStart: 2e18, End: 2e18 + 7, Threads: 2,
	Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD 5f", ID: strings.Repeat("5f", 16), Size: 8, Rank: 3},
		{Label: "inter 01", ID: strings.Repeat("01", 16), Size: 2, Rank: 1, Inter: true, Remote: 6}},
	Dropped: 9, Cut: true, Clock: &profile.ClockCorrection{At: 5, Offset: -0.5, Drift: 2e-5}}

// random returns n events of many kinds, some with extreme values.
func random(seed uint64, n int) *jobs.Process {
	r := rand.New(rand.NewPCG(seed, 0))
	l := traceOf(testTrace, 1+r.IntN(3*n/2+1))
	for range 1 + r.IntN(300) {
		l.Kinds = append(l.Kinds, profile.EventKind{Action: profile.Action(r.IntN(int(profile.NumActions))),
			Call: pick(r, "Send", "Irecv", "Waitall", "Allreduce", ""), Class: profile.Class(r.IntN(int(profile.NumClasses))),
			Direction: profile.Direction(r.IntN(int(profile.NumDirections))), AbnormalKind: profile.AbnormalKind(r.IntN(int(profile.NumAbnormalKinds))),
			Thread: r.Int32N(70000), Comm: r.Int32N(4) - 1, Peer: pick(r, r.Int32(), 0, profile.PeerNone, profile.PeerProcNull,
				profile.PeerAnySource, profile.PeerRoot, profile.PeerLost, profile.PeerElsewhere),
			Callsite: fmt.Sprint("f é.c:", r.IntN(200)), Slice: pick(r, "run", "phase 2", ""),
			Window: r.Int32N(3), Lock: profile.Lock(r.IntN(int(profile.NumLocks))), Group: r.Int32N(5), Made: r.Int32N(5)})
	}
	for range n {
		l.AddOfKind(r.Uint32N(uint32(len(l.Kinds))), pick(r, r.Int64(), 0, math.MaxInt64, math.MinInt64), pick(r, r.Int64N(1e6), 0, math.MaxInt64),
			pick(r, r.Uint64(), 0, math.MaxUint64), pick(r, r.Int32(), 0, profile.NoTag, profile.AnyTag),
			pick(r, r.Int32()-1<<30, 0, math.MinInt32), pick(r, r.Uint32(), 0, math.MaxUint32))
	}
	return l
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func write(t testing.TB, src profile.EventSource, batch, held int) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := newWriter(&file, src.Trace(), batch, held)
	if err == nil {
		err = errors.Join(src.Each(w.add), w.close())
	}
	testenv.NoError(t, err)
	return file.Bytes()
}

func saved(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.3.arrow")
	testenv.WriteFile(t, path, data)
	return path
}

func opened(t testing.TB, data []byte) *File {
	t.Helper()
	f, err := Open(saved(t, data))
	testenv.NoError(t, err)
	return f
}

// collect returns all events, and the kinds passed with the last batch.
func collect(src profile.EventSource) (e profile.Events, kinds []profile.EventKind, err error) {
	err = src.Each(func(b *profile.Events, k []profile.EventKind) error {
		extend(&e, b)
		kinds = k
		return nil
	})
	return e, kinds, err
}

func extend(e, b *profile.Events) {
	e.Start, e.Duration, e.Bytes = append(e.Start, b.Start...), append(e.Duration, b.Duration...), append(e.Bytes, b.Bytes...)
	e.Kind, e.Tag = append(e.Kind, b.Kind...), append(e.Tag, b.Tag...)
	e.Link, e.Seq = append(e.Link, b.Link...), append(e.Seq, b.Seq...)
}

func check(t *testing.T, want *jobs.Process, got profile.EventSource) {
	t.Helper()
	if diff := cmp.Diff(want.Trace(), got.Trace()); diff != "" {
		t.Errorf("trace:\n%s", diff)
	}
	events, kinds, err := collect(got)
	testenv.NoError(t, err)
	if diff := cmp.Diff(want.Events, events); diff != "" {
		t.Errorf("events:\n%.2000s", diff)
	}
	if len(kinds) > 0 {
		if diff := cmp.Diff(want.Kinds[:len(kinds)], kinds); diff != "" {
			t.Errorf("kinds:\n%.2000s", diff)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range []struct{ events, batch, held int }{
		{0, 100, 1 << 20}, {1, 100, 1 << 20}, {99, 100, 1 << 20}, {100, 100, 1 << 20}, {3001, 100, 1 << 20},
		{3001, 100, 0},       // each batch is written immediately, and the dictionaries come last
		{3001, 100, 20_000},  // the first few batches are held
		{50_000, 1 << 13, 0}, // some kinds first occur late
	} {
		t.Run(fmt.Sprintf("%d by %d, %d held", c.events, c.batch, c.held), func(t *testing.T) {
			want := random(uint64(c.events+c.held), c.events)
			check(t, want, opened(t, write(t, want, c.batch, c.held)))
		})
	}
}

func TestWrite(t *testing.T) {
	want := random(1, 1000)
	var file bytes.Buffer
	testenv.NoError(t, Write(&file, want))
	f := opened(t, file.Bytes())
	check(t, want, f)
	check(t, want, f) // a file can be read repeatedly
}

func TestSeveralAtOnce(t *testing.T) {
	var done sync.WaitGroup
	for seed := range 4 {
		want := random(uint64(seed), 20_000)
		done.Go(func() { check(t, want, opened(t, write(t, want, 1000, 1<<20))) })
	}
	done.Wait()
}

// TestTextsThatAreNone writes texts that are not UTF-8, which readers would
// reject.
func TestTextsThatAreNone(t *testing.T) {
	l := traceOf(profile.Trace{}, 10, profile.EventKind{Call: "Send", Callsite: "a\xff.c:1"}, profile.EventKind{Call: "Send", Callsite: "a\xfe.c:1"})
	l.AddOfKind(0, 1, 1, 1, 1, 1, 1)
	l.AddOfKind(1, 2, 1, 1, 1, 1, 1)
	f := opened(t, write(t, l, 10, 1<<20))
	for i, k := range f.kinds {
		if k.Callsite != "a\uFFFD.c:1" {
			t.Errorf("kind %d is at %q", i, k.Callsite)
		}
	}
}

func TestKindThatIsNotThere(t *testing.T) {
	l := traceOf(profile.Trace{}, 10, profile.EventKind{Call: "Send"})
	l.AddOfKind(1, 1, 1, 1, 1, 1, 1)
	w, err := newWriter(new(bytes.Buffer), l.Trace(), 10, 1)
	testenv.NoError(t, err)
	if err := w.add(&l.Events, l.Kinds); err == nil || !strings.Contains(err.Error(), "kind 1, and there are 1") {
		t.Errorf("error %v", err)
	}
}

// TestEachBetween reads events of 5 ns that begin every 10 ns, ten in a batch:
// batch b is from 100 b to 100 b + 95.
func TestEachBetween(t *testing.T) {
	l := traceOf(profile.Trace{}, 1000, profile.EventKind{Call: "Send"})
	for i := range int64(100) {
		l.AddOfKind(0, 10*i, 5, 0, 0, 0, 0)
	}
	f := opened(t, write(t, l, 10, 1<<20))
	if from, to, ok := f.Span(); from != 0 || to != 995 || !ok {
		t.Errorf("the span is %d to %d, %v", from, to, ok)
	}
	for name, c := range map[string]struct {
		from, to    int64
		first, last int64 // expected batches; none if last < first
	}{
		"all":              {math.MinInt64, math.MaxInt64, 0, 9},
		"one":              {250, 260, 2, 2},
		"end of one":       {295, 299, 2, 2},
		"between two":      {296, 299, 0, -1},
		"start of another": {296, 300, 3, 3},
		"two":              {190, 250, 1, 2},
		"before":           {-10, -1, 0, -1},
		"after":            {996, 2000, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int64
			err := f.EachBetween(c.from, c.to, func(e *profile.Events, _ []profile.EventKind) error {
				got = append(got, e.Start[0]/100)
				return nil
			})
			testenv.NoError(t, err)
			var want []int64
			for b := c.first; b <= c.last; b++ {
				want = append(want, b)
			}
			testenv.Equal(t, want, got)
		})
	}
}

func TestEachStops(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	err := opened(t, write(t, random(5, 1000), 10, 1<<20)).Each(func(*profile.Events, []profile.EventKind) error {
		n++
		return stop
	})
	if err != stop || n != 1 {
		t.Errorf("called %d times, error %v", n, err)
	}
}

// TestBatchOf checks that up to a thousand processes the batches of all
// processes together have no more events than those of 64 processes.
func TestBatchOf(t *testing.T) {
	for processes, want := range map[int]int{-1: 65536, 0: 65536, 1: 65536, 64: 65536, 128: 32768, 1024: 4096, 100_000: 4096} {
		if got := batchOf(processes); got != want {
			t.Errorf("%d processes: %d events, want %d", processes, got, want)
		}
	}
}
