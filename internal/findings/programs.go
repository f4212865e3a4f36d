package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
)

// loadImbalance holds if some ranks of a program compute much longer than its mean. Of several
// programs, which do different work, it names the one whose imbalance costs most. If it is known why
// ranks wait, causeFindings says so.
func loadImbalance(j *facts) (found *Finding) {
	if j.causesKnown() {
		return nil
	}
	if !j.Programs.Several() {
		return imbalanceOf(j)
	}
	for i := range j.Programs {
		p := &j.Programs[i]
		if p.POP == nil {
			continue
		}
		f := imbalanceOf(j.within(p))
		if f == nil {
			continue
		}
		f.Share = j.shareOf((p.POP.UsefulMaxNs - p.POP.UsefulMeanNs) * float64(p.POP.Ranks))
		f.Text = fmt.Sprintf("Within %s, %s", p.Name, lowerFirst(f.Text))
		f.Try = fmt.Sprintf("Within %s: %s", p.Name, lowerFirst(f.Try))
		if found == nil || f.Share > found.Share {
			found = f
		}
	}
	return found
}

// within returns the facts of one program: its ranks, their times, and their efficiency.
func (j *facts) within(p *aggregate.JobProgram) *facts {
	s := *j.Summary
	s.POP = p.POP
	s.Ranks = nil
	for _, r := range p.Ranks { // there may be as many programs as ranks
		at := func(rank int) int {
			i, _ := slices.BinarySearchFunc(j.Ranks, rank, func(t aggregate.RankTimes, rank int) int { return cmp.Compare(t.Rank, rank) })
			return i
		}
		s.Ranks = append(s.Ranks, j.Ranks[at(r.First):at(r.Last+1)]...)
	}
	s.RanksRecorded = p.Ranks.Len()
	return &facts{&s, nil}
}

// directBalances returns the balances of what the ranks of the job, or those of each of its
// programs, sent and received point-to-point and one-sided.
func (j *facts) directBalances() []aggregate.Balance {
	if !j.Programs.Several() {
		return j.Directs
	}
	var out []aggregate.Balance
	for i := range j.Programs {
		out = append(out, j.Programs[i].Directs...)
	}
	return out
}

// loadBalance returns the load balance of the job, or the least of its programs.
func (j *facts) loadBalance() float64 {
	if !j.Programs.Several() {
		return j.POP.LoadBalance
	}
	least := 1.0
	for i := range j.Programs {
		if p := j.Programs[i].POP; p != nil {
			least = min(least, p.LoadBalance)
		}
	}
	return least
}

// lowerFirst makes a sentence the end of another one.
func lowerFirst(sentence string) string { return strings.ToLower(sentence[:1]) + sentence[1:] }
