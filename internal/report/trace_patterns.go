package report

import (
	"cmp"

	"github.com/mpitrace/mpitrace/internal/trace"
)

// patternWords holds, for each pattern, what a rank waits for and the role of the
// rank that it waits for. Other patterns have the words of waitsFor and partner.
var patternWords = map[trace.Pattern]struct{ waitsFor, partner string }{
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
func partner(p trace.Pattern) string { return cmp.Or(patternWords[p].partner, "partner") }

// waitsFor returns what a rank waits for.
func waitsFor(p trace.Pattern) string {
	return cmp.Or(patternWords[p].waitsFor, "the last rank to come")
}
