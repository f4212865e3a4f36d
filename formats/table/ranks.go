package table

import (
	"io"
	"iter"
	"math"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// WriteRanks writes one row for each process, in the order of the source.
func WriteRanks(w io.Writer, src profile.Source) error { return writeTables(src, newRankTable(w)) }

func newRankTable(w io.Writer) output {
	return &rowTable[*profile.Profile]{arrowTable: newArrowTable(w, tableRanks, RankColumns),
		rows: func(p *profile.Profile) iter.Seq[*profile.Profile] {
			return func(yield func(*profile.Profile) bool) { yield(p) }
		}}
}

// lastKnown returns the last known moment of a process, in Unix ns.
func lastKnown(p *profile.Profile) int64 { return max(p.End, p.FinalizeStart, p.InitEnd) }

// wallNs returns the time from entering MPI_Init to the last known moment.
func wallNs(p *profile.Profile) (uint64, bool) { return span(p.Start, lastKnown(p)) }

// appNs returns the application time: from the end of MPI_Init to the start of
// MPI_Finalize, or to the last known moment if MPI_Finalize was not called.
func appNs(p *profile.Profile) (uint64, bool) {
	if p.FinalizeStart == 0 {
		return span(p.InitEnd, lastKnown(p))
	}
	return span(p.InitEnd, p.FinalizeStart)
}

// span returns the time between two moments, if both are known.
func span(from, to int64) (uint64, bool) {
	if from == 0 || to < from {
		return 0, false
	}
	return uint64(to - from), true
}

// mpiNs returns the time in MPI calls, without MPI_Init and MPI_Finalize.
func mpiNs(p *profile.Profile) (sum uint64, ok bool) {
	for i := range p.Rows {
		if !profile.SetsUp(p.Rows[i].Call) {
			sum += p.Rows[i].TimeNs
		}
	}
	return sum, p.Timing != profile.TimingOff
}

// mpiErrorNs returns the standard error of mpiNs.
func mpiErrorNs(p *profile.Profile) (uint64, bool) {
	var variance float64
	for i := range p.Rows {
		if !profile.SetsUp(p.Rows[i].Call) {
			wrong := float64(p.Rows[i].TimeErrorNs)
			variance += wrong * wrong
		}
	}
	return uint64(math.Sqrt(variance) + 0.5), p.Timing != profile.TimingOff
}

func totalCalls(p *profile.Profile) (sum uint64) {
	for i := range p.Rows {
		sum += p.Rows[i].Calls
	}
	return sum
}

// commandLine joins arguments, and quotes those that a shell would change.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$*?;&|<>()`") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// RankColumns are the columns of ranks.arrow, in order.
var RankColumns = append(processColumns(), placementColumns()...)

func processColumns() []Column[*profile.Profile] {
	type row = *profile.Profile
	lost := func(name, unit, doc string, get func(profile.Losses) uint64) Column[row] {
		return Numbers(name, unit, doc, func(p row) uint64 { return get(p.Losses) })
	}
	abnormal := func(unit, doc string, k profile.AbnormalKind) Column[row] {
		return Numbers(k.String(), unit, doc, func(p row) uint64 { return p.CountAbnormal(k) })
	}
	return []Column[row]{
		Words("run", "the MPI job, as its launcher names it", func(p row) string { return p.Run }),
		Numbers("rank", "world rank", "rank in MPI_COMM_WORLD; -1 where the process ended before that was known", func(p row) int32 { return int32(p.Rank) }),
		Words("host", "node name", func(p row) string { return p.Host }),
		Numbers("pid", "process id", "on its node", func(p row) int32 { return int32(p.Pid) }),
		Words("program", "path of the executable", func(p row) string { return p.Program }),
		Words("command", "command line, quoted for a shell", func(p row) string { return commandLine(p.Command) }),
		Words("library", "the MPI library, as it names itself", func(p row) string { return p.Library }),
		Words("state", "how the recording ended: finalized, or running where MPI_Finalize was never reached", func(p row) string { return p.State.String() }),
		Times("start", "entering MPI_Init", func(p row) int64 { return p.Start }),
		Times("init_end", "leaving MPI_Init; null if never", func(p row) int64 { return p.InitEnd }),
		Times("finalize_start", "entering MPI_Finalize; null if never", func(p row) int64 { return p.FinalizeStart }),
		Times("end", "the last moment known", func(p row) int64 { return p.End }),
		Times("ended", "when the process was seen to end; null where nobody saw it", func(p row) int64 { return p.Exit.At }),
		OptionalNumbers("exit_status", "status", "exit status; null where it is not known, or a signal ended the process", exitStatus),
		OptionalNumbers("exit_signal", "signal number", "the signal that ended the process; null if none did, or it is not known", exitSignal),
		OptionalWords("open_call", "the call of MPI that the process was in at the end, without MPI_, of several threads that of the lowest; null if it was in none", openText((*lastCall).call)),
		OptionalWords("open_comm", "that call's communicator", openText((*lastCall).comm)),
		OptionalNumbers("open_peer", "world rank", "that call's peer, or the root; null where it has none, or takes any source", openPeer),
		OptionalWords("open_callsite", "from where it was called", openText((*lastCall).callsite)),
		Times("open_since", "when it was called; null where calls were not timed", openSince),
		OptionalNumbers("wall_ns", "ns", "from start to end", wallNs),
		OptionalNumbers("app_ns", "ns", "from init_end to finalize_start, or to end where MPI_Finalize was never reached", appNs),
		OptionalNumbers("mpi_ns", "ns", "time in MPI calls over all threads, without Init, Init_thread and Finalize; null where calls were not timed", mpiNs),
		OptionalNumbers("mpi_error_ns", "ns", "standard error of mpi_ns where it is an estimate, else 0; null where calls were not timed", mpiErrorNs),
		Words("timing", "which calls were timed: exact (each), sampled (some, times are estimates), off (none)", func(p row) string { return p.Timing.String() }),
		Words("receives", "on, or off where nonblocking receives were not followed: what they received is not known", func(p row) string { return profile.ReceivesText(p.Unfollowed) }),
		Numbers("threads", "threads", "threads that called MPI at the same time", func(p row) int32 { return int32(p.Threads) }),
		Numbers("calls", "calls", "MPI calls that were counted", totalCalls),
		lost("lost_calls", "calls", "calls seen but not recorded", func(l profile.Losses) uint64 { return l.Calls }),
		lost("folded_calls", "calls", "calls counted without their peer or communicator, for want of room", func(l profile.Losses) uint64 { return l.Folded }),
		lost("lost_requests", "requests", "requests that could not be followed to their completion, for want of memory", func(l profile.Losses) uint64 { return l.Requests }),
		lost("lost_comms", "communicators", "communicators that could not be described", func(l profile.Losses) uint64 { return l.Comms }),
		lost("negative_ticks", "calls", "calls whose clock ran backwards, counted with no time", func(l profile.Losses) uint64 { return l.NegativeTicks }),
		lost("untimed", "calls", "calls from Fortran that are counted without their time", func(l profile.Losses) uint64 { return l.Untimed }),
		lost("lost_stacks", "calls", "calls that have their call site, but not the callers that were asked for", func(l profile.Losses) uint64 { return l.Stacks }),
		lost("lost_readings", "readings", "readings of performance variables that had no room, or that the MPI refused", func(l profile.Losses) uint64 { return l.Readings }),
		lost("damaged", "parts", "parts of the recording that could not be read", func(l profile.Losses) uint64 { return l.Damaged }),
		Numbers("pauses", "times", "how often MPI_Pcontrol stopped the recording", func(p row) uint64 { return p.Pauses }),
		abnormal("receives", "receives that were cancelled", profile.CancelledReceive),
		abnormal("receives", "receives whose message did not fit", profile.TruncatedReceive),
		abnormal("receives", "receives that were freed while active", profile.FreedReceive),
		abnormal("receives", "receives that completed with another error", profile.FailedReceive),
		abnormal("receives", "receives that never completed", profile.UnfinishedReceive),
		abnormal("receives", "receives that completed, and whose status the MPI does not give", profile.UntoldReceive),
		abnormal("sends", "sends that were counted, and cancelled", profile.CancelledSend),
		abnormal("sends", "sends that were counted, to be cancelled, and freed before their end", profile.FreedSend),
		abnormal("sends", "sends of a Sendrecv whose receive was truncated: not counted", profile.FailedSend),
		OptionalWords("physical", "whether it is known what the MPI library sent: known, or why it is not; null where nobody asked for it (--physical)", physicalText),
		Words("source", "the file that this was read from", func(p row) string { return p.Source }),
	}
}
