package main

import (
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/causes"
)

// causeRows returns the rows of the table of causes.
func causeRows(list []causes.Cause) (rows []table.CauseRow) {
	for i := range list {
		c := &list[i]
		row := table.CauseRow{Number: i + 1, Class: c.Class.String(), FromProgram: c.From, ToProgram: c.To}
		if c.Burst != nil {
			row.Before, row.After = stopOf(&c.Burst.Before), stopOf(&c.Burst.After)
		}
		if c.Call != nil {
			row.Call = stopOf(c.Call)
		}
		if len(c.Ranks) == 0 {
			row.Rank, row.CostNs = -1, c.CostNs
			rows = append(rows, row)
		}
		for _, r := range c.Ranks {
			row.Rank, row.CostNs, row.Named = r.Rank, r.CostNs, c.Named.Contains(r.Rank)
			rows = append(rows, row)
		}
	}
	return rows
}

func stopOf(s *causes.Stop) *table.CauseStop {
	return &table.CauseStop{Call: s.Call, Callsite: s.Callsite}
}
