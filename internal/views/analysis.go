package views

import (
	"cmp"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// topTrace tells the user of a terminal how to see all entries of a list of the analysis.
const topTrace = " (mpitrace analyze --top all)"

// mostLongestWaits is the largest number of rows of the longest waits.
const mostLongestWaits = 1000

// analysis makes the sections of the analysis of a trace.
type analysis struct {
	*trace.Result
	top      int              // entries of each list that are shown at first; all if negative
	programs text.ProgramList // of the job, if it has several
}

// The columns of sums of waits and of calls.

func numberColumn[R any](count func(*R) uint64) column[R] {
	return col("count", "number", Count, func(r *R) Cell { return countCell(count(r)) })
}

func secondsColumn[R any](key, head string, time func(*R) float64) column[R] {
	return col(key, head, Ns, func(r *R) Cell { return secondsCell(time(r)) })
}

// shareOfTime returns the column of shares of the time of all ranks.
func shareOfTime[R any](share func(*R) float64) column[R] {
	return col("share", "% of time", Share, func(r *R) Cell { return shareCell(share(r)) }).help("of ranks × runtime")
}

// waitWords holds, for each pattern, what a rank waits for and the role of the rank that it
// waits for. Other patterns have the words of waitsFor and partner.
var waitWords = map[trace.Pattern]struct{ waitsFor, partner string }{
	trace.LateSender:       {"a message to be sent", "sender"},
	trace.LateReceiver:     {"a receive to be posted", "receiver"},
	trace.LateBroadcast:    {"the root", "root"},
	trace.WaitAtBarrier:    {"", "last to come"},
	trace.WaitAtNxN:        {"all ranks, as in Allreduce", "last to come"},
	trace.EarlyReduce:      {"the last rank to send", "last to come"},
	trace.EarlyScan:        {"the ranks below it", "last to come"},
	trace.WaitAtCommCreate: {"", "last to come"},
	trace.WaitAtWinCreate:  {"", "last to come"},
	trace.WaitAtWinFree:    {"", "last to come"},
	trace.WaitAtFence:      {"", "last to come"},
	trace.LateNeighbor:     {"the last neighbour to come", "last neighbour to come"},
	trace.LatePost:         {"a target's Win_post", "target"},
	trace.LateComplete:     {"an origin's Win_complete", "origin"},
	trace.LockContention:   {"another rank's Win_unlock", "holder"},
	trace.WaitForProgress:  {"a target to call MPI", "target"},
	trace.Undecided:        {"not proven", ""},
}

// partner returns the role of the rank that was waited for.
func partner(p trace.Pattern) string { return cmp.Or(waitWords[p].partner, "partner") }

// waitsFor returns what a rank waits for.
func waitsFor(p trace.Pattern) string {
	return cmp.Or(waitWords[p].waitsFor, "the last rank to come")
}
