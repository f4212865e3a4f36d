package views

import (
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// mostPvars is the largest number of performance variables that are shown at first.
const mostPvars = 24

// variables returns the section of performance variables. If there are many, those that were
// always 0 are details.
func (s *report) variables() Section {
	out := Section{ID: "variables", Title: "Performance variables"}
	var numbers, words []aggregate.PvarSummary
	for _, v := range s.Pvars {
		if v.Ranks > 0 && v.Min == nil {
			words = append(words, v)
		} else {
			numbers = append(numbers, v)
		}
	}
	zeros := 0
	if len(s.Pvars) > mostPvars {
		slices.SortStableFunc(numbers, func(a, b aggregate.PvarSummary) int { return zero(&a) - zero(&b) })
	}
	t := pvarTable(numbers, len(s.Ranks) < 2).top(mostPvars, "variable", " (mpitrace report --json)")
	if len(s.Pvars) > mostPvars {
		for i := range numbers {
			t.Rows[i].Detail = zero(&numbers[i]) == 1
			zeros += zero(&numbers[i])
		}
	}
	out.Add(t)
	for i := range words {
		v := &words[i]
		if v.Text == nil {
			out.Fact(pvarName(v), "a text, which is not the same on all ranks")
			continue
		}
		out.Fact(pvarName(v), fmt.Sprintf("\"%s\"", *v.Text))
	}
	if zeros > 0 {
		out.Say(fmt.Sprintf("and %s, always 0", text.CountOf(zeros, "more variable")))
	}
	return out
}

// zero returns 1 if the variable was always 0.
func zero(v *aggregate.PvarSummary) int {
	if v.Min != nil && *v.Min == 0 && *v.Max == 0 {
		return 1
	}
	return 0
}

// pvarTable returns the table of variables that are numbers. It names the ranks of the extremes
// unless there is only one rank.
func pvarTable(list []aggregate.PvarSummary, oneRank bool) *Table {
	type R = aggregate.PvarSummary
	number := func(v *R, n *float64) Cell {
		switch {
		case n == nil:
			return missing
		case v.Class == profile.PvarPercentage.String():
			return shareCell(*n)
		}
		return numberCell(*n)
	}
	at := func(v *R, n *float64, rank int) Cell {
		if n == nil || oneRank {
			return number(v, n)
		}
		return number(v, n).ofRank(rank)
	}
	least, most := minOfRank, maxOfRank
	if oneRank {
		least, most = "min", "max"
	}
	return tableOf("variables", list,
		col("variable", "variable", Words, func(v *R) Cell { return wordsCell(pvarName(v)) }),
		col("class", "class", Words, func(v *R) Cell { return wordsCell(v.Class) }).spare(1),
		col("sum", "sum", OfColumn, func(v *R) Cell { return number(v, v.Sum) }).when(!oneRank),
		col("mean", "mean", OfColumn, func(v *R) Cell { return number(v, v.Mean) }).spare(2),
		col("min", least, OfColumn, func(v *R) Cell { return at(v, v.Min, v.MinRank) }).spare(3),
		col("max", most, OfColumn, func(v *R) Cell { return at(v, v.Max, v.MaxRank) }).spare(4),
	).named("MPI's own counters")
}

// pvarName returns, for example, "pml_ob1_unexpected_msgq_length of MPI_COMM_WORLD". For an
// array it adds the number of elements in brackets.
func pvarName(v *aggregate.PvarSummary) string {
	name := v.Name
	if v.Elements > 1 && v.Min != nil {
		name += fmt.Sprintf("[%d]", v.Elements)
	}
	of := " of "
	if v.Binding == profile.PvarWindow.String() {
		of = " of a window of "
	}
	switch {
	case v.Others:
		return name + of + "others"
	case v.Object != "":
		return name + of + v.Object
	case v.Binding != profile.PvarUnbound.String():
		return name + of + "unknown"
	}
	return name
}
