package trace

import (
	"slices"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
)

// Result is the result of analysing the traces of a job.
type Result struct {
	Run     string `json:"run"`
	Ranks   int    `json:"ranks"`   // number of ranks that have a trace
	Size    int    `json:"size"`    // number of ranks of the job
	Events  uint64 `json:"events"`  // number of events that were read
	Dropped uint64 `json:"dropped"` // number of events that the traces had no room for
	// Partial is the number of ranks with incomplete traces. Waits and the
	// critical path are then incomplete too.
	Partial int `json:"partial_ranks"`
	// LifetimesUnknown is the number of ranks with several threads whose lifetimes
	// are not known, see profile.Times.
	LifetimesUnknown int `json:"lifetimes_unknown_ranks,omitempty"`

	Matching Matching       `json:"matching"`
	Patterns []PatternTotal `json:"patterns"`
	// Calls are the MPI functions by the time spent in them, the longest first.
	Calls []CallTotal `json:"calls"`
	// Communicators are the waits by communicator, the longest first.
	Communicators []CommunicatorTotal `json:"communicators"`
	// WaitStates are all waits by rank, peer and call site, the longest first.
	WaitStates []WaitState `json:"wait_states"`
	// Causes say why ranks waited, the largest cost first. Their costs add up to the time waited,
	// and to what ranks that end early wait for the last.
	Causes []causes.Cause `json:"causes"`
	// CausesCover is the part of the threads' time of which the calls are in the trace, from 0 to 1.
	CausesCover float64 `json:"causes_cover"`
	// EagerLimits say which sends do not wait for their receivers, by path.
	EagerLimits []ObservedEagerLimit `json:"eager_limits"`
	// Oversubscribed are ranks that shared processors. Their waits and
	// efficiencies include waiting for a processor.
	Oversubscribed []profile.Oversubscription `json:"oversubscribed"`
	Runtime        float64                    `json:"runtime_s"`             // from the first end of Init to the last start of Finalize, or last known time
	POP            *POPFactors                `json:"pop"`                   // nil if traces are cut, because missing calls would look like computing, or if no rank finalized
	CriticalPath   *CriticalPath              `json:"critical_path"`         // nil if traces are cut
	Frames         *Frames                    `json:"frames,omitempty"`      // nil if none were requested
	Clocks         *profile.JobClocks         `json:"clocks,omitempty"`      // how the hosts' clocks were compared; nil if there is one clock
	ClockNotes     []string                   `json:"clock_notes,omitempty"` // Clocks.Lines
}

func (r *replay) result(path *CriticalPath) *Result {
	out := &Result{Run: r.processes[0].trace.Run, Ranks: len(r.processes), Events: r.steps, Matching: r.matching, Runtime: seconds(r.runtime()),
		EagerLimits: r.eagerLimits(), CriticalPath: path, Frames: r.frames.result(),
		Oversubscribed: r.oversubscriptions()}
	if !r.cut() {
		out.POP = r.pop()
	}
	for _, p := range r.processes {
		out.Size = max(out.Size, p.trace.Size)
		out.Dropped += p.trace.Dropped
		if p.trace.Times().LifetimesUnknown() {
			out.LifetimesUnknown++
		}
		if p.unfinished() {
			out.Partial++
		}
	}
	all := seconds(r.runtime() * int64(out.Ranks))
	out.Calls, out.WaitStates = r.callTotals(all), r.waitStates(all)
	out.Patterns, out.Communicators = r.patternTotals(r.waits, all), r.communicatorTotals(all)
	return out
}

// runtime returns the time from the first process's end of Init to the last one's
// start of Finalize or last known time, in ns.
func (r *replay) runtime() int64 {
	last := r.start
	for _, p := range r.processes {
		last = max(last, p.to())
	}
	return last - r.start
}

// oversubscriptions returns the ranks that shared processors, from the
// placement and the usage in the traces.
func (r *replay) oversubscriptions() []profile.Oversubscription {
	placed := make([]profile.PlacedProcess, len(r.processes))
	for i, p := range r.processes {
		placed[i] = profile.PlacedProcess{Rank: p.trace.Rank, Threads: p.trace.Threads, Host: p.trace.Host, Placement: p.trace.Placement}
		if p.trace.Usage != nil {
			placed[i].Usage = *p.trace.Usage
		}
		if use := p.trace.ThreadUse; use != nil && use.Busy > 0 {
			placed[i].Threads = use.Busy
		}
		placed[i].NoCore = profile.NoCoreOf(p.trace.State, p.trace.Times(), p.trace.ThreadUse, placed[i].Usage)
	}
	return profile.Oversubscriptions(placed)
}

// cut reports whether some calls are in no trace.
func (r *replay) cut() bool {
	return slices.ContainsFunc(r.processes, func(p *replayedRank) bool { return p.partial })
}

// Reason is why a message or a collective could not be matched.
type Reason string

const (
	NotTraced     Reason = "partner not traced"        // the other rank has no trace
	Cut           Reason = "partner's trace is cut"    // its trace was limited, or ends before the process did
	Gaps          Reason = "the trace has gaps"        // earlier events are missing from it
	OtherWorld    Reason = "partner unknown"           // in another MPI_COMM_WORLD, or not recorded
	NeverReceived Reason = "never received"            // although the receiver's trace is complete
	NoSend        Reason = "no such send"              // although the sender's trace is complete
	Abnormal      Reason = "cancelled or truncated"    // or freed, or the MPI does not report what was received
	NeverCalled   Reason = "not called by all members" // although their traces are complete
	Mismatch      Reason = "members call different collectives"
)

// Matching counts what was matched. With complete traces this is everything.
type Matching struct {
	Sent     uint64 `json:"sent"`     // messages in the traces of the senders
	Received uint64 `json:"received"` // messages in the traces of the receivers
	Matched  uint64 `json:"matched"`
	// SizesDiffer counts matched messages of which sender and receiver report
	// different sizes. It is 0 if all were matched correctly.
	SizesDiffer uint64 `json:"sizes_differ"`

	UnmatchedSends    map[Reason]uint64 `json:"unmatched_sends"`
	UnmatchedReceives map[Reason]uint64 `json:"unmatched_receives"`

	Collectives Collectives `json:"collectives"`
}

// Collectives counts collective operations. Each counts once for all its
// members.
type Collectives struct {
	Instances  uint64            `json:"instances"`
	Complete   uint64            `json:"complete"` // all members took part
	Incomplete map[Reason]uint64 `json:"incomplete"`
}

func (c *Collectives) add(why Reason, n uint64) { c.Incomplete[why] += n }

func (r *replay) unmatchedSend(why Reason) { r.matching.UnmatchedSends[why]++ }

func (r *replay) unmatchedReceive(why Reason) { r.matching.UnmatchedReceives[why]++ }
