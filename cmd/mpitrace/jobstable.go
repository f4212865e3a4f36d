package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
)

// jobsTable lists the jobs of a run that has several: before their summaries, which
// are in the same order.
func jobsTable(w io.Writer, jobs []*aggregate.Summary) {
	if len(jobs) < 2 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "job\tprogram\tranks\tMPI\tstarted\ttime\tin MPI\trecord")
	for i, s := range jobs {
		ranks := fmt.Sprint(s.RanksRecorded)
		if s.RanksExpected != s.RanksRecorded {
			ranks = fmt.Sprintf("%d of %d", s.RanksRecorded, s.RanksExpected)
		}
		record := "complete"
		if len(s.Problems) > 0 {
			record = "incomplete"
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%.1f %%\t%s\n", i+1, text.Line(s.Program), ranks,
			text.Line(aggregate.LibraryName(s.Library)), s.Started.Format(time.TimeOnly),
			aggregate.DurationText(int64(1e9*s.WallTimeS), textOptionsFor(w)), 100*s.MPIShare.Mean, record)
	}
	table.Flush()
	fmt.Fprintln(w)
}
