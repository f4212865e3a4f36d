package views

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// causeWords are, for each class, what the ranks do for which others wait, the term, and the colour of the
// page's bar.
var causeWords = map[causes.Class]struct{ does, term, color string }{
	causes.Imbalance: {"more work than others", "load imbalance", "--imbalance"},
	causes.Varying:   {"more work in some steps", "varying work", "--serial"},
	causes.Order:     {"other work first", "order", "--transfer"},
	causes.Chain:     {"work one after the other", "chain", "--set-up"},
	causes.InCall:    {"an MPI call", "cost of calls", "--mpi"},
	causes.Unknown:   {"not known", "", "--idle"},
}

// causeClass names a class in plain words, with the term in parentheses.
func causeClass(c causes.Class) string {
	w := causeWords[c]
	if w.term == "" {
		return w.does
	}
	return fmt.Sprintf("%s (%s)", w.does, w.term)
}

// causes returns the section of why ranks wait.
func (a *analysis) causes() Section {
	out := Section{ID: "causes", Title: "Causes of waits"}
	if len(a.Causes) == 0 {
		return out
	}
	out.Detail(func() { out.causeBar(a.Causes) })
	out.Add(a.causeTable())
	out.Add(a.causesOfPrograms())
	out.Add(a.causesOfSlices())
	out.Say(a.causeSums())
	return out
}

// causeBar adds the bar of the classes. The whole is the time that ranks wait.
func (s *Section) causeBar(list []causes.Cause) {
	costs := map[causes.Class]int64{}
	for i := range list {
		costs[list[i].Class] += list[i].CostNs
	}
	bar, all := &Bar{}, float64(costOf(list))
	for _, class := range slices.SortedFunc(maps.Keys(costs), func(a, b causes.Class) int { return cmp.Or(cmp.Compare(costs[b], costs[a]), cmp.Compare(a, b)) }) {
		if share := float64(costs[class]) / all; costs[class] > 0 {
			bar.Parts = append(bar.Parts, BarPart{Name: causeClass(class), Share: share, Text: text.Percent(share) + " of the time waited", Color: causeWords[class].color})
		}
	}
	if len(bar.Parts) > 0 {
		s.Blocks = append(s.Blocks, Block{Bar: bar})
	}
}

// costOf returns the cost of causes, in ns.
func costOf(list []causes.Cause) (ns int64) {
	for i := range list {
		ns += list[i].CostNs
	}
	return ns
}

// causeTable returns the table of all causes, the largest cost first.
func (a *analysis) causeTable() *Table {
	type R = causes.Cause
	several := slices.ContainsFunc(a.Causes, func(c R) bool { return c.To != "" })
	t := tableOf("causes", a.Causes,
		col("cause", "others wait because of", Words, func(c *R) Cell { return wordsCell(causeClass(c.Class)) }),
		col("ranks", "ranks", Words, func(c *R) Cell { return setCell(c.Named) }),
		col("program", "program", Words, func(c *R) Cell { return wordsCell(c.To) }).when(several).spare(3),
		numberColumn(func(c *R) uint64 { return c.Waits }).help("of waits").spare(1),
		col("pairs", "pairs", Count, func(c *R) Cell { return countCell(c.Pairs) }).help("of ranks: one waits, the other causes it").spare(2),
		col("cost_ns", "time", Ns, func(c *R) Cell { return nsCell(float64(c.CostNs)) }).help("that others wait, summed over ranks and threads"),
		shareOfTime(func(c *R) float64 { return c.Share }),
		col("saves_ns", "saves", Ns, a.savingCell).help("of the run time without this cause, as a replay of the trace shows; alone: other causes must go too"),
	).top(a.top, "cause", topTrace)
	for i := range a.Causes {
		t.Rows[i].Below, t.Rows[i].Ranks = causePlaces(&a.Causes[i]), a.Causes[i].Named
	}
	return t
}

// mostRanges is the number of ranges of ranks that a cell shows.
const mostRanges = 3

// setCell returns the cell of a set of ranks.
func setCell(ranks profile.RankSet) Cell {
	if len(ranks) == 0 {
		return missing
	}
	_, numbers, _ := strings.Cut(ranks[:min(len(ranks), mostRanges)].String(), " ")
	if len(ranks) > mostRanges {
		numbers += fmt.Sprintf(" … (%d in all)", ranks.Len())
	}
	return wordsCell(numbers)
}

// savingCell returns what a cause could save, as far as it is known.
func (a *analysis) savingCell(c *causes.Cause) Cell {
	switch most := c.Share * a.Runtime; {
	case c.SavesS == nil:
		return missing
	case *c.SavesS < most/2:
		return secondsCell(*c.SavesS).with(" alone")
	default: // the replay may find more than this cause costs
		return secondsCell(min(*c.SavesS, most))
	}
}

// causePlaces says where the computing is, or in which call a rank is, and where others wait.
func causePlaces(c *causes.Cause) string {
	var parts []string
	switch {
	case c.Burst != nil:
		parts = append(parts, c.Burst.String())
	case c.Call != nil:
		parts = append(parts, "in "+c.Call.String())
	}
	if len(c.Seen) > 0 {
		s := &c.Seen[0]
		words := fmt.Sprintf("seen as: %s in %s", s.Ranks, s.Stop)
		if n := len(c.Seen) - 1; n > 0 {
			words += fmt.Sprintf(", %s; %s, %s", text.Duration(float64(s.CostNs), false), text.CountOf(n, "other place"), text.Duration(float64(c.CostNs-s.CostNs), false))
		}
		parts = append(parts, words)
	}
	return strings.Join(parts, "; ")
}

// causeSums says whether the causes explain all waits. Ranks that end early wait for the last one, besides
// the waits of calls.
// rounding is the error, as a fraction, of sums of times in seconds.
const rounding = 1e-9

func (a *analysis) causeSums() string {
	waited, early := 0.0, int64(0)
	for _, p := range a.Patterns {
		if p.Pattern != trace.Undecided {
			waited += p.Time
		}
	}
	for i := range a.Causes {
		for _, s := range a.Causes[i].Seen {
			if s.Pattern == causes.EndedEarly {
				early += s.CostNs
			}
		}
	}
	costs, all := costOf(a.Causes), int64(math.Round(1e9*waited))+early
	words := "the causes add up to the time waited: "
	if math.Abs(float64(costs-all)) > rounding*float64(all) {
		words = fmt.Sprintf("the causes cover %s of the time waited: ", ratioCell(float64(costs), float64(all)).Text)
	}
	words += seconds(waited) + " in calls"
	if early > 0 {
		words += fmt.Sprintf(", and %s of ranks that end before the last", text.Duration(float64(early), false))
	}
	if a.CausesCover > 0 && a.CausesCover < 1 {
		words += fmt.Sprintf("; the trace has the calls of %s of the time", text.Percent(a.CausesCover))
	}
	return words
}

// causeSum is the sum of causes, and the largest of them.
type causeSum struct {
	name   string
	costNs int64
	share  float64
	most   *causes.Cause
	mostNs int64
}

// sumCauses adds up the costs of causes by name, the largest first. parts calls add with each part of a cause.
func sumCauses(list []causes.Cause, parts func(c *causes.Cause, add func(name string, ns int64))) []causeSum {
	var sums []causeSum
	for i := range list {
		c := &list[i]
		parts(c, func(name string, ns int64) {
			k := slices.IndexFunc(sums, func(s causeSum) bool { return s.name == name })
			if k < 0 {
				k = len(sums)
				sums = append(sums, causeSum{name: name})
			}
			s := &sums[k]
			s.costNs += ns
			if c.CostNs > 0 {
				s.share += c.Share * float64(ns) / float64(c.CostNs)
			}
			if ns > s.mostNs {
				s.most, s.mostNs = c, ns
			}
		})
	}
	slices.SortStableFunc(sums, func(a, b causeSum) int {
		return cmp.Or(cmp.Compare(b.costNs, a.costNs), strings.Compare(a.name, b.name))
	})
	return sums
}

// causesOfPrograms returns the table of which program waits for which; nil if the job has one program.
func (a *analysis) causesOfPrograms() *Table {
	return causeSumTable("causes_programs", "program", sumCauses(a.Causes, func(c *causes.Cause, add func(string, int64)) {
		switch {
		case c.From != c.To && c.To != "":
			add(fmt.Sprintf("%s waits for %s", c.From, c.To), c.CostNs)
		case c.From != "":
			add("within "+c.From, c.CostNs)
		}
	}))
}

// causesOfSlices returns the table of the costs in each slice; nil if the job has one slice.
func (a *analysis) causesOfSlices() *Table {
	return causeSumTable("causes_slices", "slice", sumCauses(a.Causes, func(c *causes.Cause, add func(string, int64)) {
		for _, name := range slices.Sorted(maps.Keys(c.Slices)) {
			add(name, c.Slices[name])
		}
	}))
}

func causeSumTable(id, head string, sums []causeSum) *Table {
	type R = causeSum
	return tableOf(id, sums,
		col("name", head, Words, func(s *R) Cell { return wordsCell(s.name) }),
		col("cost_ns", "time waited", Ns, func(s *R) Cell { return nsCell(float64(s.costNs)) }),
		shareOfTime(func(s *R) float64 { return s.share }),
		col("mostly", "largest cause", Words, func(s *R) Cell {
			if s.most == nil {
				return missing
			}
			w := causeWords[s.most.Class]
			return wordsCell(fmt.Sprintf("%s, %s", cmp.Or(w.term, w.does), text.Duration(float64(s.mostNs), false)))
		}).spare(1))
}
