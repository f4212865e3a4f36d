package table

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// itself returns the row of a process in ranks.arrow.
func itself(p *profile.Profile) iter.Seq[*profile.Profile] {
	return slices.Values([]*profile.Profile{p})
}

// lastKnown returns the last known moment of a process, in Unix ns.
func lastKnown(p *profile.Profile) int64 { return max(p.End, p.FinalizeStart, p.InitEnd) }

// wallNs returns the time from entering MPI_Init to the last known moment.
func wallNs(p *profile.Profile) (uint64, bool) { return span(p.Start, lastKnown(p)) }

// appNs returns the application time: from the end of MPI_Init to the start of
// MPI_Finalize, or to the last known moment if MPI_Finalize was not called.
func appNs(p *profile.Profile) (uint64, bool) {
	ns, known := p.Times().Application()
	return uint64(ns), known
}

// threadNs returns the time of the threads. The time in calls is a share of it.
func threadNs(p *profile.Profile) (uint64, bool) {
	_, known := p.Times().Application()
	return uint64(p.Times().OfThreads()), known
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

func lines(texts []string) (text string, ok bool) { return strings.Join(texts, "\n"), len(texts) > 0 }

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
		Run(func(p row) string { return p.Run }),
		Numbers("rank", "world rank", "rank in MPI_COMM_WORLD; -1 if the process ended before its rank was known", func(p row) int32 { return int32(p.Rank) }).absent(Required),
		Words("host", "node name", func(p row) string { return p.Host }),
		Numbers("pid", "process id", "process id on the node", func(p row) int32 { return int32(p.Pid) }),
		Words("program", "path of the executable", func(p row) string { return p.Program }),
		Words("command", "command line, quoted for a shell", func(p row) string { return commandLine(p.Command) }),
		Words("library", "version string of the MPI library", func(p row) string { return p.Library }),
		Words("state", "finalized, or running if the process did not call MPI_Finalize", func(p row) string { return p.State.String() }).absent(`"finalized"`),
		Times("start", "start of MPI_Init", func(p row) int64 { return p.Start }),
		Times("init_end", "end of MPI_Init; null if the process did not get there", func(p row) int64 { return p.InitEnd }),
		Times("finalize_start", "start of MPI_Finalize; null if the process did not get there", func(p row) int64 { return p.FinalizeStart }),
		Times("end", "last time known of the process", func(p row) int64 { return p.End }),
		Times("ended", "end of the process; null if it was not observed", func(p row) int64 { return p.Exit.At }),
		OptionalNumbers("exit_status", "status", "exit status; null if not known or if a signal ended the process", exitStatus),
		OptionalNumbers("exit_signal", "signal number", "signal that ended the process; null if none did or if not known", exitSignal),
		OptionalWords("open_call", "MPI call that had not returned when the process ended, without MPI_; with several threads, that of the lowest; null if there was none", openText((*lastCall).call)),
		OptionalWords("open_comm", "communicator of open_call", openText((*lastCall).comm)),
		OptionalNumbers("open_peer", "world rank", "peer or root of open_call; null if it has none, and for MPI_ANY_SOURCE", openPeer),
		OptionalWords("open_callsite", "call site of open_call", openText((*lastCall).callsite)),
		Times("open_since", "start of open_call; null if calls were not timed", openSince),
		OptionalNumbers("wall_ns", "ns", "from start to end", wallNs),
		OptionalNumbers("app_ns", "ns", "from init_end to finalize_start, or to end if the process did not call MPI_Finalize", appNs),
		OptionalNumbers("thread_ns", "ns", "time of which mpi_ns is a share: app_ns, or with several threads the sum of their lifetimes if that is longer", threadNs),
		OptionalNumbers("mpi_ns", "ns", "time in MPI calls, summed over all threads, without Init, Init_thread and Finalize; null if calls were not timed", mpiNs),
		OptionalNumbers("mpi_error_ns", "ns", "standard error of mpi_ns if it is an estimate, otherwise 0; null if calls were not timed", mpiErrorNs),
		Words("timing", "which calls were timed: exact (all), sampled (some; times are estimates), off (none)", func(p row) string { return p.Timing.String() }).absent(`"exact", or "off" if no call has a time`),
		Words("receives", "on, or off if nonblocking receives were not followed: what they received is not known", func(p row) string { return profile.ReceivesText(p.Unfollowed) }),
		Numbers("threads", "threads", "largest number of threads that called MPI at the same time", func(p row) int32 { return int32(p.Threads) }),
		Numbers("calls", "calls", "number of MPI calls recorded", totalCalls),
		lost("lost_calls", "calls", "calls that were not recorded", func(l profile.Losses) uint64 { return l.Calls }),
		lost("folded_calls", "calls", "calls counted without their peer or communicator, because memory was short", func(l profile.Losses) uint64 { return l.Folded }),
		lost("lost_requests", "requests", "requests that were not followed to their completion, because memory was short", func(l profile.Losses) uint64 { return l.Requests }),
		lost("lost_comms", "communicators", "communicators without a description", func(l profile.Losses) uint64 { return l.Comms }),
		lost("negative_ticks", "calls", "calls during which the clock went backwards, counted with a time of 0", func(l profile.Losses) uint64 { return l.NegativeTicks }),
		lost("untimed", "calls", "calls from Fortran that were counted without their time", func(l profile.Losses) uint64 { return l.Untimed }),
		lost("lost_stacks", "calls", "calls recorded with their call site but without the stack that was requested", func(l profile.Losses) uint64 { return l.Stacks }),
		lost("lost_readings", "readings", "readings of performance variables for which there was no room, or that failed", func(l profile.Losses) uint64 { return l.Readings }),
		lost("damaged", "parts", "parts of the recording that could not be read", func(l profile.Losses) uint64 { return l.Damaged }),
		Numbers("pauses", "times", "number of times that MPI_Pcontrol stopped the recording", func(p row) uint64 { return p.Pauses }),
		abnormal("receives", "receives that were cancelled", profile.CancelledReceive),
		abnormal("receives", "receives whose message did not fit", profile.TruncatedReceive),
		abnormal("receives", "receives that were freed while active", profile.FreedReceive),
		abnormal("receives", "receives that completed with another error", profile.FailedReceive),
		abnormal("receives", "receives that never completed", profile.UnfinishedReceive),
		abnormal("receives", "receives that completed, but whose status the MPI library does not give", profile.UntoldReceive),
		abnormal("sends", "sends that were counted and then cancelled", profile.CancelledSend),
		abnormal("sends", "sends that were counted, then cancelled and freed before they completed", profile.FreedSend),
		abnormal("sends", "sends of a Sendrecv that failed; they are not counted", profile.FailedSend),
		abnormal("sends", "sends of a Sendrecv that failed; they are counted, since its receive met a message", profile.DoubtfulSend),
		abnormal("calls", "calls that never returned, so that they are in no count: left by an exception or longjmp, or by the end of their thread", profile.LeftCall),
		OptionalWords("physical", "known, or the reason why it is not known what the MPI library sent; null without --physical", physicalText),
		OptionalNumbers("world_size", "processes", "size of MPI_COMM_WORLD; null if not known", func(p row) (int32, bool) { return int32(p.Size), p.Size >= 0 }),
		OptionalTexts("problems", "what could not be read of the recording, with the position in it, in lines; null if all could be", func(p row) (string, bool) { return lines(p.Problems) }),
		OptionalTexts("lost", "damage that belongs to no process of the table, such as recordings that could not be read, in lines; it is in the first row of the run", func(p row) (string, bool) { return lines(p.Lost) }),
		Words(sourceColumn, "file that the profile was read from", func(p row) string { return p.Source }).absent("path of the table"),
	}
}
