package synth

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

var sizes = []int{1, 2, 3, 4, 5, 8, 27, 64, 1000}

// eachJob calls f with a job of each shape and size, and with one that has
// several phases.
func eachJob(t *testing.T, sizes []int, f func(*testing.T, *Job)) {
	for _, shape := range slices.Concat(Shapes, PatternShapes) {
		for _, n := range sizes {
			j, err := Named(shape, n)
			testenv.NoError(t, err)
			if n == 5 {
				j.Phases = 3
			}
			t.Run(fmt.Sprintf("%s of %d", shape, n), func(t *testing.T) { f(t, j) })
		}
	}
}

// dense is a dense matrix, indexed by rank.
type dense struct {
	n int
	v []Volume
}

func newDense(n int) dense { return dense{n, make([]Volume, n*n)} }

func (d dense) at(from, to int) *Volume { return &d.v[from*d.n+to] }

func (d dense) compare(t *testing.T, what string, want func(from, to int) Volume) {
	t.Helper()
	for from := range d.n {
		for to := range d.n {
			if got, want := *d.at(from, to), want(from, to); got != want {
				t.Fatalf("%s %d to %d: %+v, want %+v", what, from, to, got, want)
			}
		}
	}
}

func (d dense) sum() Volume {
	var sum Volume
	for _, v := range d.v {
		sum.add(v)
	}
	return sum
}

// TestExpected checks that the profiles agree with the formulas for each pair,
// that the received volume equals the sent one, and that the formulas of the
// totals agree.
func TestExpected(t *testing.T) {
	eachJob(t, sizes, func(t *testing.T, j *Job) {
		p2p, coll, received := newDense(j.Ranks), newDense(j.Ranks), newDense(j.Ranks)
		each(t, j, func(p *profile.Profile) {
			p.EachFlow(func(_ *profile.Row, f profile.Flow) {
				into := coll
				if f.Kind == profile.External {
					into = p2p
				}
				into.at(f.From, f.To).add(Volume{f.Bytes, f.Messages})
			})
			for _, r := range p.Rows {
				if r.Class == profile.P2P && r.Direction == profile.Recv {
					received.at(p.Comms[r.Comm].WorldRank(r.Peer), p.Rank).add(Volume{r.Bytes, r.Messages})
				}
			}
		})
		p2p.compare(t, "p2p", j.P2P)
		received.compare(t, "received", j.P2P)
		coll.compare(t, "collective", j.Coll)
		if got := p2p.sum(); got != j.TotalP2P() {
			t.Errorf("p2p in all %+v, want %+v", got, j.TotalP2P())
		}
		if got := coll.sum(); got != j.TotalColl() {
			t.Errorf("collective in all %+v, want %+v", got, j.TotalColl())
		}
		for rank := range j.Ranks {
			var want []int
			var sent, received Volume
			for other := range j.Ranks {
				if p2p.at(rank, other).Messages > 0 {
					want = append(want, other)
				}
				sent.add(*coll.at(rank, other))
				received.add(*coll.at(other, rank))
			}
			if got := j.Destinations(rank); !slices.Equal(got, want) {
				t.Fatalf("rank %d sends to %v, want %v", rank, got, want)
			}
			if s, r := j.SentColl(rank), j.ReceivedColl(rank); s != sent || r != received {
				t.Fatalf("rank %d: %+v and %+v in collectives, want %+v and %+v", rank, s, r, sent, received)
			}
		}
	})
}

// TestLarge compares a few of 100,000 ranks with all the others.
func TestLarge(t *testing.T) {
	eachJob(t, []int{100_000}, func(t *testing.T, j *Job) {
		for _, rank := range []int{0, 51_020, 99_999} {
			sent, want := make([]Volume, j.Ranks), make([]Volume, j.Ranks)
			j.Profile(rank).EachFlow(func(_ *profile.Row, f profile.Flow) {
				sent[f.To].add(Volume{f.Bytes, f.Messages})
			})
			for to := range want {
				want[to] = j.All(rank, to)
			}
			if !slices.Equal(sent, want) {
				t.Errorf("rank %d sends otherwise", rank)
			}
		}
	})
}

// TestPhases checks that each phase repeats all the work in a slice of its own.
func TestPhases(t *testing.T) {
	j := NewStencil(12)
	once := j.TotalP2P()
	j.Phases = 3
	var bySlice [4]Volume
	each(t, j, func(p *profile.Profile) {
		p.EachFlow(func(r *profile.Row, f profile.Flow) {
			if f.Kind == profile.External {
				bySlice[r.Slice].add(Volume{f.Bytes, f.Messages})
			}
		})
		if last := p.Slices[3]; last.Name != "phase 3" || last.Index != 3 || last.Start >= p.FinalizeStart {
			t.Errorf("the last slice is %+v", last)
		}
	})
	if want := [4]Volume{{}, once, once, once}; bySlice != want || j.TotalP2P() != once.times(3) {
		t.Errorf("%+v and %+v in all, want %+v each time", bySlice, j.TotalP2P(), once)
	}
}

// TestRootsReceive checks that the root of a Reduce or Gather receives as much
// as the other ranks send.
func TestRootsReceive(t *testing.T) {
	for _, j := range []*Job{NewStencil(64), NewRandom(27, 4)} {
		var sent, received Volume
		each(t, j, func(p *profile.Profile) {
			for _, r := range p.Rows {
				switch {
				case r.Class == profile.AllToOne && r.Direction == profile.Send:
					sent.add(Volume{r.Bytes, r.Messages})
				case r.Class == profile.AllToOne && r.Direction == profile.Recv:
					received.add(Volume{r.Bytes, r.Messages})
				}
			}
		})
		if sent != received || sent.Messages == 0 {
			t.Errorf("%s: sent %+v, received %+v", j.Name, sent, received)
		}
	}
}

func each(t *testing.T, s profile.Source, f func(*profile.Profile)) {
	t.Helper()
	testenv.NoError(t, s.Each(func(p *profile.Profile) error { f(p); return nil }))
}

func TestGrid(t *testing.T) {
	for n, want := range map[int]Grid{1: {1, 1, 1}, 2: {2, 1, 1}, 7: {7, 1, 1}, 12: {3, 2, 2}, 27: {3, 3, 3}, 36: {4, 3, 3},
		64: {4, 4, 4}, 1000: {10, 10, 10}, 1024: {16, 8, 8}, 10_000: {25, 20, 20}, 100_000: {50, 50, 40}} {
		if got := GridOf(n); got != want {
			t.Errorf("%d ranks: %v, want %v", n, got, want)
		}
	}
}

// TestStencilNeighbours checks that a rank inside the grid has 26 neighbours,
// and one at a corner 7.
func TestStencilNeighbours(t *testing.T) {
	j := NewStencil(1000)
	if n := len(j.Destinations(555)); n != 26 {
		t.Errorf("rank 555 has %d neighbours", n)
	}
	testenv.Equal(t, []int{1, 10, 11, 100, 101, 110, 111}, j.Destinations(0))
}

func TestShuffle(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 64, 1000, 4097} {
		s, seen := shuffle{n, 5}, make([]bool, n)
		for i := range n {
			at := s.at(i)
			if at < 0 || at >= n || seen[at] || s.whose(at) != i {
				t.Fatalf("of %d: %d goes to %d, which comes from %d", n, i, at, s.whose(at))
			}
			seen[at] = true
		}
	}
}

func TestRecordings(t *testing.T) {
	for timing := range profile.NumTimings {
		eachJob(t, []int{1, 2, 5, 64}, func(t *testing.T, j *Job) {
			j.Timing = timing
			checkRecordings(t, j)
		})
	}
}

func checkRecordings(t *testing.T, j *Job) {
	path := filepath.Join(t.TempDir(), "r.rec")
	each(t, j, func(p *profile.Profile) {
		recordingtest.Record(t, path, p)
		got, err := recording.ReadFile(path)
		testenv.NoError(t, err)
		got.Source = ""
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatal(diff)
		}
		sampled := slices.ContainsFunc(got.Rows, func(r profile.Row) bool { return r.TimeErrorNs > 0 })
		often := slices.ContainsFunc(got.Rows, func(r profile.Row) bool { return r.Calls > 64 })
		if want := j.Timing == profile.TimingSampled && often; sampled != want {
			t.Errorf("timing %v: errors of times: %v, want %v", j.Timing, sampled, want)
		}
	})
}

// TestArrow checks that the tables of a job tell what each process sent to which, and its
// calls at each call site.
func TestArrow(t *testing.T) {
	eachJob(t, []int{1, 5, 64}, func(t *testing.T, j *Job) {
		var ps []*profile.Profile
		each(t, j, func(p *profile.Profile) { ps = append(ps, p) })
		dir := t.TempDir()
		testenv.NoError(t, readback.WriteTables(dir, profile.List(ps)))
		got, err := readback.Profiles(filepath.Join(dir, "profile.arrow"))
		if err != nil || len(got) != len(ps) {
			t.Fatalf("%d profiles, %v", len(got), err)
		}
		for i, p := range got {
			testenv.Equal(t, ps[i].Traffic().Flows, p.Traffic().Flows)
			testenv.Equal(t, callsAtSites(ps[i]), callsAtSites(p))
		}
	})
}

// callsAtSites returns the numbers of calls by the label of the call site.
func callsAtSites(p *profile.Profile) map[string]uint64 {
	calls := map[string]uint64{}
	for i := range p.Rows {
		calls[profile.SiteLabel(p.Frames(p.Rows[i].Callsite))] += p.Rows[i].Calls
	}
	return calls
}

// TestProf checks that a .prof file holds only flows, and that they agree with
// the formulas.
func TestProf(t *testing.T) {
	eachJob(t, []int{1, 5, 64}, func(t *testing.T, j *Job) {
		var out bytes.Buffer
		each(t, j, func(p *profile.Profile) {
			testenv.NoError(t, prof.Write(&out, p.Traffic()))
		})
		traffic, err := prof.Read(&out, "job.prof")
		testenv.NoError(t, err)
		p2p, coll := newDense(j.Ranks), newDense(j.Ranks)
		for _, f := range traffic.Flows {
			if f.Kind == profile.External {
				p2p.at(f.From, f.To).add(Volume{f.Bytes, f.Messages})
			} else {
				coll.at(f.From, f.To).add(Volume{f.Bytes, f.Messages})
			}
		}
		p2p.compare(t, "p2p", j.P2P)
		coll.compare(t, "collective", j.Coll)
	})
}

func TestDeterministic(t *testing.T) {
	eachJob(t, []int{64}, func(t *testing.T, j *Job) {
		var a, b bytes.Buffer
		again, _ := Named(j.Name, j.Ranks)
		for rank := range j.Ranks {
			testenv.NoError(t, recordingtest.Write(&a, j.Profile(rank)))
		}
		for rank := range j.Ranks {
			testenv.NoError(t, recordingtest.Write(&b, again.Profile(rank)))
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Error("two jobs of the same shape differ")
		}
	})
}
