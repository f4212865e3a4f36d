package aggregate

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// TimeChange says how the run time of a job changed, and which parts of the run time carry the change.
type TimeChange struct {
	Ns Measure `json:"ns"` // the run time of POP, or the wall time
	// WallTime is whether Ns is the wall time, because the parts of the run time are not known: calls
	// of a side were not timed, or it is not known how long each rank ran.
	WallTime bool `json:"wall_time"`
	// MayBeNoise is whether one run of each side cannot tell the change from noise.
	MayBeNoise bool `json:"may_be_noise"`
	// The following are parts of the mean run time of a rank, whose changes add up to that of Ns.
	// Jobs of different sizes are compared in this way, too. Null if the wall times are compared.
	CallSites  []PartChange `json:"callsites"`   // that carry at least leastPart of the change, the largest change first
	OtherCalls *PartChange  `json:"other_calls"` // of all other call sites together
	OutsideMPI *PartChange  `json:"outside_mpi"`
	// Idle is the time before a rank ended MPI_Init and after it began MPI_Finalize while others
	// ran.
	Idle *PartChange `json:"ended_early_began_later"`
}

// PartChange is a part of the mean run time of a rank.
type PartChange struct {
	Site    *Site      `json:"callsite,omitempty"` // in B, or in A if B has no such call site
	Call    string     `json:"call,omitempty"`     // of a call site, without MPI_
	Status  DiffStatus `json:"status,omitempty"`   // of a call site
	A       float64    `json:"a_ns"`
	B       float64    `json:"b_ns"`
	ErrorNs float64    `json:"error_ns"` // standard error of the difference; 0 if the times are exact
	Share   float64    `json:"share"`    // of the change of the run time; 0 if that is 0
}

// Certain reports whether the part changed by more than the error of its estimate.
func (p *PartChange) Certain() bool { return math.Abs(p.B-p.A) > Certain*p.ErrorNs }

// smallChange is the relative change of the run time below which one run of each version cannot tell a
// change from noise. The run times of a program on nodes of its own usually differ by up to 3 %. With
// such a spread of three runs of each version, mpitrace history reports a change if the difference is
// at least 2 × (3 % + 3 %). One run of each cannot be more certain than three.
const smallChange = 0.12

// smallChangeNs is the same limit as an absolute time. If the kernel gives the core of a rank to
// another process once, the rank waits for about one time slice, which is some ms.
const smallChangeNs = 10_000_000

// leastPart is the smallest share of the change for which a call site is listed. A job may have
// thousands of call sites with smaller shares, which explain nothing.
const leastPart = 0.01

// timeChange returns nil if the times of a side are not known, or if a rank did not finalize: a job
// that ended early did not do all of its work.
func (d *Diff) timeChange(x, y *Summary) *TimeChange {
	if d.A.Unfinished+d.B.Unfinished > 0 || !d.WallTime.Known() {
		return nil
	}
	a, b := d.A.POP, d.B.POP
	known := d.TimesCompared && a != nil && b != nil && a.Ranks == d.A.RanksRecorded && b.Ranks == d.B.RanksRecorded
	c := &TimeChange{Ns: d.WallTime.Measure, WallTime: !known}
	if !c.WallTime {
		c.Ns = Measure{uint64(a.RuntimeNs), uint64(b.RuntimeNs)}
		c.divide(x, y, a, b)
	}
	least := max(smallChange*float64(min(c.Ns.A, c.Ns.B)), smallChangeNs)
	c.MayBeNoise = c.Ns.Changed() && float64(c.Ns.Size()) < least
	return c
}

// divide sets the parts of the mean run time of a rank in both jobs.
func (c *TimeChange) divide(x, y *Summary, a, b *POP) {
	of := func(p *POP, ns uint64) float64 { return float64(ns) / float64(p.Ranks) }
	inA, inB := x.inMPI(), y.inMPI()
	rest := &PartChange{A: of(a, inA.OwnNs), B: of(b, inB.OwnNs)}
	variance := inA.ownVariance()/square(a.Ranks) + inB.ownVariance()/square(b.Ranks)
	c.OutsideMPI = &PartChange{A: a.UsefulMeanNs, B: b.UsefulMeanNs, ErrorNs: math.Hypot(a.usefulErrorNs(), b.usefulErrorNs())}
	c.Idle = &PartChange{A: a.RuntimeNs - a.UsefulMeanNs - rest.A, B: b.RuntimeNs - b.UsefulMeanNs - rest.B}
	c.OtherCalls, c.CallSites = rest, []PartChange{}
	MatchSites(x.CallSites, y.CallSites, func(p, q *CallSite) {
		s := siteChange(p, q)
		if profile.SetsUp(s.Call) || s.Status == StatusSame {
			return
		}
		part := PartChange{Site: &s.Site, Call: s.Call, Status: s.Status, A: of(a, s.OwnNs.A), B: of(b, s.OwnNs.B)}
		own := p.totals().ownVariance()/square(a.Ranks) + q.totals().ownVariance()/square(b.Ranks)
		part.ErrorNs = math.Sqrt(own)
		if c.share(&part); math.Abs(part.Share) >= leastPart {
			c.CallSites = append(c.CallSites, part)
			rest.A, rest.B, variance = rest.A-part.A, rest.B-part.B, variance-own
		}
	})
	rest.ErrorNs = math.Sqrt(max(variance, 0))
	for _, part := range []*PartChange{rest, c.OutsideMPI, c.Idle} {
		c.share(part)
	}
	slices.SortFunc(c.CallSites, func(p, q PartChange) int {
		return cmp.Or(cmp.Compare(math.Abs(q.Share), math.Abs(p.Share)), cmp.Compare(p.Site.String(), q.Site.String()), cmp.Compare(p.Call, q.Call))
	})
}

// share sets the share of a part in the change of the run time.
func (c *TimeChange) share(part *PartChange) {
	if change := float64(c.Ns.B) - float64(c.Ns.A); change != 0 {
		part.Share = (part.B - part.A) / change
	}
}

func square(n int) float64 { return float64(n) * float64(n) }

// ownVariance returns the variance of the own time, which is estimated as the time is. The sums of
// a call site that a job does not have are nil.
func (c *CallTotals) ownVariance() float64 {
	if c == nil || c.TimeNs == 0 {
		return 0
	}
	share := float64(c.OwnNs) / float64(c.TimeNs)
	return share * share * float64(c.TimeVariance)
}

// usefulErrorNs returns the standard error of the mean useful time.
func (p *POP) usefulErrorNs() float64 { return p.ParallelEfficiencyError * p.RuntimeNs }
