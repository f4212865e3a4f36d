package aggregate

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// textPvars is how many performance variables the text lists at most.
const textPvars = 24

// pvarsText writes the table of performance variables. If there are many, those
// that were 0 all the time make room for the others.
func (s *Summary) pvarsText(w io.Writer, o TextOptions) {
	if len(s.Pvars) == 0 {
		return
	}
	list, zeros := s.Pvars, 0
	if len(list) > textPvars {
		list = slices.DeleteFunc(slices.Clone(list), func(v Pvar) bool { return v.zero() })
		zeros = len(s.Pvars) - len(list)
	}
	more := max(len(list)-textPvars, 0)
	list = list[:len(list)-more]
	ofRank := len(s.Ranks) < 2
	t := table{{"", "class", "sum", "mean", "min (rank)", "max (rank)"}}
	texts := slices.DeleteFunc(slices.Clone(list), func(v Pvar) bool { return !v.isText() })
	list = slices.DeleteFunc(slices.Clone(list), func(v Pvar) bool { return v.isText() })
	for i := range list {
		t = append(t, list[i].line(o, ofRank))
	}
	if ofRank {
		t[0][4], t[0][5] = "min", "max"
		t = t.without("sum")
	}
	t, left := o.fit(t, widest(list, func(v *Pvar) string { return v.nameText(o) }), "class", "mean", "min", "min (rank)", "max", "max (rank)")
	for i := range list {
		t[i+1][0] = o.shorten(list[i].nameText(o), left)
	}
	t[0][0] = "MPI's own counters"
	fmt.Fprintln(w)
	t.write(w)
	for i := range texts {
		texts[i].textText(w, o)
	}
	if zeros > 0 {
		fmt.Fprintf(w, "and %s, always 0\n", CountOf(uint64(zeros), "more variable"))
	}
	if more > 0 {
		fmt.Fprintf(w, "and %s (mpitrace report --json)\n", CountOf(uint64(more), "more variable"))
	}
}

// isText tells that it has no numbers.
func (v *Pvar) isText() bool { return v.Ranks > 0 && v.Min == nil }

// zero tells that there was no other value.
func (v *Pvar) zero() bool { return v.Min != nil && *v.Min == 0 && *v.Max == 0 }

// line is all but the name, which gets what room there is. The ranks are not told
// where there is but one.
func (v *Pvar) line(o TextOptions, ofRank bool) []string {
	number := func(n *float64) string {
		if n == nil {
			return o.none()
		}
		return v.number(*n)
	}
	at := func(n *float64, rank int) string {
		if n == nil || ofRank {
			return number(n)
		}
		return fmt.Sprintf("%s (%d)", number(n), rank)
	}
	return []string{"", v.Class, number(v.Sum), number(v.Mean), at(v.Min, v.MinRank), at(v.Max, v.MaxRank)}
}

// nameText is "pml_ob1_unexpected_msgq_length of MPI_COMM_WORLD"; an array's
// elements stand in brackets.
func (v *Pvar) nameText(o TextOptions) string {
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

// number prints integers in full, and others to three digits.
func (v *Pvar) number(n float64) string {
	if v.Class == profile.PvarPercentage.String() {
		return percent(n)
	}
	return numberText(n)
}

func numberText(n float64) string {
	sign, size := "", math.Abs(n)
	if n < 0 {
		sign = "-"
	}
	switch {
	case size >= 1e15 || size > 0 && size < 0.01:
		return fmt.Sprintf("%.3g", n)
	case size == math.Trunc(size):
		return sign + count(uint64(size))
	case size < 999.5:
		return sign + threeDigits(size)
	}
	return sign + count(uint64(size+0.5))
}

// textText is the line of a text.
func (v *Pvar) textText(w io.Writer, o TextOptions) {
	if v.Text == nil {
		fmt.Fprintf(w, "%s: a text, which is not the same on all ranks\n", v.nameText(o))
		return
	}
	fmt.Fprintf(w, "%s: \"%s\"\n", v.nameText(o), o.clean(*v.Text))
}
