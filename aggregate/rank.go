package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// RankSummary is the summary of one rank. Times, calls and classes are those of
// this rank alone. Traffic and problems include what it exchanged with others.
type RankSummary struct {
	Rank int `json:"rank"`
	Summary
	Peers []Peer       `json:"peers"` // those with the most point-to-point and one-sided bytes first
	Comms []CommTotals `json:"communicators"`
}

// Peer holds what a rank exchanged with another rank, or with itself. What it
// received is taken from what the peer recorded as sent.
type Peer struct {
	Rank     int           `json:"rank"`
	Sent     matrix.Volume `json:"sent"`     // point-to-point and one-sided
	Received matrix.Volume `json:"received"` // point-to-point and one-sided

	CollectiveSent     matrix.Volume `json:"collective_sent"` // logical volume
	CollectiveReceived matrix.Volume `json:"collective_received"`
}

// CommTotals holds the sums of all rows of a communicator.
type CommTotals struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Rank  int    `json:"rank"` // rank in the communicator
	Size  int    `json:"size"` // size of the local group
	Inter bool   `json:"intercommunicator"`
	Freed bool   `json:"freed"`
	Totals
	Sent matrix.Volume `json:"sent"`
}

// RankSummary returns the summary of one rank of the job. Options.Keep must
// have returned true for it.
func (j *Job) RankSummary(rank int) (*RankSummary, error) {
	profiles := slices.DeleteFunc(slices.Clone(j.kept), func(p *profile.Profile) bool { return p.Rank != rank })
	if len(profiles) == 0 {
		return nil, fmt.Errorf("summarize rank %d: it was not recorded (recorded: %s of %d)",
			rank, profile.RankSetOf(j.Recorded()...), j.Size())
	}
	own := ofKept(profiles)
	s := &RankSummary{Rank: rank, Summary: *own.summarize()}
	s.Run = j.Run
	j.addAvailable()
	ps := j.ordered()
	for i := range s.Ranks {
		t := &s.Ranks[i]
		if k := slices.IndexFunc(ps, func(p processFacts) bool { return p.Rank == rank && p.Pid == t.Pid }); k >= 0 {
			t.Cores = ps[k].Cores
		}
	}
	s.RanksExpected, s.RanksRecorded = j.Size(), len(j.Recorded())
	s.RanksFinalized = len(j.finalized())
	s.Traffic = matrixTotals(own.Matrices())
	s.Physical = own.physical.physical(s.Traffic)
	s.Peers = peersOf(j.Matrices(), rank)
	s.Pairs = []PairTotals{}
	s.Ends = slices.DeleteFunc(j.ends.ends(j.Start()), func(e End) bool { return e.Rank != rank })
	s.Deadlocks = slices.DeleteFunc(j.deadlocks(), func(ring []int) bool { return !slices.Contains(ring, rank) })
	s.Oversubscribed = slices.DeleteFunc(j.oversubscriptions(), func(o profile.Oversubscription) bool { return !o.Ranks.Contains(rank) })
	s.Comms = commTotals(profiles)
	s.Conservation = j.Conservation(rank)
	problems := append(j.rankProblems(own, rank), s.Conservation.problems()...)
	s.Problems, s.Losses = textsOf(problems), byKind(problems)
	return s, nil
}

func (j *Job) rankProblems(own *Job, rank int) []Loss {
	var out []Loss
	if own.Processes() > 1 {
		out = append(out, Loss{recordedTwice, 1, 1, fmt.Sprintf("rank %d has %d recordings: these may be of several runs", rank, own.Processes())})
	}
	if running := own.unfinished(); len(running) > 0 {
		out = append(out, notFinalized(running))
	}
	out = append(out, each(variablesNotSet, own.variableProblems())...)
	out = append(out, own.losses()...)
	out = append(out, each(countsUnknown, own.physical.problems())...)
	return append(out, each(inNoMatrix, own.unplaced())...)
}

// notFinalized returns the problem that ranks did not reach MPI_Finalize.
func notFinalized(ranks profile.RankSet) Loss {
	whose := "their"
	if ranks.Len() == 1 {
		whose = "its"
	}
	return Loss{"ranks not finalized", uint64(ranks.Len()), 1,
		fmt.Sprintf("partial: %s did not reach MPI_Finalize: %s record ends with %s last completed call", ranks, whose, whose)}
}

func peersOf(ms *matrix.ByClass, rank int) []Peer {
	byRank := map[int]*Peer{}
	at := func(r int) *Peer {
		if byRank[r] == nil {
			byRank[r] = &Peer{Rank: r}
		}
		return byRank[r]
	}
	direct, collective := ms.Direct(), &ms[matrix.Collective]
	for to, v := range direct.Row(rank) {
		at(to).Sent = v
	}
	for from, v := range direct.Column(rank) {
		at(from).Received = v
	}
	for to, v := range collective.Row(rank) {
		at(to).CollectiveSent = v
	}
	for from, v := range collective.Column(rank) {
		at(from).CollectiveReceived = v
	}
	out := make([]Peer, 0, len(byRank))
	for p := range maps.Values(byRank) {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Peer) int {
		return cmp.Or(cmp.Compare(b.Sent.Bytes+b.Received.Bytes, a.Sent.Bytes+a.Received.Bytes),
			cmp.Compare(b.CollectiveSent.Bytes+b.CollectiveReceived.Bytes, a.CollectiveSent.Bytes+a.CollectiveReceived.Bytes),
			cmp.Compare(a.Rank, b.Rank))
	})
	return out
}

// commTotals returns the sums of each process's communicators. Communicators
// with the same id count as one (profile.Unify).
func commTotals(profiles []*profile.Profile) []CommTotals {
	out := []CommTotals{}
	for _, p := range profiles {
		type key struct {
			id   string
			rank int
		}
		known := map[key]int{}          // index in out
		at := make([]int, len(p.Comms)) // index in out
		for i := range p.Comms {
			c := &p.Comms[i]
			k := key{c.ID, c.Rank}
			if n, ok := known[k]; ok {
				at[i] = n
				out[n].Freed = out[n].Freed && c.Freed
				continue
			}
			at[i], known[k] = len(out), len(out)
			out = append(out, CommTotals{ID: c.ID, Label: c.Label(), Rank: c.Rank,
				Size: c.Members.Len(), Inter: c.Inter, Freed: c.Freed})
		}
		for i := range p.Rows {
			r := &p.Rows[i]
			if r.Comm < 0 || int(r.Comm) >= len(at) {
				continue
			}
			c := &out[at[r.Comm]]
			c.Totals.add(r, p.Times().OwnShare())
			if r.Direction == profile.Send || r.Direction == profile.Write {
				c.Sent.AddRow(r)
			}
		}
	}
	return out
}

// WithoutComm returns the sums of the calls that name no communicator: waits,
// tests and calls on windows, datatypes and files.
func (s *RankSummary) WithoutComm() Totals {
	var all, in Totals
	for i := range s.Calls {
		if c := &s.Calls[i]; !profile.SetsUp(c.Call) {
			all.plus(c.Totals)
		}
	}
	for i := range s.Comms {
		in.plus(s.Comms[i].Totals)
	}
	return Totals{Calls: all.Calls - min(in.Calls, all.Calls), TimeNs: all.TimeNs - min(in.TimeNs, all.TimeNs)}
}
