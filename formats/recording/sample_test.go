package recording

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sampleCase is a row, its sample, and the expected estimates.
type sampleCase struct {
	row            layout.Row
	sample         layout.Sample
	time, variance float64
}

var sampleCases = map[string]sampleCase{
	"nothing was timed": {layout.Row{Count: 7}, layout.Sample{}, 0, 0},
	"all were timed":    {layout.Row{Count: 3, Time: 60}, layout.Sample{Timed: 3, Squares: 1400}, 60, 0},
	// 10, 20 and 30 ticks of 6 calls: a mean of 20, each with a variance of
	// 100; 6² × (1 - 3/6) × 100 / 3.
	"half of them": {layout.Row{Count: 6, Time: 60}, layout.Sample{Timed: 3, Squares: 1400}, 120, 600},
	"early ones alone": {layout.Row{Count: 64, Time: 640},
		layout.Sample{Timed: 64, Early: 64, EarlyTime: 640, EarlySquares: 6400, Squares: 6400}, 640, 0},
	// 64 early calls of 10 ticks, then 1000 calls of which 10 were timed, five
	// of 20 ticks and five of 40: a mean of 30, the variance of one call is 10
	// × 100 / 9; 1000² × (1 - 10/1000) × (1000/9) / 10.
	"early and later": {layout.Row{Count: 1064, Time: 640 + 300},
		layout.Sample{Timed: 74, Early: 64, EarlyTime: 640, EarlySquares: 6400, Squares: 6400 + 5*400 + 5*1600},
		640 + 30_000, 1000 * 1000 * 0.99 * (1000. / 9) / 10},
	// 32 calls of 8 and 32 of 12 ticks: a mean of 10, the variance of one call
	// is 64 × 4 / 63.
	"no later one timed": {layout.Row{Count: 67, Time: 640},
		layout.Sample{Timed: 64, Early: 64, EarlyTime: 640, EarlySquares: 32*64 + 32*144, Squares: 32*64 + 32*144},
		670, 9 * (256. / 63)},
	// One call of 50 ticks has no variance of its own; that of the early calls
	// is used.
	"one later one timed": {layout.Row{Count: 68, Time: 690},
		layout.Sample{Timed: 65, Early: 64, EarlyTime: 640, EarlySquares: 32*64 + 32*144, Squares: 32*64 + 32*144 + 2500},
		640 + 4*50, 4 * 4 * 0.75 * (256. / 63)},
	"one of two": {layout.Row{Count: 2, Time: 50}, layout.Sample{Timed: 1, Squares: 2500}, 100, 4 * 0.5 * 2500},
	// Some of the early calls were not timed: those from Fortran that do not
	// reach C. 64 of 128: 128² × (1 - 64/128) × (256/63) / 64.
	"early ones without a time": {layout.Row{Count: 128, Time: 640},
		layout.Sample{Timed: 64, Early: 128, EarlyTime: 640, EarlySquares: 32*64 + 32*144, Squares: 32*64 + 32*144},
		1280, 128 * (256. / 63)},
	// A process was killed between two stores.
	"a time ahead of its count": {layout.Row{Count: 2, Time: 60}, layout.Sample{Timed: 3, Squares: 1200}, 40, 0},
}

func TestEstimate(t *testing.T) {
	for name, c := range sampleCases {
		time, variance := estimate(c.row, c.sample)
		if math.Abs(time-c.time) > 1e-9*c.time || math.Abs(variance-c.variance) > 1e-9*c.variance {
			t.Errorf("%s: %g, variance %g; want %g, %g", name, time, variance, c.time, c.variance)
		}
	}
}

// Two ticks are one nanosecond: times and their errors are halved.
func TestReadSamples(t *testing.T) {
	for name, c := range sampleCases {
		b := &builder{samples: []layout.Sample{c.sample}}
		c.row.Call, c.row.Comm, c.row.Min, c.row.Max = 10, layout.CommNone, 4, 80
		b.rows = []layout.Row{c.row}
		p := read(t, b.bytes())
		if p.Timing != profile.TimingSampled || len(p.Rows) != 1 || len(p.Problems) > 0 {
			t.Errorf("%s: timing %v, %d rows, problems %q", name, p.Timing, len(p.Rows), p.Problems)
			continue
		}
		r := p.Rows[0]
		if want := uint64(c.time/2 + 0.5); r.TimeNs != want {
			t.Errorf("%s: %d ns, want %d", name, r.TimeNs, want)
		}
		if want := uint64(math.Sqrt(c.variance)/2 + 0.5); r.TimeErrorNs != max(want, min(uint64(math.Ceil(c.variance)), 1)) {
			t.Errorf("%s: an error of %d ns, want %d", name, r.TimeErrorNs, want)
		}
	}
}

// simulated returns a row of calls whose times are drawn from a distribution
// with a long tail. They are sampled as the library does: the first 64, then in
// random gaps.
func simulated(r *rand.Rand, calls, every int) (truth float64, row layout.Row, s layout.Sample) {
	next := 0
	for i := range calls {
		ticks := uint64(200 * math.Exp(r.NormFloat64()))
		if i < layout.EarlyCalls {
			ticks *= 5 // the first ones take longer
		}
		truth += float64(ticks)
		row.Count++
		if i >= layout.EarlyCalls && i < next {
			continue
		}
		row.Time += ticks
		s.Timed++
		s.Squares += float64(ticks) * float64(ticks)
		if s.Timed == layout.EarlyCalls {
			s.Early, s.EarlyTime, s.EarlySquares = row.Count, row.Time, s.Squares
		}
		next = i + 1 + r.IntN(2*every-1)
	}
	return truth, row, s
}

// The estimates of many simulations are right on average and spread as their
// errors say, and none differs by more than chance allows.
func TestEstimateIsFair(t *testing.T) {
	for _, c := range []struct{ calls, every int }{{200, 4}, {2_000, 8}, {20_000, 50}} {
		r := rand.New(rand.NewPCG(uint64(c.calls), 7))
		const runs = 2000
		var bias, squares, stated float64
		far := 0
		for range runs {
			truth, row, s := simulated(r, c.calls, c.every)
			time, variance := estimate(row, s)
			off := time - truth
			bias, squares, stated = bias+off/runs, squares+off*off/runs, stated+variance/runs
			if math.Abs(off) > 4*math.Sqrt(variance) {
				far++
			}
		}
		// Samples of a few dozen calls sometimes miss a tail this long.
		if far > runs/50 {
			t.Errorf("1 in %d of %d calls: %d of %d estimates are off by more than 4 standard errors", c.every, c.calls, far, runs)
		}
		if ratio := math.Sqrt(stated / squares); ratio < 0.85 || ratio > 1.15 {
			t.Errorf("1 in %d of %d calls: the standard error is %.2f × the true error", c.every, c.calls, ratio)
		}
		if math.Abs(bias) > 4*math.Sqrt(squares/runs) {
			t.Errorf("1 in %d of %d calls: %.1f ticks too many on average, with a spread of %.1f", c.every, c.calls, bias, math.Sqrt(squares))
		}
	}
}

// sampled returns the profile of rich with estimated times.
func sampled() *profile.Profile {
	p := rich()
	p.Timing, p.Unfollowed = profile.TimingSampled, true
	for i, n := range []uint64{65, 66, 100, 1000, 123_456, 1 << 40} {
		p.Rows = append(p.Rows, profile.Row{Thread: 1, Call: "Iprobe", Class: profile.P2P, Comm: -1, Peer: -1, Callsite: uint64(i), Calls: n,
			TimeNs: 501*n + 7, TimeErrorNs: 11*n/64 + 1, MinNs: 300, MaxNs: 900})
	}
	return p
}

// untimed returns the profile of rich without times.
func untimed() *profile.Profile {
	p := rich()
	p.Timing = profile.TimingOff
	for i := range p.Rows {
		p.Rows[i].TimeNs, p.Rows[i].MinNs, p.Rows[i].MaxNs = 0, 0, 0
	}
	return p
}

func TestWriteImpossibleTimes(t *testing.T) {
	for name, c := range map[string]struct {
		p     *profile.Profile
		spoil func(*profile.Row)
	}{
		"an error of exact times":   {rich(), func(r *profile.Row) { r.TimeErrorNs = 1 }},
		"a time without the clock":  {untimed(), func(r *profile.Row) { r.TimeNs = 1 }},
		"an error of one call":      {sampled(), func(r *profile.Row) { r.Calls, r.Messages, r.Bytes, r.TimeErrorNs = 1, 1, 10, 1 }},
		"more than a double can do": {sampled(), func(r *profile.Row) { r.TimeNs = 1<<60 + 1 }},
	} {
		c.spoil(&c.p.Rows[1])
		if err := recordingtest.Write(&bytes.Buffer{}, c.p); err == nil || !strings.Contains(err.Error(), "row 1: MPI_Send: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A table that is too small for its samples is reported, wherever it ends. Rows
// whose sample is cut off have no time.
func TestSamplesThatDoNotFit(t *testing.T) {
	c := sampleCases["early and later"]
	c.row.Call, c.row.Comm = 10, layout.CommNone
	b := &builder{rows: []layout.Row{c.row}, samples: []layout.Sample{c.sample}}
	whole := b.bytes()
	table := len(whole) - 2*(64+512*64)
	for _, rows := range []uint64{256, 257, 511, 512, 1 << 26, 1 << 58, math.MaxUint64} {
		raw := bytes.Clone(whole)
		binary.LittleEndian.PutUint64(raw[table+16:], rows)
		p := read(t, raw)
		told := strings.Contains(strings.Join(p.Problems, "\n"), "samples does not fit into 32832 bytes")
		if told != (rows > 256) || len(p.Rows) == 0 || p.Rows[0].Calls != 1064 {
			t.Errorf("%d rows: told %v, %+v", rows, told, p.Rows)
		}
		if timed := p.Rows[0].TimeNs != 0; timed != (rows == 256) {
			t.Errorf("%d rows: %+v", rows, p.Rows[0])
		}
	}
	cut := read(t, whole[:table+64+256*64+32])
	if len(cut.Rows) != 1 || cut.Rows[0].Calls != 1064 || cut.Rows[0].TimeNs != 0 || cut.Losses.Damaged == 0 {
		t.Errorf("cut inside the first sample: %+v, problems %q", cut.Rows, cut.Problems)
	}
}

// A row of which no call was timed gets the time of similar rows: 5 of 100
// calls of 40 ticks on average, which are 20 ns.
func TestUnsampledRows(t *testing.T) {
	row := func(site uint64, call uint16, direction uint8, count, time uint64) layout.Row {
		return layout.Row{Callsite: site, Call: call, Direction: direction, Comm: layout.CommNone, Count: count, Time: time, Max: time}
	}
	b := &builder{
		rows: []layout.Row{row(1, 10, layout.DirSend, 100, 2000), row(1, 10, layout.DirSend, 300, 7000), row(1, 10, layout.DirSend, 5, 0),
			row(2, 10, layout.DirSend, 7, 0), row(1, 24, layout.DirNone, 7, 0), row(1, 10, layout.DirSendPosted, 9, 0)},
		samples: []layout.Sample{{Timed: 50, Squares: 80_000}, {Timed: 175, Squares: 280_000}, {}, {}, {}, {}},
	}
	var got [][2]uint64
	for _, r := range read(t, b.bytes()).Rows {
		got = append(got, [2]uint64{r.TimeNs, r.TimeErrorNs})
	}
	testenv.Equal(t, [][2]uint64{{2000, 0}, {6000, 0}, {100, 100}, {0, 0}, {0, 0}, {0, 0}}, got)
}

func TestSquaresThatAreNone(t *testing.T) {
	for _, squares := range []float64{math.NaN(), math.Inf(1), -1} {
		for _, s := range []layout.Sample{{Timed: 2, Squares: squares}, {Timed: 70, Early: 64, EarlySquares: squares}} {
			b := &builder{rows: []layout.Row{{Call: 10, Comm: layout.CommNone, Count: 100, Time: 50}}, samples: []layout.Sample{s}}
			p := read(t, b.bytes())
			if len(p.Problems) != 1 || !strings.Contains(p.Problems[0], "its time is left out") || p.Rows[0].TimeNs != 0 || p.Rows[0].Calls != 100 {
				t.Errorf("%g: problems %q, %+v", squares, p.Problems, p.Rows)
			}
		}
	}
}

// The header's fields on times and receives count from version 4 on.
func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		spoil      func(*layout.Header)
		timing     profile.Timing
		unfollowed bool
		problem    string
	}{
		"an old version": {func(h *layout.Header) { h.Version, h.Timing, h.Receives = 3, 2, 1 }, profile.TimingExact, false, ""},
		"exact":          {func(h *layout.Header) { h.Version = 4 }, profile.TimingExact, false, ""},
		"off":            {func(h *layout.Header) { h.Version, h.Timing, h.Receives = 4, 2, 1 }, profile.TimingOff, true, ""},
		"of neither kind": {func(h *layout.Header) { h.Version, h.Timing = 4, 7 }, profile.TimingOff, false,
			"byte 248: timing 7 and receives 0 are not known: no time is read"},
	} {
		b := sample()
		b.spoil = c.spoil
		p := read(t, b.bytes())
		if p.Timing != c.timing || p.Unfollowed != c.unfollowed || strings.Join(p.Problems, "\n") != c.problem {
			t.Errorf("%s: %v, unfollowed %v, problems %q", name, p.Timing, p.Unfollowed, p.Problems)
		}
		want := uint64(300)
		if c.timing == profile.TimingOff {
			want = 0
		}
		if p.Rows[0].TimeNs != want || p.Rows[0].Bytes != 30 {
			t.Errorf("%s: %+v", name, p.Rows[0])
		}
	}
}

// Receives that were not followed are not reported as unfinished.
func TestUnfollowedReceivesOfKilled(t *testing.T) {
	for unfollowed, want := range map[uint32]uint64{layout.ReceivesFollowed: 5 + 3, layout.ReceivesUnfollowed: 3} {
		b := &builder{}
		b.spoil = func(h *layout.Header) { h.Version, h.State, h.Receives = 4, layout.StateRunning, unfollowed }
		start := profile.CallNamed("Start")
		b.rows = []layout.Row{{Call: 24, Comm: layout.CommNone, Peer: layout.PeerAnySource, Count: 5},
			{Call: start.ID, Comm: layout.CommNone, Peer: layout.PeerNone, Direction: layout.DirPosted, Count: 3}}
		if got := read(t, b.bytes()).CountAbnormal(profile.UnfinishedReceive); got != want {
			t.Errorf("receives %d: %d unfinished, want %d", unfollowed, got, want)
		}
	}
}

func TestDumpSamples(t *testing.T) {
	for want, p := range map[string]*profile.Profile{
		"\ttime_ns 60\tmin_ns 10\tmax_ns 30\n": rich(),
		"\ttime_ns 60\ttime_error_ns 0\tmin_ns 10\tmax_ns 30\ttimed 3\tearly 0\tearly_ticks 0\tearly_squares 0\tsquares 1200\t": sampled(),
		"\ttime_ns -\tmin_ns -\tmax_ns -\n": untimed(),
	} {
		path := filepath.Join(t.TempDir(), "r.rec")
		recordingtest.Record(t, path, p)
		var out strings.Builder
		if err := Dump(&out, path); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s\n%v", want, &out, err)
		}
		settings := "settings\ttiming " + p.Timing.String() + "\treceives " + profile.ReceivesText(p.Unfollowed) + "\n"
		if !strings.Contains(out.String(), settings) {
			t.Errorf("no %q in\n%s", settings, &out)
		}
	}
}

// Tables of several pieces; beyond the first megabyte, the file is read piece
// by piece.
func TestLargeSampledTable(t *testing.T) {
	p := sampled()
	for i := range 20_000 {
		p.Rows = append(p.Rows, profile.Row{Thread: 1, Call: "Iprobe", Class: profile.P2P, Comm: -1, Peer: -1, Callsite: uint64(i),
			Calls: 1000, TimeNs: 50_000 + uint64(i), TimeErrorNs: 100 + uint64(i%50), MinNs: 30, MaxNs: 90})
	}
	path := filepath.Join(t.TempDir(), "r.rec")
	recordingtest.Record(t, path, p)
	if info, err := os.Stat(path); err != nil || info.Size() < wholeFile {
		t.Fatalf("%v, %v: too small to tell", info, err)
	}
	got := readPath(t, path)
	testenv.Equal(t, p.Rows, got.Rows)
}
