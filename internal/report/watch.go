package report

import (
	"io"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Watched is what a job was doing at one moment.
type Watched struct {
	Status  *aggregate.JobStatus
	Totals  aggregate.Totals // since the start, over all ranks
	Rates   *JobRates        // since the moment before; nil if there was none
	Hanging string           // ranks that have been in one call for long; empty for none
	Away    profile.RankSet  // ranks that cannot be checked from this node
	AwayS   float64          // age of what is known of them, in seconds: the oldest
	Heatmap *aggregate.BinnedMatrix
}

// JobRates are amounts per second, over all ranks.
type JobRates struct{ Calls, Messages, Bytes float64 }

// Watch prints what a job is doing: deadlocks, ranks that hang, rates, the calls of the ranks
// as Status does, and the matrix so far. What matters most comes first, because a terminal may
// have no room for all.
func Watch(w io.Writer, job *Watched, options Options) error {
	o := newOutput(w, options, 0)
	o.statusHead(job.Status)
	o.deadlocksText(job.Status.Deadlocks)
	if job.Hanging != "" {
		o.printf("hanging, in one call for more than 5 s: %s\n", job.Hanging)
	}
	if job.Away.Len() > 0 {
		o.printf("not visible from this node, last update up to %s ago: %s\n", o.seconds(job.AwayS), job.Away)
	}
	t := &job.Totals
	o.printf("so far: %s, %s, %s", text.CountOf(t.Calls, "call"), text.CountOf(t.Messages, "message"), text.Bytes(t.Bytes))
	if r := job.Rates; r != nil {
		o.printf("; per second: %s, %s, %s", text.CountOf(uint64(r.Calls), "call"), text.CountOf(uint64(r.Messages), "message"), text.Bytes(uint64(r.Bytes)))
	}
	o.println()
	o.statusGroups(job.Status)
	if job.Heatmap != nil && filled(job.Heatmap) {
		o.println("\nbytes between ranks so far (row: from, column: to)")
		for _, line := range o.heatmapLines(job.Heatmap) {
			o.println(line)
		}
	}
	return o.Flush()
}
