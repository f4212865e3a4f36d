package views

import (
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/text"
)

// scalingOf returns the section of how a program scales: what more ranks gain and cost, and POP's
// efficiencies. The page draws both over the number of ranks.
func scalingOf(id, title string, s *history.Scaling) Section {
	out := Section{ID: id, Title: title, Headed: true, Sub: true}
	out.Say(workWords(s))
	out.timeChart(s)
	out.Add(speedUps(s))
	pop := efficiencies(s)
	out.efficiencyChart(pop)
	ideal := Row{Cells: []Cell{wordsCell("ideal")}}
	for range pop.Columns[1:] {
		ideal.Cells = append(ideal.Cells, shareCell(1))
	}
	pop.Rows = append(pop.Rows, ideal)
	out.Add(pop)
	return out
}

func ranksOfPoint(q *history.Point) Cell { return rankCell(q.Ranks) }

// speedUps returns the table of what more ranks gain and cost.
func speedUps(s *history.Scaling) *Table {
	type R = history.Point
	known := func(q *R, c Cell) Cell {
		if q.SpeedUp == 0 {
			return missing
		}
		return c
	}
	return tableOf("speedups", s.Points,
		col("ranks", "ranks", Count, ranksOfPoint),
		col("runs", "runs", Count, func(q *R) Cell { return rankCell(q.Runs) }),
		col("wall_time", "wall time", Ns, func(q *R) Cell { return lifeCell(q.WallTimeS) }),
		col("speed_up", "speed-up", Number, func(q *R) Cell { return known(q, Cell{text.ThreeDigits(q.SpeedUp), q.SpeedUp}) }).
			help("how many times faster than on the fewest ranks"),
		col("efficiency", "efficiency", Share, func(q *R) Cell { return known(q, shareCell(q.Efficiency)) }).
			help("speed-up, divided by how many times as many ranks there are"),
		col("core_seconds", "core-seconds", Number, func(q *R) Cell { return known(q, Cell{text.ThreeDigits(q.CoreSeconds), q.CoreSeconds}) }).
			help("the cost: ranks × wall time"),
		col("shared_cores", "runs with shared cores", Count, func(q *R) Cell { return rankCell(q.SharedCores) }).
			help("in these, ranks had to share cores: times are uncertain").when(s.SharedCores()))
}

// efficiencies returns the table of POP's efficiencies.
func efficiencies(s *history.Scaling) *Table {
	type R = history.Point
	share := func(key, head string, of func(*R) float64) column[R] {
		return col(key, head, Share, func(r *R) Cell { return shareCell(of(r)) })
	}
	return tableOf("scaling", s.Points,
		col("ranks", "ranks", Count, ranksOfPoint),
		share("parallel_efficiency", "parallel efficiency", func(r *R) float64 { return r.ParallelEfficiency }),
		share("load_balance", "load balance", func(r *R) float64 { return r.LoadBalance }),
		share("communication_efficiency", "communication", func(r *R) float64 { return r.CommunicationEfficiency }),
		share("computation_scaling", "computation scaling", func(r *R) float64 { return r.ComputationScaling }),
		share("global_efficiency", "global efficiency", func(r *R) float64 { return r.GlobalEfficiency }))
}

// drawScaling adds a chart of the columns of a table over its first one. The last line is the ideal.
func (s *Section) drawScaling(title string, t *Table, ticks []Cell, logarithmic bool) {
	s.Blocks = append(s.Blocks, Block{Drawing: &Drawing{Name: "scaling", Title: title, Table: t, Ticks: ticks, Logarithmic: logarithmic}, Detail: true})
}

// timeChart draws the wall time over the number of ranks, with the ideal. Both axes are
// logarithmic, so that the ideal is a straight line.
func (s *Section) timeChart(of *history.Scaling) {
	type R = history.Point
	least, most := math.Inf(1), 0.0
	for i := range of.Points {
		q := &of.Points[i]
		if q.SpeedUp == 0 {
			return
		}
		least, most = min(least, q.WallTimeS, q.IdealS), max(most, q.WallTimeS, q.IdealS)
	}
	t := tableOf("times", of.Points,
		col("ranks", "ranks", Count, ranksOfPoint),
		col("wall_time", "wall time", Ns, func(q *R) Cell { return secondsCell(q.WallTimeS) }),
		col("ideal", "ideal", Ns, func(q *R) Cell { return secondsCell(q.IdealS) }))
	s.drawScaling("Wall time by number of ranks. The table below has the values.", t, logTicks(1e9*least, 1e9*most), true)
}

// logTicks returns the ticks of a logarithmic axis that includes least and most: 1, 2, 5, 10, 20, … If
// the axis covers more than two powers of ten, only powers of ten are ticks.
func logTicks(least, most float64) (ticks []Cell) {
	digits := []float64{1, 2, 5}
	if most > 100*least {
		digits = digits[:1]
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for ; ; power *= 10 {
		for _, d := range digits {
			v := d * power
			if v <= least {
				ticks = nil // the last one below is the first tick
			}
			ticks = append(ticks, nsCell(v))
			if v >= most && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

// efficiencyChart draws POP's efficiencies over the number of ranks.
func (s *Section) efficiencyChart(t *Table) {
	drawn, most := *t, 1.0
	drawn.Columns = append(drawn.Columns[:len(drawn.Columns):len(drawn.Columns)], Column{Key: "ideal", Head: "ideal", Unit: Share})
	drawn.Rows = nil
	for _, row := range t.Rows {
		cells := append(row.Cells[:len(row.Cells):len(row.Cells)], shareCell(1))
		for _, c := range cells[1:] {
			most = max(most, c.Value.(float64))
		}
		drawn.Rows = append(drawn.Rows, Row{Cells: cells})
	}
	step := 0.25
	if most > 2 {
		step = math.Ceil(most / 5)
	}
	var ticks []Cell
	for v := 0.0; v < most+step; v += step {
		ticks = append(ticks, Cell{fmt.Sprintf("%.0f %%", 100*v), v})
	}
	s.drawScaling("Efficiencies by number of ranks. The table below has the values.", &drawn, ticks, false)
}

// workWords says how the work is divided among the ranks, if the times outside MPI tell.
func workWords(s *history.Scaling) string {
	switch s.Work {
	case history.Strong:
		return "The ranks divide the work (strong scaling)."
	case history.Constant:
		return "Each rank computes as long on any number of ranks: the work grows with them (weak scaling), or is not divided."
	}
	return ""
}
