package findings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

const (
	mostlyOne = 0.5  // part of a cost above which one rank is named for it; otherwise the rank changes
	minor     = 0.05 // part of a cost below which a place, or a rank, is not worth a word
)

// causePart is a cause, or what some of the waits that it causes cost.
type causePart struct {
	*causes.Cause
	share float64 // of ranks × run time
	seen  []causes.Seen
}

// causeGroup holds the causes that one finding is about.
type causeGroup struct {
	rule     Rule
	from, to string // programs
	share    float64
	ranks    profile.RankSet // that cause it; empty if they change
	parts    []causePart     // the largest first
	seen     []causes.Seen   // of all parts, by call site; the largest first
}

// causeKey tells groups apart: different bursts of the same ranks are one finding.
type causeKey struct {
	rule                   Rule
	from, to, ranks, waits string
}

// causeGroups are the groups of a job in the order in which they were found.
type causeGroups struct {
	of   map[causeKey]*causeGroup
	list []*causeGroup
}

// add adds a part to the group of a rule and of the ranks that cause it. What differs in waits has a group
// of its own. The ranks of a group are those of its largest part; ranks that are nearly the same, because
// the same rank causes most, have the same group.
func (g *causeGroups) add(rule Rule, ranks profile.RankSet, waits string, p causePart) {
	key := causeKey{rule, p.From, p.To, keyOf(ranks), waits}
	nearly := key
	if nearly.ranks = ""; len(ranks) > 0 && len(p.Ranks) > 0 {
		nearly.ranks = fmt.Sprint("mostly ", p.Ranks[0].Rank)
	}
	group := cmp.Or(g.of[key], g.of[nearly])
	if group == nil {
		group = &causeGroup{rule: rule, from: p.From, to: p.To, ranks: ranks}
		g.list = append(g.list, group)
	}
	g.of[key], g.of[nearly] = group, group
	group.share += p.share
	group.parts = append(group.parts, p)
}

// keyOf returns all ranks of a set as a text, which String may shorten.
func keyOf(ranks profile.RankSet) string {
	text, _ := ranks.MarshalText() // never an error
	return string(text)
}

// causesKnown reports whether the trace has all calls, so that every wait has its causes.
func (j *facts) causesKnown() bool { return j.trace != nil && j.Tree.Traced && len(j.trace.Causes) > 0 }

// causeGroups groups the causes by the finding that they are a part of. It returns the groups that cost enough.
func (j *facts) causeGroups() []*causeGroup {
	groups := &causeGroups{of: map[causeKey]*causeGroup{}}
	work := worksOf(j.trace.Causes)
	for i := range j.trace.Causes {
		c := &j.trace.Causes[i]
		switch all := (causePart{c, c.Share, c.Seen}); {
		case c.Class == causes.Unknown:
		case c.From != c.To:
			groups.add(BetweenPrograms, nil, "", all)
		case c.Class == causes.Imbalance || c.Class == causes.Varying:
			j.addWork(groups, all, work[workOf(c)])
		case c.Class == causes.Order:
			addOrder(groups, all)
		case c.Class == causes.Chain && j.serial():
			groups.add(SerialChain, nil, "", all)
		case c.Class == causes.InCall && !j.noCore() && mostly(c) != nil:
			groups.add(HotRank, mostly(c), "", all)
		}
	}
	large := slices.DeleteFunc(groups.list, func(g *causeGroup) bool { return g.share < leastShare })
	for _, g := range large {
		slices.SortStableFunc(g.parts, func(a, b causePart) int { return cmp.Compare(b.share, a.share) })
		g.seen = g.bySite()
		if g.rule == SerialChain {
			g.ranks = g.named()
		}
	}
	return large
}

// named returns the ranks of the parts.
func (g *causeGroup) named() profile.RankSet {
	var ranks []int
	for _, p := range g.parts {
		if p.share >= minor*g.share {
			ranks = slices.AppendSeq(ranks, p.Named.All())
		}
	}
	return profile.RankSetOf(ranks...)
}

// mostly returns the rank that causes more than half of the cost; nil if there is none.
func mostly(c *causes.Cause) profile.RankSet {
	if len(c.Ranks) == 0 || float64(c.Ranks[0].CostNs) <= mostlyOne*float64(c.CostNs) {
		return nil
	}
	return profile.RankSetOf(c.Ranks[0].Rank)
}

// burstWork are the two causes that one kind of burst may be.
type burstWork struct{ imbalance, varying *causes.Cause }

// burstOfProgram is a kind of burst in a program.
type burstOfProgram struct {
	causes.Burst
	program string
}

func workOf(c *causes.Cause) burstOfProgram {
	if c.Burst == nil {
		return burstOfProgram{program: c.To}
	}
	return burstOfProgram{*c.Burst, c.To}
}

func worksOf(list []causes.Cause) map[burstOfProgram]burstWork {
	works := map[burstOfProgram]burstWork{}
	for i := range list {
		c := &list[i]
		if c.From != c.To {
			continue
		}
		w := works[workOf(c)]
		switch c.Class {
		case causes.Imbalance:
			w.imbalance = c
		case causes.Varying:
			w.varying = c
		}
		works[workOf(c)] = w
	}
	return works
}

// addWork adds an imbalance or varying work. The two of one kind of burst are in one finding, that of
// the larger. If the trace lacks calls, load imbalance has a rule of its own.
func (j *facts) addWork(groups *causeGroups, p causePart, of burstWork) {
	larger, rule := of.imbalance, LoadImbalance
	if larger == nil || of.varying != nil && of.varying.CostNs > larger.CostNs {
		larger, rule = of.varying, VaryingWork
	}
	switch {
	case rule == VaryingWork:
		groups.add(rule, mostly(larger), "", p)
	case j.causesKnown():
		groups.add(rule, larger.Named, "", p)
	}
}

// addOrder adds what each kind of wait costs to a finding: of ranks that send late, that come late to a
// collective, or that are late to receive.
func addOrder(groups *causeGroups, all causePart) {
	var parts []causePart
	for _, s := range all.seen {
		i := slices.IndexFunc(parts, func(p causePart) bool { return actionOf(p.seen[0].Pattern) == actionOf(s.Pattern) })
		if i < 0 {
			i = len(parts)
			parts = append(parts, causePart{Cause: all.Cause})
		}
		parts[i].seen = append(parts[i].seen, s)
		parts[i].share += all.share * float64(s.CostNs) / float64(all.CostNs)
	}
	for _, p := range parts {
		action := actionOf(p.seen[0].Pattern)
		groups.add(action.rule, p.Named, keyOf(p.seen[0].Ranks)+" "+action.one, p)
	}
}

// action is what a rank does late: a text for one rank, and another for several.
type action struct {
	rule         Rule
	one, several string
}

// actionOf returns what others wait for in a pattern of waits. Ranks that come late to a collective have no text.
func actionOf(pattern string) action {
	switch pattern {
	case trace.LateSender.String():
		return action{LateSender, "sends", "send"}
	case trace.LateReceiver.String():
		return action{LateReceiver, "posts its receive", "post their receives"}
	case trace.LatePost.String():
		return action{LateReceiver, "exposes its window", "expose their windows"}
	case trace.WaitForProgress.String():
		return action{LateReceiver, "calls MPI again", "call MPI again"}
	}
	return action{rule: LateSender}
}

// serialBelow is the serialisation below which ranks are said to compute in turn.
const serialBelow = 0.8

// serial reports whether the run takes longer than the longest computing of a rank, even on a network
// without delay.
func (j *facts) serial() bool { return j.trace.POP != nil && j.trace.POP.Serialisation < serialBelow }

// bySite adds up what the parts have in common: the call sites where others wait.
func (g *causeGroup) bySite() (sum []causes.Seen) {
	at := map[causes.Stop]int{}
	for _, p := range g.parts {
		for _, s := range p.seen {
			i, known := at[s.Stop]
			if !known {
				i = len(sum)
				at[s.Stop] = i
				sum = append(sum, causes.Seen{Stop: s.Stop, Pattern: s.Pattern})
			}
			sum[i].CostNs += s.CostNs
			sum[i].Ranks = profile.RankSetOf(slices.AppendSeq(slices.Collect(sum[i].Ranks.All()), s.Ranks.All())...)
		}
	}
	slices.SortStableFunc(sum, func(a, b causes.Seen) int { return cmp.Compare(b.CostNs, a.CostNs) })
	return sum
}

// costNs returns the time that ranks wait, summed over ranks and threads.
func (g *causeGroup) costNs() (ns int64) {
	for i := range g.seen {
		ns += g.seen[i].CostNs
	}
	return ns
}

// waitShares returns the shares of ranks × run time that ranks wait in calls because of what the finding is
// about, by place.
func (f *Finding) waitShares() map[string]float64 {
	if f.waits == nil {
		return nil
	}
	shares := map[string]float64{}
	for _, p := range f.waits.parts {
		sum := int64(0)
		for _, s := range p.seen {
			sum += s.CostNs
		}
		for _, s := range p.seen {
			if s.Pattern != causes.EndedEarly {
				shares[place(s.Call, s.Callsite)] += p.share * float64(s.CostNs) / float64(sum)
			}
		}
	}
	return shares
}

// pairs returns the largest number of pairs of ranks of a part.
func (g *causeGroup) pairs() (n int) {
	for i := range g.parts {
		n = max(n, g.parts[i].Pairs)
	}
	return n
}

// alone reports whether only the ranks named have these bursts.
func (g *causeGroup) alone() bool {
	return !slices.ContainsFunc(g.parts, func(p causePart) bool { return !p.Alone })
}

// saves returns by how many seconds the run could be shorter: what the replay says or, if replayed is
// false, the most that is possible.
func (g *causeGroup) saves(j *facts) (s float64, replayed bool) {
	most := g.share * j.trace.Runtime
	if g.rule == SerialChain {
		return max(0, min(most, g.parts[0].BoundS)), false
	}
	if g.rule == BetweenPrograms {
		return most, false // the replay makes the bursts of a program even, not the program faster
	}
	known := 0.0 // the replay tries large causes only
	for i := range g.parts {
		if p := &g.parts[i]; p.SavesS != nil && p.Cause.Share > 0 {
			s, known = s+*p.SavesS*p.share/p.Cause.Share, known+p.share // a cause may be in several findings
		}
	}
	if known < mostlyKnown*g.share || known == 0 {
		return most, false
	}
	return max(0, min(most, s)), true
}
