package timeline

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const ms = int64(time.Millisecond)

func draw(t *testing.T, ps []*process, o Options) *plot.Timeline {
	t.Helper()
	if o.Width == 0 {
		o.Width, o.Height = 800, 600
	}
	p, err := Draw(jobs.Sources(ps...), o)
	testenv.NoError(t, err)
	testenv.NoError(t, plot.Write(io.Discard, ".png", p))
	return p
}

// exact draws with columns of 1 ms, so that each column of the axis is one
// column of the picture.
func exact(t *testing.T, o Options, ps ...*process) *plot.Timeline {
	t.Helper()
	columns := draw(t, ps, o).Columns()
	first := ps[0].Events.Start[0]
	ps[0].call("Finalize", profile.Other, first+int64(columns)*ms, 0)
	return draw(t, ps, o)
}

func share(p *plot.Timeline, lane, column, class int) float32 {
	return p.Lanes[lane].Shares[column*numClasses+class]
}

// checkShares compares all shares of one lane, by column and class.
func checkShares(t *testing.T, p *plot.Timeline, lane int, want map[[2]int]float32) {
	t.Helper()
	for column := range p.Columns() {
		for class := range numClasses {
			if got := share(p, lane, column, class); got != want[[2]int{column, class}] {
				t.Errorf("lane %d, column %d: %g of %s, want %g", lane, column, got, Activities()[class+1].Name, want[[2]int{column, class}])
			}
		}
	}
}

// TestShares checks the share of each class in columns of 1 ms.
func TestShares(t *testing.T) {
	const zero = int64(1_700_000_000_000_000_000)
	a, b := newProcess(0, 2), newProcess(1, 2)
	a.Batch = 2
	a.call("Init", profile.Other, zero, 2*ms)
	a.call("Wait", profile.P2P, zero+10*ms+ms/4, ms/4)         // within one column
	a.call("Wait", profile.P2P, zero+10*ms+ms/2, ms/4)         // a second call in that column
	a.call("Barrier", profile.AllToAll, zero+11*ms-ms/8, 2*ms) // over three columns
	a.call("File_open", profile.IO, zero+20*ms, ms)            // exactly one column
	b.send("Send", 0, zero+5*ms, ms/2, 8, 0, 1)
	b.call("Put", profile.OneSided, zero+6*ms, ms/2)
	b.call("Win_fence", profile.Sync, zero+6*ms+ms/2, ms/2)
	b.call("Comm_dup", profile.Other, zero+7*ms, ms/2)
	p := exact(t, Options{}, a, b)
	checkShares(t, p, 0, map[[2]int]float32{
		{0, settingUp}: 1, {1, settingUp}: 1,
		{10, waiting}: 0.5, {10, collective}: 0.125, {11, collective}: 1, {12, collective}: 0.875,
		{20, fileIO}: 1,
	})
	checkShares(t, p, 1, map[[2]int]float32{{5, messaging}: 0.5, {6, oneSided}: 1, {7, otherCalls}: 0.5})
	if l := p.Lanes[1]; l.Begin != 0.005 || l.End != 0.0075 {
		t.Errorf("lane of rank 1 is from %g to %g s, want 0.005 to 0.0075", l.Begin, l.End)
	}
	if p.From != 0 || p.To != float64(p.Columns())/1000 {
		t.Errorf("axis from %g to %g s", p.From, p.To)
	}
}

// TestSharesAddUp requires that the shares add up to the time of the calls, for
// any number of columns.
func TestSharesAddUp(t *testing.T) {
	for _, length := range []int64{1, 7, 699, 700, 701, 123_456_789} {
		b := newBins(1000, 1000+length, 700)
		b.lines = 1
		for at := int64(0); at < length; at += 1 + length/977 {
			b.add(waiting, 1000+at, 1000+at+1+length/1953)
		}
		b.add(fileIO, 0, 5000+2*length)
		sums := [numClasses]int64{}
		for i, ns := range b.ns {
			sums[i%numClasses] += ns
		}
		want := int64(0)
		for at := int64(0); at < length; at += 1 + length/977 {
			want += min(1+length/1953, length-at)
		}
		if sums[waiting] != want || sums[fileIO] != length {
			t.Errorf("axis of %d ns: %d and %d ns, want %d and %d", length, sums[waiting], sums[fileIO], want, length)
		}
		for i, s := range b.shares() {
			if s < 0 || s > 1 {
				t.Fatalf("axis of %d ns: share %d is %g", length, i, s)
			}
		}
	}
}

// TestNestedCalls requires that time in a call made from another call's
// callback counts for the inner call only.
func TestNestedCalls(t *testing.T) {
	p := newProcess(0, 1)
	p.call("Init", profile.Other, 0, ms)
	p.call("Barrier", profile.AllToAll, 10*ms, ms)
	p.call("Wait", profile.P2P, 10*ms, ms)
	checkShares(t, exact(t, Options{}, p), 0, map[[2]int]float32{{0, settingUp}: 1, {10, waiting}: 0.5, {10, collective}: 0.5})
}

func TestTimeRange(t *testing.T) {
	early, late := newProcess(0, 2), newProcess(1, 2)
	early.call("Init", profile.Other, 500*ms, ms)
	late.call("Wait", profile.P2P, 1500*ms, 1000*ms)
	late.call("Barrier", profile.AllToAll, 2500*ms, 1000*ms)
	// Times count from the first event of all ranks, even of a rank that is not
	// drawn.
	o := Options{From: 1500 * time.Millisecond, To: 2500 * time.Millisecond, Ranks: profile.RankSet{{First: 1, Last: 1}}, Width: 800, Height: 600}
	p := draw(t, []*process{early, late}, o)
	if p.From != 1.5 || p.To != 2.5 || len(p.Lanes) != 1 || p.Labels[0] != "1" {
		t.Fatalf("%g to %g s, lanes %q", p.From, p.To, p.Labels)
	}
	last := p.Columns() - 1
	half := (last+1)/2 - 1
	if share(p, 0, 0, waiting) != 1 || share(p, 0, half, waiting) != 1 || share(p, 0, half+2, collective) != 1 || share(p, 0, last, collective) != 1 {
		t.Error("want waiting in the first half, a collective in the second")
	}
	o.To = time.Hour
	if p := draw(t, []*process{early, late}, o); p.To != 3 {
		t.Errorf("picture ends at %g s, want 3", p.To)
	}
}

// TestBeginsAfterInit requires that the picture begins when the first of the
// drawn ranks leaves MPI_Init, unless another begin is given.
func TestBeginsAfterInit(t *testing.T) {
	ps := []*process{newProcess(0, 2), newProcess(1, 2)}
	for r, p := range ps {
		p.Trace().InitEnd = int64(1000+500*r) * ms
		p.call("Init", profile.Other, 0, p.Trace().InitEnd)
		p.call("Barrier", profile.AllToAll, 2000*ms, 1000*ms)
	}
	for _, c := range []struct {
		name    string
		o       Options
		from    float64
		caption string
	}{
		{"both", Options{}, 1, "1.00 s in MPI_Init before (--include-init)"},
		{"rank 1", Options{Ranks: profile.RankSet{{First: 1, Last: 1}}}, 1.5, "1.50 s in MPI_Init before (--include-init)"},
		{"all", Options{IncludeInit: true}, 0, ""},
		{"from", Options{From: 500 * time.Millisecond}, 0.5, ""},
		{"up to a time in MPI_Init", Options{To: 800 * time.Millisecond}, 0, ""},
	} {
		p := draw(t, ps, c.o)
		if said := strings.Contains(strings.Join(p.Caption, " "), "MPI_Init"); p.From != c.from || said != (c.caption != "") || c.caption != "" && !slices.Contains(p.Caption, c.caption) {
			t.Errorf("%s: from %g s, caption %q", c.name, p.From, p.Caption)
		}
	}
}

// TestFold requires that 1000 ranks in room for 300 share lanes of 4 ranks,
// with the means of their shares.
func TestFold(t *testing.T) {
	var ps []*process
	height := 300 + plot.MaxTimelineHeight - plot.LanesIn(plot.MaxTimelineHeight)
	for r := range 1000 {
		p := newProcess(r, 1000)
		p.call("Init", profile.Other, 0, ms)
		if r%4 == 1 || r == 8 {
			p.call("Wait", profile.P2P, 10*ms, ms)
		}
		ps = append(ps, p)
	}
	p := exact(t, Options{Width: 800, Height: height}, ps...)
	if p.PerLane != 4 || len(p.Lanes) != 250 || len(p.Labels) != 1000 || p.Labels[999] != "999" {
		t.Fatalf("%d lanes of %d, %d labels", len(p.Lanes), p.PerLane, len(p.Labels))
	}
	checkShares(t, p, 0, map[[2]int]float32{{0, settingUp}: 1, {10, waiting}: 0.25})
	checkShares(t, p, 2, map[[2]int]float32{{0, settingUp}: 1, {10, waiting}: 0.5})
	if p.Caption[0] != "1,000 ranks, 4 in a lane" {
		t.Errorf("caption %q", p.Caption)
	}
	p = draw(t, ps[:301], Options{Width: 800, Height: height})
	if p.PerLane != 2 || len(p.Lanes) != 151 || share(p, 150, 0, settingUp) != 1 {
		t.Errorf("%d lanes of %d, the last with %g", len(p.Lanes), p.PerLane, share(p, 150, 0, settingUp))
	}
}

// threaded returns a process whose threads 0 and 2 made calls.
func threaded(rank int) *process {
	p := newProcess(rank, 2)
	p.Trace().Threads = 3
	p.call("Init", profile.Other, 0, ms)
	p.add(profile.EventKind{Call: "Wait", Thread: 2}, 10*ms, ms, 0, profile.NoTag, 0)
	return p
}

func TestThreads(t *testing.T) {
	plain := newProcess(1, 2)
	plain.call("Init", profile.Other, 0, ms)
	p := exact(t, Options{}, threaded(0), plain)
	if got := strings.Join(p.Labels, " "); got != "0.0 0.2 1" || p.AxisName != "rank.thread" || p.Caption[0] != "2 ranks, 3 threads" {
		t.Fatalf("lanes %q of %s, %q", got, p.AxisName, p.Caption[0])
	}
	checkShares(t, p, 0, map[[2]int]float32{{0, settingUp}: 1})
	checkShares(t, p, 1, map[[2]int]float32{{10, waiting}: 1})
	checkShares(t, p, 2, map[[2]int]float32{{0, settingUp}: 1})
}

// TestThreadsThatDoNotFit requires that the threads of a rank share a lane
// before ranks do.
func TestThreadsThatDoNotFit(t *testing.T) {
	var ps []*process
	for r := range 50 {
		ps = append(ps, threaded(r))
	}
	p := exact(t, Options{Width: 800, Height: plot.MinTimelineHeight}, ps...)
	if len(p.Lanes) != 50 || p.PerLane != 1 || p.Labels[1] != "1" || p.AxisName != "rank" {
		t.Fatalf("%d lanes %q", len(p.Lanes), p.Labels)
	}
	checkShares(t, p, 1, map[[2]int]float32{{0, settingUp}: 1, {10, waiting}: 1})
}

func TestCutTraces(t *testing.T) {
	p := newProcess(0, 1)
	p.call("Init", profile.Other, 0, ms)
	p.Trace().Cut, p.Trace().Dropped = true, 1234
	got := strings.Join(draw(t, []*process{p}, Options{}).Caption, "|")
	if want := "1 rank|of 1 rank not all calls were traced: what looks like time outside MPI may be in it|1,234 events had no room in the traces"; got != want {
		t.Errorf("caption %q, want %q", got, want)
	}
}

func TestErrors(t *testing.T) {
	empty, some := newProcess(0, 2), newProcess(1, 2)
	some.call("Init", profile.Other, 0, 2*int64(time.Second))
	damaged := newProcess(1, 2)
	damaged.Err = errors.New("damaged at byte 7")
	sparse := newProcess(0, 1)
	sparse.call("Barrier", profile.AllToAll, 0, 50*ms)
	sparse.call("Barrier", profile.AllToAll, 1500*ms, 50*ms)
	for _, c := range []struct {
		name, want string
		src        []profile.EventSource
		o          Options
	}{
		{"no events", "no event in the traces of 1 rank", jobs.Sources(empty), Options{}},
		{"other ranks", "no trace of ranks 3-4: there are those of ranks 0-1", jobs.Sources(empty, some), Options{Ranks: profile.RankSet{{First: 3, Last: 4}}}},
		{"behind the end", "nothing after 2s: the last event ends 2.00 s after the first began", jobs.Sources(some), Options{From: 2 * time.Second}},
		{"between two events", "no event from 100ms to 200ms: before, the last ends at 50ms; after, the first begins at 1.5s", jobs.Sources(sparse),
			Options{From: 100 * time.Millisecond, To: 200 * time.Millisecond}},
		{"backwards", "from 1s is not before to 500ms", jobs.Sources(some), Options{From: time.Second, To: time.Second / 2}},
		{"before the start", "not negative", jobs.Sources(some), Options{From: -time.Second}},
		{"too narrow", "10 pixels wide", jobs.Sources(some), Options{Width: 10, Height: 600}},
		{"too high", "100000 pixels high", jobs.Sources(some), Options{Width: 800, Height: 100_000}},
		{"damaged", "rank 1: damaged at byte 7", jobs.Sources(empty, damaged), Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Width == 0 {
				c.o.Width, c.o.Height = 800, 600
			}
			if _, err := Draw(c.src, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestIndexedSources requires that only the events in the interval that is
// drawn are read, if the source has an index.
func TestIndexedSources(t *testing.T) {
	p := newProcess(0, 1)
	p.call("Init", profile.Other, 0, ms)
	p.call("Wait", profile.P2P, 10*ms, 90*ms)
	in := &index{process: p}
	tl, err := Draw([]profile.EventSource{in}, Options{From: 50 * time.Millisecond, To: 60 * time.Millisecond, Width: 800, Height: 600})
	if err != nil || in.from != 50*ms || in.to != 60*ms {
		t.Fatalf("error %v; events read from %d to %d, want 50 to 60 ms", err, in.from, in.to)
	}
	if share(tl, 0, 5, waiting) != 1 {
		t.Error("no waiting in column 5")
	}
	_, err = Draw([]profile.EventSource{in}, Options{From: 50 * time.Millisecond, To: 60 * time.Millisecond, Width: 800, Height: 600, Messages: true})
	if err != nil || in.from != 40*ms || in.to != 70*ms {
		t.Errorf("error %v; with messages, events read from %d to %d, want 40 to 70 ms", err, in.from, in.to)
	}
}

// index is a source that returns only the events between two times.
type index struct {
	*process
	from, to int64
}

func (in *index) Each(func(*profile.Events, []profile.EventKind) error) error {
	return errors.New("all was read")
}
func (in *index) Span() (from, to int64, ok bool) { return 0, 100 * ms, true }
func (in *index) Kinds() []profile.EventKind      { return in.process.Kinds }
func (in *index) EachBetween(from, to int64, f func(*profile.Events, []profile.EventKind) error) error {
	in.from, in.to = from, to
	return in.process.Each(f)
}

// endless repeats one batch, each time with later times.
type endless struct {
	*process
	times int
}

func (s endless) Each(f func(*profile.Events, []profile.EventKind) error) error {
	e := s.process.Events
	e.Start, e.Seq = append([]int64(nil), e.Start...), append([]uint32(nil), e.Seq...)
	for range s.times {
		if err := f(&e, s.Kinds); err != nil {
			return err
		}
		for i := range e.Start {
			e.Start[i] += 1000 * int64(len(e.Start))
			if e.Seq[i] > 0 {
				e.Seq[i] += uint32(len(e.Start))
			}
		}
	}
	return nil
}

// TestMemory requires that 10 times as many events take the same memory, also
// with messages.
func TestMemory(t *testing.T) {
	taken := func(times int) uint64 {
		src := exchange(4, times)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Draw(src, Options{Width: 800, Height: 600, Messages: true}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	// When there are more ends of messages than are kept, nothing more is
	// allocated.
	few, many := taken(200), taken(2000)
	if many > few+few/4 || many > 200<<20 {
		t.Errorf("800,000 events take %d bytes, 8,000,000 take %d", few, many)
	}
}
