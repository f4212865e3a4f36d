package views

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
)

// changed is a measure in A and in B: a row of a table of changes.
type changed struct {
	name    string // of what has the measure; a call site's label
	call    string // of a call site
	lineA   int    // of a call site that is on another line in A; otherwise 0
	callers []string
	kind    string // what the name names, if a table has several kinds
	measure string
	unit    CellUnit

	a, b, change, relative Cell

	limited bool    // whether the change has a limit:
	allowed float64 // in percent
	detail  bool    // whether the terminal leaves the row out
	same    bool    // whether the row is of the same entry as the one before
}

// changeTable returns a table of changes. noun names an entry.
func changeTable(id, noun string, rows []changed) *Table {
	any := func(is func(*changed) bool) bool {
		return slices.ContainsFunc(rows, func(r changed) bool { return is(&r) })
	}
	t := tableOf(id, rows,
		col("name", noun, Words, func(r *changed) Cell { return wordsCell(r.name) }),
		col("call", "call", Words, func(r *changed) Cell { return wordsCell(r.call) }).when(any(func(r *changed) bool { return r.call != "" })),
		col("line_a", "line in A", Count, func(r *changed) Cell {
			if r.lineA == 0 {
				return Cell{}
			}
			return rankCell(r.lineA)
		}).help("if it is another one than in B").spare(1).when(any(func(r *changed) bool { return r.lineA > 0 })),
		col("kind", "of", Words, func(r *changed) Cell { return wordsCell(r.kind) }).when(any(func(r *changed) bool { return r.kind != "" })),
		col("measure", "measure", Words, func(r *changed) Cell { return wordsCell(r.measure) }).when(any(func(r *changed) bool { return r.measure != "" })),
		col("a", "A", OfColumn, func(r *changed) Cell { return r.a }),
		col("b", "B", OfColumn, func(r *changed) Cell { return r.b }),
		col("change", "change", OfColumn, func(r *changed) Cell { return r.change }),
		col("relative", "relative", Share, func(r *changed) Cell { return r.relative }).help("change as a share of A"),
		col("allowed", "allowed", Number, func(r *changed) Cell { return Cell{fmt.Sprintf("+%g %%", r.allowed), r.allowed} }).when(any(func(r *changed) bool { return r.limited })))
	t.Least = leastSite
	for i := range rows {
		r, row := &rows[i], &t.Rows[i]
		row.Unit, row.Detail, row.Callers = r.unit, r.detail, slices.Clone(r.callers)
		if r.same {
			row.Same = slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == "measure" || c.Key == "a" })
		}
	}
	return t
}

// leastSite is the smallest width, in characters, to which a call site is shortened.
const leastSite = 16

// measureCell returns a number of a unit, with all its digits.
func measureCell(unit CellUnit, n uint64) Cell {
	switch unit {
	case Bytes:
		return bytesCell(n)
	case Count:
		return countCell(n)
	}
	return Cell{valueCell(unit, float64(n)).Text, n}
}

// valueCell returns a value of a unit that may be an average.
func valueCell(unit CellUnit, v float64) Cell {
	switch unit {
	case Bytes:
		return Cell{text.Bytes(uint64(v + 0.5)), v}
	case Ns:
		return nsCell(v)
	case Count:
		return Cell{text.Count(uint64(v + 0.5)), v}
	}
	return numberCell(v)
}

// changeOf sets the change from A to B, which differ by size. words is the text of size.
func (r *changed) changeOf(a, b, size float64, words string) {
	if b < a {
		r.change = Cell{"-" + words, -size}
	} else {
		r.change = Cell{"+" + words, size}
	}
	r.relative = relativeCell(a, b)
}

// changeOfValue is changeOf for numbers that may be averages.
func (r *changed) changeOfValue(a, b float64) {
	size := math.Abs(b - a)
	r.changeOf(a, b, size, valueCell(r.unit, size).Text)
}

// changedMeasure returns a row for a number in A and B.
func changedMeasure(name, measure string, unit CellUnit, m aggregate.Measure) changed {
	r := changed{name: name, measure: measure, unit: unit, a: measureCell(unit, m.A), b: measureCell(unit, m.B), change: missing}
	if size := m.Size(); size > 0 { // of the two numbers, not of their floating-point values
		r.changeOf(float64(m.A), float64(m.B), float64(size), measureCell(unit, size).Text)
	}
	return r
}

// relativeCell returns the change from a to b, relative to a. It never rounds a change to 0 %
// or to -100 %.
func relativeCell(a, b float64) Cell {
	if a == 0 {
		return Cell{Text: "from 0"}
	}
	share := (b - a) / math.Abs(a)
	words := fmt.Sprintf("%+.1f %%", 100*share)
	switch {
	case share > -1 && share < -0.9995:
		words = "< -99.9 %"
	case share > 0 && share < 0.0005:
		words = "< +0.1 %"
	case share < 0 && share > -0.0005:
		words = "> -0.1 %"
	case share >= 10:
		words = "× " + text.ThreeDigits(share+1)
	}
	return Cell{words, share}
}

// withinError says that a change of estimates may be chance.
var withinError = Cell{Text: "within its error"}

// settingChanges adds the settings that differ.
func settingChanges(out *Section, d *aggregate.Diff, top int) {
	for _, list := range []struct {
		noun, none string // none: the value of what was not set
		changes    []aggregate.SettingChange
	}{{"setting", "default", d.Settings}, {"MPI variable", "not set", d.Variables}} {
		value := func(v *string) string {
			if v == nil {
				return list.none
			}
			return aggregate.ShortValue(*v)
		}
		l := Listing{Limit: top}
		for _, c := range list.changes {
			l.Items = append(l.Items, ListItem{Text: fmt.Sprintf("%s %s: %s in A, %s in B", list.noun, c.Name, value(c.A), value(c.B))})
		}
		if more := len(l.Items) - top; top >= 0 && more > 0 {
			l.More = text.CountOf(more, "more "+list.noun)
		}
		out.List(l)
	}
}

// exceeded adds what grew by more than the limits. list is nil if there are none.
func (s *Section) exceeded(list []aggregate.Excess) {
	if list != nil && len(list) == 0 {
		s.Toned(Good, "nothing grew by more than --fail-if-worse allows")
	}
	units := map[aggregate.MeasureName]CellUnit{aggregate.InTime: Ns, aggregate.InBytes: Bytes, aggregate.InMessages: Count}
	var rows []changed
	for _, e := range list {
		r := changedMeasure(cmp.Or(e.Of, "total"), string(e.Name), units[e.Name], e.Values)
		r.limited, r.allowed = true, e.Limit
		rows = append(rows, r)
	}
	s.Add(changeTable("limits", "call", rows).named("grew by more than --fail-if-worse allows"))
}

// efficiencyCell returns the parallel efficiency, which may not be known.
func efficiencyCell(p *aggregate.POP) Cell {
	if p == nil {
		return missing
	}
	return Cell{Efficiency(p), p.ParallelEfficiency}
}
