package report

import "github.com/mpitrace/mpitrace/internal/trace"

// partner returns the role of the rank that was waited for.
func partner(p trace.Pattern) string {
	switch p {
	case trace.LateSender:
		return "sender"
	case trace.LateReceiver:
		return "receiver"
	case trace.LateBroadcast:
		return "root"
	case trace.WaitAtBarrier, trace.WaitAtNxN, trace.EarlyReduce, trace.EarlyScan, trace.WaitAtCommCreate, trace.WaitAtWinCreate, trace.WaitAtWinFree, trace.WaitAtFence:
		return "last to come"
	case trace.LateNeighbor:
		return "last neighbour to come"
	case trace.LatePost, trace.WaitForProgress:
		return "target"
	case trace.LateComplete:
		return "origin"
	case trace.LockContention:
		return "holder"
	}
	return "partner"
}

// waitsFor returns what a rank waits for.
func waitsFor(p trace.Pattern) string {
	switch p {
	case trace.LateSender:
		return "a message to be sent"
	case trace.LateReceiver:
		return "a receive to be posted"
	case trace.WaitAtNxN:
		return "all ranks, as in Allreduce"
	case trace.EarlyReduce:
		return "the last rank to send"
	case trace.LateBroadcast:
		return "the root"
	case trace.EarlyScan:
		return "the ranks below it"
	case trace.LateNeighbor:
		return "the last neighbour to come"
	case trace.LatePost:
		return "a target's Win_post"
	case trace.LateComplete:
		return "an origin's Win_complete"
	case trace.LockContention:
		return "another rank's Win_unlock"
	case trace.WaitForProgress:
		return "a target to call MPI"
	case trace.Undecided:
		return "not proven"
	}
	return "the last rank to come"
}
