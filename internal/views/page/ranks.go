package page

import (
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

// maxRanks is the largest number of entries of the columns of ranks.
const maxRanks = 16_384

// RankColumns are the processes of a job in columns: see docs/page.md.
type RankColumns struct {
	Block          int                `json:"block"`
	Rank           []int              `json:"rank"`
	Hosts          []string           `json:"hosts"`
	Host           []int              `json:"host"`
	States         []string           `json:"states"`
	State          []int              `json:"state"`
	Application    []int64            `json:"application_ns"`
	Useful         []*int64           `json:"useful_ns"`
	MPI            []int64            `json:"mpi_ns"`
	Activities     [][]int64          `json:"activity_ns"`
	Waits          map[string][]int64 `json:"waits"`
	UsefulMean     float64            `json:"useful_mean_ns,omitempty"` // of the processes that finalized; no column
	UsefulMost     []int64            `json:"useful_most_ns,omitempty"`
	UsefulMostRank []int              `json:"useful_most_rank,omitempty"`
	LastRank       []int              `json:"last_rank,omitempty"`
}

// ranksOf returns the columns of a job. traced is nil if the job was not traced.
func ranksOf(s *aggregate.Summary, hosts []string, hostOf func(rank int) int, traced *trace.Result) *RankColumns {
	r := &RankColumns{Block: 1, Hosts: hosts, States: []string{}, Activities: make([][]int64, profile.NumActivities)}
	for len(s.Ranks) > maxRanks*r.Block {
		r.Block *= 2
	}
	for some := range slices.Chunk(s.Ranks, r.Block) {
		r.add(some, hostOf)
	}
	if s.POP != nil {
		r.UsefulMean = s.POP.UsefulMeanNs
	}
	if traced != nil {
		r.waits(traced, s.Ranks)
	}
	return r
}

// add adds an entry for some processes.
func (r *RankColumns) add(some []aggregate.RankTimes, hostOf func(rank int) int) {
	first := &some[0]
	r.Rank = append(r.Rank, first.Rank)
	r.Host = append(r.Host, hostOf(first.Rank))
	r.State = append(r.State, r.stateOf(views.StateWords(first.State)))
	var application, mpi, useful, most int64
	known, mostRank := 0, -1
	var activities [profile.NumActivities]int64
	for i := range some {
		t := &some[i]
		application += ns(t.ApplicationTimeS)
		share := t.OwnShare() // the columns are parts of the ranks' own time
		mpi += ns(t.MPITimeS * share)
		for a, ns := range t.Activities {
			activities[a] += int64(float64(ns)*share + 0.5)
		}
		if u, ok := t.UsefulNs(); ok {
			known++
			useful += int64(u)
			if mostRank < 0 || int64(u) > most {
				most, mostRank = int64(u), t.Rank
			}
		}
	}
	n := int64(len(some))
	r.Application, r.MPI = append(r.Application, application/n), append(r.MPI, mpi/n)
	if known > 0 {
		useful /= int64(known)
		r.Useful = append(r.Useful, &useful)
	} else {
		r.Useful = append(r.Useful, nil)
	}
	activities[profile.Outside] = useful * n
	for a := range activities {
		r.Activities[a] = append(r.Activities[a], activities[a]/n)
	}
	if r.Block > 1 {
		r.UsefulMost, r.UsefulMostRank = append(r.UsefulMost, most), append(r.UsefulMostRank, mostRank)
		r.LastRank = append(r.LastRank, some[len(some)-1].Rank)
	}
}

func (r *RankColumns) stateOf(state string) int {
	i := slices.Index(r.States, state)
	if i < 0 {
		i = len(r.States)
		r.States = append(r.States, state)
	}
	return i
}

// waits adds the waits of a traced run.
func (r *RankColumns) waits(traced *trace.Result, all []aggregate.RankTimes) {
	r.Waits = map[string][]int64{}
	at := make(map[int]int, len(all)) // index in all
	for i := range all {
		at[all[i].Rank] = i
	}
	for i := range traced.WaitStates {
		w := &traced.WaitStates[i]
		of, known := at[w.Rank]
		if !known {
			continue
		}
		name := w.Pattern.String()
		if r.Waits[name] == nil {
			r.Waits[name] = make([]int64, len(r.Rank))
		}
		r.Waits[name][of/r.Block] += ns(w.Time * all[of].OwnShare())
	}
	for _, column := range r.Waits {
		for i := range column {
			column[i] /= int64(min(r.Block, len(all)-i*r.Block))
		}
	}
}

// ns returns seconds as ns.
func ns(seconds float64) int64 { return int64(1e9*seconds + 0.5) }
