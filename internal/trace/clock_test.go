package trace

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const (
	clockStart  = 1_700_000_000_000_000_000
	clockUs     = 1000
	clockMs     = 1000 * clockUs
	clockSecond = 1000 * clockMs
)

// clockJob is a job whose ranks are on a host each. reads gives what a rank's
// clock reads at a true time after clockStart.
type clockJob struct {
	ranks []*jobs.Process
	reads []func(int64) int64
	seq   map[[2]int]uint32
}

// even returns a clock that is ahead by offset and gains drift from clockStart
// on.
func even(offset int64, drift float64) func(int64) int64 {
	return func(t int64) int64 { return t + offset + int64(math.Round(drift*float64(t))) }
}

func newClockJob(reads ...func(int64) int64) *clockJob {
	j := &clockJob{reads: reads, seq: map[[2]int]uint32{}}
	for rank, read := range reads {
		start := clockStart + read(0)
		j.ranks = append(j.ranks, jobs.ProcessOf(profile.Trace{Rank: rank, Size: len(reads), Host: fmt.Sprintf("h%d", rank),
			Start: start, InitEnd: start, Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD", Size: len(reads), Rank: rank}}}))
	}
	return j
}

// message adds a message that is sent at a true time and arrives some ns later.
func (j *clockJob) message(from, to int, sent, takes int64) {
	j.seq[[2]int{from, to}]++
	n := j.seq[[2]int{from, to}]
	at := clockStart + j.reads[from](sent)
	j.ranks[from].Add(jobs.Send("Send", at, at+300, int32(to), 8, n))
	got := clockStart + j.reads[to](sent+takes)
	j.ranks[to].Add(jobs.Recv("Recv", got-100, got, int32(from), 8, n))
}

func (j *clockJob) sources() []profile.EventSource {
	return jobs.Sources(j.ranks...)
}

func estimate(t *testing.T, sources []profile.EventSource) *profile.JobClocks {
	t.Helper()
	c, err := EstimateClocks(sources)
	testenv.NoError(t, err)
	return c
}

// backwards counts the messages among all ranks that arrive before they were
// sent. worst is the largest such difference.
func backwards(t *testing.T, sources []profile.EventSource) (n uint64, worst int64) {
	t.Helper()
	type key struct {
		from, to, tag int32
		seq           uint32
	}
	sent, received := map[key]int64{}, map[key]int64{}
	for rank, src := range sources {
		err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			for i, seq := range e.Seq {
				switch k := kinds[e.Kind[i]]; {
				case seq == 0:
				case k.Direction == profile.Send:
					sent[key{int32(rank), k.Peer, e.Tag[i], seq}] = e.Start[i]
				case k.Direction == profile.Recv:
					received[key{k.Peer, int32(rank), e.Tag[i], seq}] = e.Start[i] + e.Duration[i]
				}
			}
			return nil
		})
		testenv.NoError(t, err)
	}
	if len(sent) == 0 || len(sent) != len(received) {
		t.Fatalf("%d sent, %d received", len(sent), len(received))
	}
	for k, at := range sent {
		if late := at - received[k]; late > 0 {
			n++
			worst = max(worst, late)
		}
	}
	return n, worst
}

// skewed returns the sources with a wrong clock for each host except the first.
func skewed(sources []profile.EventSource, offset time.Duration, drift float64) []profile.EventSource {
	var all []profile.EventSource
	for _, src := range sources {
		if src.Trace().Host != sources[0].Trace().Host {
			src = synth.Skewed(src, offset, drift)
		}
		all = append(all, src)
	}
	return all
}

// off returns the least and the greatest difference of a source's times from
// the true ones.
func off(t *testing.T, corrected, truth profile.EventSource) (least, most int64) {
	t.Helper()
	var ends []int64
	collect := func(add func(i int, end int64)) func(*profile.Events, []profile.EventKind) error {
		n := 0
		return func(e *profile.Events, _ []profile.EventKind) error {
			for i, at := range e.Start {
				add(n, at+e.Duration[i])
				n++
			}
			return nil
		}
	}
	least, most = math.MaxInt64, math.MinInt64
	err := errors.Join(truth.Each(collect(func(_ int, end int64) { ends = append(ends, end) })),
		corrected.Each(collect(func(i int, end int64) { least, most = min(least, end-ends[i]), max(most, end-ends[i]) })))
	testenv.NoError(t, err)
	return least, most
}

// Two hosts whose clocks are 5 ms and 20 ppm apart, in a halo exchange of a
// third of a second. A message takes at least 1 µs and the 819 ns of its bytes.
func TestClocksOfTwoHosts(t *testing.T) {
	h := synth.NewHalo(8, 10_000)
	h.PerNode = 4
	truth := h.Sources()
	sources := skewed(truth, 5*time.Millisecond, 20e-6)
	if n, _ := backwards(t, sources); n == 0 {
		t.Fatal("nothing goes backwards with clocks that are off")
	}
	c := estimate(t, sources)
	// In the grid of 2 x 4, both neighbours of a rank in the other row are on
	// the other host.
	if len(c.Hosts) != 2 || c.Messages != 8*2*10_000 || c.Unpaired != 0 || c.Backwards != 0 || c.WorstNs != 0 {
		t.Fatalf("%+v", c)
	}
	first, second := c.Hosts[0], c.Hosts[1]
	if first.Evidence != profile.ClockReference || c.Of(sources[0].Trace()) != nil {
		t.Errorf("reference: %+v", first)
	}
	if second.Evidence != profile.ClockBothWays || second.Rank != 4 || second.Reference != "node0000" || second.Via != "node0000" || second.Messages != c.Messages {
		t.Errorf("%+v", second)
	}
	if d := second.Correction.Drift + 20e-6; math.Abs(d) > 1e-6 {
		t.Errorf("drift %g", second.Correction.Drift)
	}
	if second.ErrorNs < 1818 || second.ErrorNs > 2*1819 {
		t.Errorf("error %g ns", second.ErrorNs)
	}
	corrected := c.Correct(sources)
	if n, worst := backwards(t, corrected); n > 0 {
		t.Errorf("%d messages go backwards, by up to %d ns", n, worst)
	}
	for rank := range corrected {
		if least, most := off(t, corrected[rank], truth[rank]); max(-least, most) > int64(second.ErrorNs) {
			t.Errorf("rank %d is off by %d to %d ns, said to be by %g at most", rank, least, most, second.ErrorNs)
		}
	}
}

// A chain of hosts whose clocks are off by up to an hour. Each exchanges
// messages with the next one only, so errors add up.
func TestClocksOfChain(t *testing.T) {
	j := newClockJob(even(0, 0), even(-7*clockMs, 40e-6), even(3600*clockSecond, -30e-6), even(2*clockSecond, 0), even(-1*clockUs, 80e-6))
	r := rand.New(rand.NewPCG(1, 2))
	for at := int64(0); at < 2*clockSecond; at += clockMs {
		for rank := range 4 {
			j.message(rank, rank+1, at, 2*clockUs+int64(r.ExpFloat64()*clockUs))
			j.message(rank+1, rank, at+300*clockUs, 2*clockUs+int64(r.ExpFloat64()*clockUs))
		}
	}
	c := estimate(t, j.sources())
	if c.Messages != 4*2*2000 || c.Backwards != 0 {
		t.Fatalf("%d messages, %d backwards", c.Messages, c.Backwards)
	}
	corrected := c.Correct(j.sources())
	if n, worst := backwards(t, corrected); n > 0 {
		t.Errorf("%d messages go backwards, by up to %d ns", n, worst)
	}
	for rank, h := range c.Hosts[1:] {
		rank++
		if h.Via != fmt.Sprintf("h%d", rank-1) || h.Reference != "h0" || h.Evidence != profile.ClockBothWays {
			t.Errorf("%+v", h)
		}
		if each := h.ErrorNs / float64(rank); each < 2*clockUs-1 || each > 3*clockUs {
			t.Errorf("host %d: error %g ns", rank, h.ErrorNs)
		}
		for _, true := range []int64{0, clockSecond, 2 * clockSecond} {
			if d := h.Correction.Time(clockStart+j.reads[rank](true)) - clockStart - true; math.Abs(float64(d)) > h.ErrorNs {
				t.Errorf("host %d is off by %d ns at %d", rank, d, true)
			}
		}
	}
}

// Hosts without messages between them are separate references. Hosts that have
// messages with the second are corrected to it.
func TestClocksApart(t *testing.T) {
	j := newClockJob(even(0, 0), even(5*clockMs, 0), even(-clockMs, 0))
	for at := int64(0); at < 10*clockMs; at += clockMs {
		j.message(1, 2, at, 3*clockUs)
		j.message(2, 1, at, 3*clockUs)
	}
	c := estimate(t, j.sources())
	for i, want := range []string{"h0", "h1", "h1"} {
		if h := c.Hosts[i]; h.Reference != want || (h.Evidence == profile.ClockReference) != (i < 2) {
			t.Errorf("%+v, want reference %s", h, want)
		}
	}
	if by := c.Of(j.ranks[2].Trace()); by == nil || by.Offset != 6*clockMs || by.Drift != 0 {
		t.Errorf("%+v", by)
	}
	if corrected := c.Correct(j.sources()); corrected[0] != j.ranks[0] || corrected[1] != j.ranks[1] {
		t.Error("references are not left as they are")
	}
}

// If there is one host, no event is read.
func TestClocksOfOneHost(t *testing.T) {
	j := newClockJob(even(0, 0), even(0, 0))
	for _, r := range j.ranks {
		r.Trace().Host, r.Err = "h0", errors.New("read")
	}
	c := estimate(t, j.sources())
	if len(c.Hosts) != 1 || c.Hosts[0].Evidence != profile.ClockReference || c.Messages != 0 {
		t.Errorf("%+v", c)
	}
	if _, err := EstimateClocks(nil); err != nil {
		t.Error(err)
	}
}

func TestClocksReadError(t *testing.T) {
	h := synth.NewHalo(8, 5000)
	h.PerNode = 2
	sources := h.Sources()
	broken := jobs.ProcessOf(*sources[3].Trace())
	broken.Err = errors.New("truncated")
	sources[3] = broken
	if _, err := EstimateClocks(sources); !errors.Is(err, broken.Err) {
		t.Errorf("%v", err)
	}
}

// A clock that is set forward by 1 ms in the middle does not run evenly: the
// messages that then go backwards are counted.
func TestClocksUneven(t *testing.T) {
	j := newClockJob(even(0, 0), func(t int64) int64 {
		if t >= clockSecond {
			t += clockMs
		}
		return t
	})
	for at := int64(0); at < 2*clockSecond; at += clockMs {
		j.message(0, 1, at, 10*clockUs)
		j.message(1, 0, at, 10*clockUs)
	}
	c := estimate(t, j.sources())
	n, worst := backwards(t, c.Correct(j.sources()))
	if n == 0 || c.Backwards != n || c.WorstNs != worst || worst > clockMs {
		t.Errorf("%d by up to %d ns, want %d by up to %d", c.Backwards, c.WorstNs, n, worst)
	}
}

// Two pairs of hosts whose messages take 2 µs one way and 18 µs the other are
// each estimated 8 µs further apart than they are. A message of 10 µs from the
// last to the first would then go back by 6 µs. The last is put 8 µs from the
// truth, where messages to the first take 2 µs. It can be moved the other way by
// 10 µs, which the messages to the second leave, and 2 µs, those from there.
func TestClocksSettle(t *testing.T) {
	j := newClockJob(even(0, 0), even(clockMs, 0), even(-clockMs, 0))
	for at := int64(0); at < clockSecond; at += clockMs {
		j.message(0, 1, at, 2*clockUs)
		j.message(1, 0, at, 18*clockUs)
		j.message(1, 2, at, 2*clockUs)
		j.message(2, 1, at, 18*clockUs)
		j.message(2, 0, at, 10*clockUs)
		j.message(0, 2, at, 50*clockUs)
	}
	c := estimate(t, j.sources())
	if n, worst := backwards(t, c.Correct(j.sources())); n > 0 || c.Backwards > 0 {
		t.Errorf("%d messages go backwards by up to %d, %d were told", n, worst, c.Backwards)
	}
	if h := c.Hosts[2]; h.Via != "h1" || h.ErrorNs != 12*clockUs {
		t.Errorf("%+v", h)
	}
}

// Either of two hosts is put in the middle of the range that the other allows,
// wherever that one is: messages of 1 and 5 µs then take 3 µs both ways.
func TestClockBetween(t *testing.T) {
	c := newCorridors()
	for at := int64(0); at < clockSecond; at += clockMs {
		c.add(flight{0, 1, at, at + 8*clockUs, false}) // the second clock is 7 µs ahead
		c.add(flight{1, 0, at + 7*clockUs, at + 5*clockUs, false})
	}
	for host := range int32(2) {
		lines := []clockLine{{-40 * clockUs, 0}, {11 * clockUs, 0}}
		c.edges()
		lines[host] = c.between(host, lines)
		if worst := c.worst(lines); math.Abs(worst-3*clockUs) > 1e-3 {
			t.Errorf("host %d: %+v leaves %g ns", host, lines, worst)
		}
		c.pairs = nil
	}
}

// A message of a Startall may have been sent as soon as the Startall began.
func TestClocksStartall(t *testing.T) {
	j := newClockJob(even(0, 0), even(0, 0))
	for n := uint32(1); n <= 3; n++ {
		at := clockStart + int64(n)*clockMs
		j.ranks[0].Add(jobs.Call("Startall", at, at+50*clockUs), jobs.Send("Send_init", at, at+50*clockUs, 1, 8, n).Moved())
		j.ranks[1].Add(jobs.Recv("Recv", at-9*clockUs, at-4*clockUs, 0, 8, n))
	}
	c := estimate(t, j.sources())
	if by := c.Of(j.ranks[1].Trace()); by == nil || by.Offset != 4*clockUs || c.Messages != 3 {
		t.Errorf("%+v, %+v", by, c)
	}
}

// Ends of messages without their other end are given up and counted. Those that
// follow are still matched.
func TestFlightsAlone(t *testing.T) {
	j := newClockJob(even(0, 0), even(0, 0))
	for n := range int64(5000) {
		at := clockStart + n*clockUs
		j.ranks[0].Add(jobs.Send("Send", at, at+300, 1, 8, uint32(100_000+n)))
		if n%10 == 0 {
			j.message(0, 1, n*clockUs, 100)
		}
	}
	var got []flight
	fs := flights{sources: j.sources(), host: []int32{0, 1}, base: clockStart, keeps: 10_000}
	found, err := fs.each(func(f flight) { got = append(got, f) })
	if err != nil || found != (paired{500, 0, 5000}) || len(got) != 500 {
		t.Errorf("%+v, %v", found, err)
	}
	if want := (flight{0, 1, 0, 100, false}); got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	fs.keeps = 100
	if found, err := fs.each(func(flight) {}); err != nil || 2*found.messages+found.alone != 6000 {
		t.Errorf("of 6000 halves: %+v, %v", found, err)
	}
}

func corridorOf(floor, ceiling []clockPoint) *corridor {
	c := &corridor{}
	for _, p := range floor {
		c.floor.add(p)
	}
	for _, p := range ceiling {
		c.ceiling.add(clockPoint{p.x, -p.y})
	}
	return c
}

func TestCorridor(t *testing.T) {
	const far = 1e6
	for _, test := range []struct {
		name           string
		floor, ceiling []clockPoint
		want           clockLine
		margin         float64
	}{
		{"between parallels that rise", []clockPoint{{0, 0}, {far, 100}}, []clockPoint{{0, 150}, {far, 250}}, clockLine{75, 1e-4}, 75},
		{"level where that leaves half", []clockPoint{{0, 0}, {far, 100}}, []clockPoint{{0, 200}, {far, 300}}, clockLine{150, 0}, 50},
		{"the smallest drift of many that are as good", []clockPoint{{0, 0}, {far, 100}}, []clockPoint{{0, 1000}, {far, 900}}, clockLine{500, 0}, 400},
		{"through a gap that is too narrow", []clockPoint{{0, 0}}, []clockPoint{{0, -10}}, clockLine{-5, 0}, -5},
		{"one way before the other", []clockPoint{{0, 0}, {10, 0}}, []clockPoint{{far, 5000}}, clockLine{2500, 0}, 2500},
		{"as little as possible between limits that are far apart", []clockPoint{{0, 3000}}, []clockPoint{{0, 503_000}}, clockLine{3500, 0}, 250_000},
		{"the middle of limits that are not", []clockPoint{{0, 3000}}, []clockPoint{{0, 403_000}}, clockLine{203_000, 0}, 200_000},
	} {
		got, margin := corridorOf(test.floor, test.ceiling).line()
		if math.Abs(got.offset-test.want.offset) > 1e-6 || math.Abs(got.drift-test.want.drift) > 1e-12 || math.Abs(margin-test.margin) > 1e-6 {
			t.Errorf("%s: %+v by %g, want %+v by %g", test.name, got, margin, test.want, test.margin)
		}
	}
}

// If all messages one way come before those the other way, no more drift is
// assumed than necessary: the line has to rise by more than 200 in 10^6, to
// leave 500 on each side by 1200.
func TestCorridorNeedsDrift(t *testing.T) {
	c := corridorOf([]clockPoint{{0, 0}}, []clockPoint{{-1e7, -2000}})
	l, margin := c.line()
	if math.Abs(l.drift-3e-4) > 1e-12 || math.Abs(margin-500) > 1e-6 || math.Abs(l.offset-500) > 1e-6 {
		t.Errorf("%+v by %g", l, margin)
	}
}

// No line has a larger margin at all points than the one found.
func TestCorridorIsWidest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var floor, ceiling []clockPoint
		drift := (r.Float64() - 0.5) * 200e-6
		for range 2 + r.IntN(300) {
			x, y := math.Floor(r.Float64()*1e9), math.Floor(r.Float64()*1e9)
			floor = append(floor, clockPoint{x, drift*x - 1000 - r.ExpFloat64()*1000})
			ceiling = append(ceiling, clockPoint{y, drift*y + 1000 + r.ExpFloat64()*1000})
		}
		c := corridorOf(floor, ceiling)
		c.floor.hull()
		c.ceiling.hull()
		margin := func(drift float64) float64 {
			low, high := math.Inf(-1), math.Inf(1)
			for i, p := range floor {
				low, high = max(low, p.y-drift*p.x), min(high, ceiling[i].y-drift*ceiling[i].x)
			}
			return (high - low) / 2
		}
		best := c.widest()
		if m := c.margin(best); math.Abs(m-margin(best)) > 1e-3 {
			t.Fatalf("margin %g, by all points %g", m, margin(best))
		}
		for i := range 200 {
			if other := best + (r.Float64()-0.5)*math.Pow(0.8, float64(i))*1e-3; math.Abs(other) < mostDrift && margin(other) > margin(best)+1e-3 {
				t.Fatalf("drift %g leaves %g, %g leaves %g", best, margin(best), other, margin(other))
			}
		}
	}
}

// A limit that is curved everywhere keeps no more corners than allowed.
func TestLimitIsBounded(t *testing.T) {
	var l limit
	for i := range 10_000 {
		x := float64(i)
		l.add(clockPoint{x, -x * x})
	}
	l.hull()
	if n := len(l.points); n < 500 || n > 1024 || l.points[0].x != 0 || l.points[n-1].x != 9999 || l.n != 10_000 {
		t.Errorf("%d corners from %g to %g", n, l.points[0].x, l.points[n-1].x)
	}
}

// A corrected source keeps its order and gives its correction, also if it is
// corrected again.
func TestCorrect(t *testing.T) {
	src := synth.NewHalo(4, 500).Sources()[1]
	once := profile.CorrectClock(src, &profile.ClockCorrection{At: clockStart, Offset: 1234.5, Drift: -40e-6})
	twice := profile.CorrectClock(once, &profile.ClockCorrection{At: clockStart - clockSecond, Offset: -7 * clockSecond, Drift: 300e-6})
	by := twice.Trace().Clock
	if by == nil || once.Trace().Clock == nil || src.Trace().Clock != nil {
		t.Fatal("a correction is not told")
	}
	least, most := off(t, twice, profile.CorrectClock(src, by))
	if least < -1 || most > 1 {
		t.Errorf("both at once differ by %d to %d ns", least, most)
	}
	if got, want := twice.Trace().End, by.Time(src.Trace().End); got < want-1 || got > want+1 {
		t.Errorf("ends at %d, want %d", got, want)
	}
	var before int64
	err := twice.Each(func(e *profile.Events, _ []profile.EventKind) error {
		for i, start := range e.Start {
			if e.Duration[i] < 0 || start < before {
				return fmt.Errorf("event at %d for %d ns, after %d", start, e.Duration[i], before)
			}
			before = start + e.Duration[i]
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	unfinished := jobs.ProcessOf(profile.Trace{Start: clockStart})
	if c := profile.CorrectClock(unfinished, by).Trace(); c.End != 0 || c.InitEnd != 0 || c.Start == clockStart {
		t.Errorf("%+v", c)
	}
	if profile.CorrectClock(src, nil) != src {
		t.Error("no correction gives another source")
	}
}

func TestClockLines(t *testing.T) {
	l, m := clockLine{1000, 20e-6}, clockLine{-300, -5e-6}
	x := 1e9
	y := x + l.at(x)
	if got, want := l.then(m).at(x), l.at(x)+m.at(y); math.Abs(got-want) > 1e-6 {
		t.Errorf("one after the other: %g, want %g", got, want)
	}
	if got := y + l.back().at(y); math.Abs(got-x) > 1e-6 {
		t.Errorf("back: %g, want %g", got, x)
	}
}

// Names of hosts and labels come from the job, and are only compared.
func TestClocksJobNames(t *testing.T) {
	j := newClockJob(even(0, 0), even(clockMs, 0))
	for _, r := range j.ranks {
		r.Trace().Host = strings.Repeat("\x1b", 1+r.Trace().Rank)
		r.Trace().Comms = nil
	}
	j.message(0, 1, 0, clockUs)
	if c := estimate(t, j.sources()); c.Messages != 0 || len(c.Hosts) != 2 {
		t.Errorf("%+v", c)
	}
}

func BenchmarkEstimateClocks(b *testing.B) {
	h := synth.NewHalo(64, 2000)
	h.PerNode = 16
	sources := h.Sources()
	for _, src := range sources {
		src.Trace()
	}
	var c *profile.JobClocks
	for b.Loop() {
		var err error
		if c, err = EstimateClocks(sources); err != nil {
			b.Fatal(err)
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(h.Events())/seconds, "events/s")
	b.ReportMetric(float64(c.Messages)/seconds, "messages/s")
}
