package aggregate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// topPairs is how many pairs a summary lists.
const topPairs = 10

// Summary is what a job did, in the numbers that people look at first. Times
// of several processes are added up over processes and threads; the units are
// in the names.
type Summary struct {
	Run            string    `json:"run"`
	Program        string    `json:"program"`
	Command        []string  `json:"command"`     // of the lowest rank
	Library        string    `json:"mpi_library"` // first line of the version string, with single spaces
	Started        time.Time `json:"started"`
	RanksExpected  int       `json:"ranks_expected"`
	RanksRecorded  int       `json:"ranks_recorded"`
	RanksFinalized int       `json:"ranks_finalized"`
	Hosts          []Host    `json:"hosts"`

	// Wall time is that of the rank that was there for longest, from entering
	// MPI_Init to the last moment known. Application time is from the end of
	// MPI_Init to the start of MPI_Finalize, added up over ranks; MPI time is
	// what they spent in all other calls.
	WallTimeS         float64 `json:"wall_time_s"`
	ApplicationTimeS  float64 `json:"application_time_s"`
	MPITimeS          float64 `json:"mpi_time_s"`
	InitFinalizeTimeS float64 `json:"init_finalize_time_s"`
	MPIShare          Share   `json:"mpi_share"`

	Untimed   uint64         `json:"untimed_calls"` // from Fortran, whose binding does not reach C: counted without time
	Totals    Totals         `json:"totals"`        // of all rows
	Calls     []CallTotals   `json:"calls"`         // of all rows, by call; longest time first
	Classes   []ClassTotals  `json:"classes"`       // of what was sent, by kind of call
	Slices    []SliceTotals  `json:"slices"`        // of all rows, by part of the run, in the order of their start
	CallSites []CallSite     `json:"callsites"`     // of all rows, by place and call; longest time first
	Traffic   []MatrixTotals `json:"traffic"`       // sums of the matrices that have entries
	Pairs     []Cell         `json:"top_pairs"`
	Heatmap   *Heatmap       `json:"heatmap,omitempty"`

	Ranks        []RankTimes   `json:"ranks"`
	Conservation *Conservation `json:"conservation"`
	Problems     []string      `json:"problems"` // what is missing or does not add up
}

// Host is a node and how many recorded processes ran there.
type Host struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
}

// Share is MPI time as a fraction of (threads × application time): the mean
// over ranks, and the ranks where it was least and most. Ranks that never left
// MPI_Init have none.
type Share struct {
	Mean    float64 `json:"mean"`
	Min     float64 `json:"min"`
	MinRank int     `json:"min_rank"`
	Max     float64 `json:"max"`
	MaxRank int     `json:"max_rank"`
}

// Totals are sums over rows. Messages and bytes that were sent and received
// are both in, so a message between two ranks is in twice.
type Totals struct {
	Calls    uint64 `json:"calls"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	TimeNs   uint64 `json:"time_ns"`
}

func (t *Totals) add(r *profile.Row) {
	t.Calls += r.Calls
	t.Messages += r.Messages
	t.Bytes += r.Bytes
	t.TimeNs += r.TimeNs
}

// CallTotals are the sums of one MPI function.
type CallTotals struct {
	Call  string `json:"call"` // without MPI_
	Class string `json:"class"`
	Totals
	MeanNs   float64 `json:"mean_ns"`
	MinNs    uint64  `json:"min_ns"`
	MaxNs    uint64  `json:"max_ns"`
	Sent     Volume  `json:"sent"`     // sends and remote writes
	Received Volume  `json:"received"` // receives and remote reads
}

// ClassTotals are the sums of one kind of call, of what the calls sent, wrote
// and read, but not of what was received: each message is in once.
type ClassTotals struct {
	Class string `json:"class"`
	Totals
}

// MatrixTotals are the sums of a matrix.
type MatrixTotals struct {
	Class string `json:"class"`
	Volume
	Pairs int `json:"pairs"` // that exchanged anything, in one direction
}

// RankTimes is where a process ran, how it ended, and its times.
type RankTimes struct {
	Rank             int     `json:"rank"`
	Host             string  `json:"host"`
	Pid              int     `json:"pid"`
	State            string  `json:"state"`
	WallTimeS        float64 `json:"wall_time_s"`
	ApplicationTimeS float64 `json:"application_time_s"`
	MPITimeS         float64 `json:"mpi_time_s"`
	MPIShare         float64 `json:"mpi_share"`
}

// Summary computes the summary of a job from its profiles.
func (j *Job) Summary() *Summary {
	s := summarize(j.Profiles)
	s.Run = j.Run
	s.RanksExpected = j.Size()
	s.RanksRecorded = len(j.Recorded())
	s.RanksFinalized = len(j.finalized())
	ms := j.Matrices()
	s.Traffic = matrixTotals(ms)
	s.Pairs = ms[All].Top(topPairs)
	s.Heatmap = NewHeatmap(&ms[All], s.RanksExpected)
	s.Conservation = j.Conservation(allRanks)
	s.Problems = append(j.Problems(), s.Conservation.problems()...)
	return s
}

// summarize fills in what needs no look at other processes.
func summarize(profiles []*profile.Profile) *Summary {
	s := &Summary{
		Program:   New(profiles).Program(),
		Hosts:     hosts(profiles),
		Calls:     callTotals(profiles),
		Classes:   classTotals(profiles),
		Slices:    sliceTotals(profiles),
		CallSites: callSites(profiles),
		Ranks:     make([]RankTimes, 0, len(profiles)),
	}
	if start := New(profiles).Start(); start != 0 {
		s.Started = time.Unix(0, start).UTC()
	}
	for _, p := range profiles {
		if s.Library == "" {
			s.Library = libraryLine(p.Library)
		}
		if s.Command == nil {
			s.Command = p.Command
		}
		t := timesOf(p)
		s.Ranks = append(s.Ranks, t)
		s.WallTimeS = max(s.WallTimeS, t.WallTimeS)
		s.ApplicationTimeS += t.ApplicationTimeS
		s.MPITimeS += t.MPITimeS
		s.Untimed += p.Losses.Untimed
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		s.Totals.Calls += c.Calls
		s.Totals.Messages += c.Messages
		s.Totals.Bytes += c.Bytes
		s.Totals.TimeNs += c.TimeNs
		if profile.SetsUp(c.Call) {
			s.InitFinalizeTimeS += seconds(c.TimeNs)
		}
	}
	s.MPIShare = shareOf(s.Ranks)
	return s
}

// libraryLine is the first line of a version string in one run of words: MPICH
// has tabs in it.
func libraryLine(version string) string {
	return strings.Join(strings.Fields(firstLine(version)), " ")
}

func timesOf(p *profile.Profile) RankTimes {
	var inMPI uint64
	for i := range p.Rows {
		if !profile.SetsUp(p.Rows[i].Call) {
			inMPI += p.Rows[i].TimeNs
		}
	}
	t := RankTimes{Rank: p.Rank, Host: p.Host, Pid: p.Pid, State: p.State.String(), MPITimeS: seconds(inMPI)}
	last := max(p.End, p.FinalizeStart, p.InitEnd)
	t.WallTimeS = elapsed(p.Start, last)
	if p.FinalizeStart != 0 {
		last = p.FinalizeStart
	}
	t.ApplicationTimeS = elapsed(p.InitEnd, last)
	if t.ApplicationTimeS > 0 {
		t.MPIShare = t.MPITimeS / (t.ApplicationTimeS * float64(max(p.Threads, 1)))
	}
	return t
}

// shareKnown is false where the share says nothing: the rank never left
// MPI_Init, or did not finalize and its calls took longer than the time up to
// its last known moment.
func (t *RankTimes) shareKnown() bool {
	return t.ApplicationTimeS > 0 && (t.State == profile.Finalized.String() || t.MPIShare <= 1)
}

// elapsed is the seconds between two moments in Unix ns, 0 if either is not
// known.
func elapsed(from, to int64) float64 {
	if from == 0 || to <= from {
		return 0
	}
	return float64(to-from) / 1e9
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

func shareOf(ranks []RankTimes) Share {
	var s Share
	n := 0
	for _, r := range ranks {
		if r.ApplicationTimeS == 0 {
			continue
		}
		if n == 0 || r.MPIShare < s.Min {
			s.Min, s.MinRank = r.MPIShare, r.Rank
		}
		if n == 0 || r.MPIShare > s.Max {
			s.Max, s.MaxRank = r.MPIShare, r.Rank
		}
		s.Mean += r.MPIShare
		n++
	}
	if n > 0 {
		s.Mean /= float64(n)
	}
	return s
}

func hosts(profiles []*profile.Profile) []Host {
	count := map[string]int{}
	for _, p := range profiles {
		count[p.Host]++
	}
	out := []Host{}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out = append(out, Host{name, count[name]})
	}
	return out
}

func callTotals(profiles []*profile.Profile) []CallTotals {
	byCall := map[string]*CallTotals{}
	for _, p := range profiles {
		for i := range p.Rows {
			r := &p.Rows[i]
			c := byCall[r.Call]
			if c == nil {
				c = &CallTotals{Call: r.Call, Class: r.Class.String()}
				byCall[r.Call] = c
			}
			c.add(r)
		}
	}
	out := make([]CallTotals, 0, len(byCall))
	for _, c := range byCall {
		if c.Calls > 0 {
			c.MeanNs = float64(c.TimeNs) / float64(c.Calls)
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b CallTotals) int {
		return cmp.Or(cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(a.Call, b.Call))
	})
	return out
}

func (c *CallTotals) add(r *profile.Row) {
	if r.Calls > 0 {
		if c.Calls == 0 || r.MinNs < c.MinNs {
			c.MinNs = r.MinNs
		}
		c.MaxNs = max(c.MaxNs, r.MaxNs)
	}
	c.Totals.add(r)
	switch r.Direction {
	case profile.Send, profile.Write:
		c.Sent.add(r)
	case profile.Recv, profile.Read:
		c.Received.add(r)
	}
}

func classTotals(profiles []*profile.Profile) []ClassTotals {
	var sums [profile.NumClasses]Totals
	for _, p := range profiles {
		for i := range p.Rows {
			r := p.Rows[i]
			if r.Class >= profile.NumClasses {
				continue
			}
			if r.Direction == profile.Recv {
				r.Messages, r.Bytes = 0, 0
			}
			sums[r.Class].add(&r)
		}
	}
	out := []ClassTotals{}
	for c, t := range sums {
		if t != (Totals{}) {
			out = append(out, ClassTotals{profile.Class(c).String(), t})
		}
	}
	return out
}

func matrixTotals(ms *Matrices) []MatrixTotals {
	out := []MatrixTotals{}
	for c := range ms {
		if n := ms[c].Len(); n > 0 {
			out = append(out, MatrixTotals{MatrixClass(c).String(), ms[c].Total(), n})
		}
	}
	return out
}
