package report

import (
	"fmt"
	"io"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Jobs prints a table of the jobs of a run that has several. Their summaries follow it in
// the same order.
func Jobs(w io.Writer, jobs []*aggregate.Summary, o Options) {
	if len(jobs) < 2 {
		return
	}
	t := text.NewTextTable("job", "program", "ranks", "MPI", "started", "time", "in MPI", "record")
	for i, s := range jobs {
		ranks := fmt.Sprint(s.RanksRecorded)
		if s.RanksExpected != s.RanksRecorded {
			ranks = fmt.Sprintf("%d of %d", s.RanksRecorded, s.RanksExpected)
		}
		record := "complete"
		if len(s.Problems) > 0 {
			record = "incomplete"
		}
		t.Add(fmt.Sprint(i+1), text.Line(s.Program), ranks, text.Line(profile.LibraryName(s.Library)), s.Started.Format(time.TimeOnly),
			text.Duration(1e9*s.WallTimeS, o.ASCII), text.Percent(s.MPIShare.Mean), record)
	}
	t.Write(w)
	fmt.Fprintln(w)
}
