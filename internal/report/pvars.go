package report

import (
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// textPvars is the largest number of performance variables that are printed.
const textPvars = 24

// pvarsText prints the table of performance variables. If there are many, it
// leaves out those that were always 0.
func (s *summaryText) pvarsText() {
	if len(s.Pvars) == 0 {
		return
	}
	list, zeros := s.Pvars, 0
	if len(list) > textPvars {
		list = slices.DeleteFunc(slices.Clone(list), zero)
		zeros = len(s.Pvars) - len(list)
	}
	list, more := top(list, textPvars)
	heads := []string{"MPI's own counters", "class", "sum", "mean", "min (rank)", "max (rank)"}
	oneRank := len(s.Ranks) < 2
	if oneRank {
		heads[4], heads[5] = "min", "max"
	}
	t := text.NewTable(heads...)
	for _, v := range list {
		if !isText(v) {
			t.Add(s.pvarLine(v, oneRank)...)
		}
	}
	if oneRank {
		t.Drop("sum")
	}
	s.fit(t, "class", "mean", "min", "min (rank)", "max", "max (rank)")
	s.table(t, 0, "", "")
	for _, v := range list {
		if isText(v) {
			s.textText(v)
		}
	}
	s.more(zeros, "variable", ", always 0")
	s.more(more, "variable", " (mpitrace report --json)")
}

// isText reports whether the variable is a text.
func isText(v aggregate.PvarSummary) bool { return v.Ranks > 0 && v.Min == nil }

// zero reports whether the variable was always 0.
func zero(v aggregate.PvarSummary) bool { return v.Min != nil && *v.Min == 0 && *v.Max == 0 }

// pvarLine returns the cells of a variable. It names the ranks of the extremes unless there
// is only one rank.
func (o *printer) pvarLine(v aggregate.PvarSummary, oneRank bool) []string {
	number := func(n *float64) string {
		if n == nil {
			return o.none()
		}
		return number(v, *n)
	}
	at := func(n *float64, rank int) string {
		if n == nil || oneRank {
			return number(n)
		}
		return fmt.Sprintf("%s (%d)", number(n), rank)
	}
	return []string{o.nameText(v), v.Class, number(v.Sum), number(v.Mean), at(v.Min, v.MinRank), at(v.Max, v.MaxRank)}
}

// nameText returns, for example, "pml_ob1_unexpected_msgq_length of
// MPI_COMM_WORLD". For an array it adds the number of elements in brackets.
func (o *printer) nameText(v aggregate.PvarSummary) string {
	name := o.clean(v.Name)
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
		return name + of + o.clean(v.Object)
	case v.Binding != profile.PvarUnbound.String():
		return name + of + "unknown"
	}
	return name
}

// number returns a value of the variable as text.
func number(v aggregate.PvarSummary, n float64) string {
	if v.Class == profile.PvarPercentage.String() {
		return text.Percent(n)
	}
	return text.Number(n)
}

// textText prints the value of a variable that is a text.
func (o *printer) textText(v aggregate.PvarSummary) {
	if v.Text == nil {
		o.printf("%s: a text, which is not the same on all ranks\n", o.nameText(v))
		return
	}
	o.printf("%s: \"%s\"\n", o.nameText(v), o.clean(*v.Text))
}
