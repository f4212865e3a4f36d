package report

import (
	"io"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

// whole tells the user how to see the columns that do not fit.
const whole = "mpitrace report DIR | less -S"

// Summary prints the summary of a job.
func Summary(w io.Writer, job *aggregate.Summary, o Options) error {
	return terminal.Write(w, views.Of(job, o.views(job.Run)), terminal.Options{ASCII: o.ASCII, Width: o.Width, Whole: whole})
}

// Rank prints the summary of one rank.
func Rank(w io.Writer, rank *aggregate.RankSummary, o Options) error {
	return terminal.Write(w, views.OfRank(rank, o.views(rank.Run)), terminal.Options{ASCII: o.ASCII, Width: o.Width, Whole: whole})
}

// views returns the options of the view of a job.
func (o *Options) views(run string) views.Options {
	return views.Options{Top: o.Top, Sort: o.Sort, Missing: o.Missing, Traced: o.Traced[run], Patterns: o.Patterns[run], Unanalyzed: o.Unanalyzed}
}

// Trace prints the analysis of a trace.
func Trace(w io.Writer, found *trace.Result, o Options) error {
	return terminal.Write(w, views.Trace(found, views.Options{Top: o.Top}), terminal.Options{ASCII: o.ASCII, Width: o.Width, Whole: "mpitrace analyze DIR | less -S"})
}
