package views

import (
	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// Options say what a report shows.
type Options struct {
	Top  int                 // entries of each list that are shown at first; all if negative
	Sort aggregate.SiteOrder // of call sites; ByTime if empty
	// Missing lists what the run lacks and cannot be attributed to one of its jobs. If it is
	// not empty, no job is reported as complete.
	Missing  []string
	Traced   *trace.Result           // analysis of the job's traces; nil if it was not traced
	Patterns *patterns.Decomposition // what the matrices are made of; nil if that was not looked for
	Placed   *placement.Answer       // what orders of the ranks cost; nil if that was not asked
	Info     *rundir.Info            // of the run; nil if that is not known
	Path     string                  // of the run, as the user named it; empty if that is not known
	Files    bool                    // whether Path names files with profiles, not the directory of a run
	Block    int                     // ranks of an entry of the page's columns of ranks; 1 if 0
	// Unanalyzed reports whether there are traces that Traced does not have.
	Unanalyzed bool
}

// report makes the sections of the summary of a job, or of one of its ranks.
type report struct {
	*aggregate.Summary
	Options
	rank *aggregate.RankSummary // nil for a job

	judgement *findings.Report // see judged
}
