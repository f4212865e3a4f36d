package table

import (
	"fmt"
	"iter"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Fact is a row of profile.arrow.
type Fact struct {
	*profile.Row
	of       *namedProfile
	site     *site
	internal bool // one of the rows of internalRows
}

// Facts returns the rows of a profile, followed by its internal rows (see
// Internal).
func Facts(p *profile.Profile) iter.Seq[Fact] {
	of := newProcess(p)
	return func(yield func(Fact) bool) {
		for i := range p.Rows {
			if !yield(Fact{&p.Rows[i], of, of.site(p.Rows[i].Callsite), false}) {
				return
			}
		}
		nowhere, own := newSite(nil), internalRows(p)
		for i := range own {
			if !yield(Fact{&own[i], of, nowhere, true}) {
				return
			}
		}
	}
}

// site holds the values of the columns about a call site.
type site struct {
	label, address string
	inner          profile.Frame
}

// namedProfile is a profile with the texts that its rows share.
type namedProfile struct {
	*profile.Profile
	comms  []string          // labels, by index
	slices map[uint32]string // names, by index
	sites  map[uint64]*site  // by Row.Callsite
}

func newProcess(p *profile.Profile) *namedProfile {
	out := &namedProfile{Profile: p, comms: make([]string, len(p.Comms)),
		slices: map[uint32]string{}, sites: map[uint64]*site{}}
	for i := range p.Comms {
		out.comms[i] = p.Comms[i].Label()
	}
	for _, s := range p.Slices {
		out.slices[s.Index] = s.Name
	}
	return out
}

// newSite returns the texts of a call site. Folded calls have no frames.
func newSite(frames []profile.Frame) *site {
	if len(frames) == 0 {
		return &site{label: "unknown", address: "unknown"}
	}
	addresses := make([]string, len(frames))
	for i, f := range frames {
		addresses[i] = f.Address()
	}
	return &site{profile.SiteLabel(frames), strings.Join(addresses, profile.Callers), frames[0]}
}

// comm returns the row's communicator, nil if it has none.
func (f Fact) comm() *profile.Comm {
	if f.Comm < 0 || int(f.Comm) >= len(f.of.Comms) {
		return nil
	}
	return &f.of.Comms[f.Comm]
}

func (f Fact) commLabel() (string, bool) {
	if f.comm() == nil {
		return "", false
	}
	return f.of.comms[f.Comm], true
}

// worldPeer returns the world rank of the peer, if it has one.
func (f Fact) worldPeer() (int32, bool) {
	if f.internal {
		return f.Peer, true
	}
	c := f.comm()
	if c == nil {
		return 0, false
	}
	rank := c.WorldRank(f.Peer)
	return int32(rank), rank >= 0
}

func (f Fact) sliceName() string { return f.of.sliceName(f.Slice) }

func (of *namedProfile) sliceName(index uint32) string {
	if name, ok := of.slices[index]; ok {
		return name
	}
	return fmt.Sprintf("slice %d", index)
}

// site returns the texts of a call site.
func (of *namedProfile) site(at uint64) *site {
	known := of.sites[at]
	if known == nil {
		known = newSite(of.Frames(at))
		of.sites[at] = known
	}
	return known
}

func (f Fact) className() string {
	if f.internal {
		return Internal
	}
	return f.Class.String()
}

func (f Fact) directionName() string {
	if f.internal {
		return Internal
	}
	return f.Direction.String()
}

// clocked reports whether the row is of MPI calls and the process measured
// times.
func (f Fact) clocked() bool { return f.of.Timing != profile.TimingOff && !f.internal }

// timed reports whether the times of the shortest and longest call are known.
func (f Fact) timed() bool { return f.MaxNs > 0 }

// ProfileColumns are the columns of profile.arrow, in order.
var ProfileColumns = []Column[Fact]{
	Run(func(f Fact) string { return f.of.Run }),
	Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the process that made the calls; -1 if the process ended before its rank was known",
		func(f Fact) int32 { return int32(f.of.Rank) }).absent(Required),
	Numbers("thread", "index", "number of the thread, in the order of the threads' first calls; a new thread may get the number of one that ended; -1 in rows of class internal",
		func(f Fact) int32 { return f.Thread }),
	Words("call", "MPI function, without MPI_; internal in rows of class internal", func(f Fact) string { return f.Call }).absent(Required),
	Words("class", "kind of communication: p2p, O2A, A2O, A2A, one-sided, sync, io, other; internal: messages that the MPI library sent on its own behalf (--physical), without calls", Fact.className).absent("as the call has"),
	Words("direction", "direction of the data, seen from rank: none (the call itself moved no data), send, recv, read, write; internal: the MPI library sent data to peer",
		Fact.directionName).absent(Required),
	OptionalWords("comm", "label of the communicator: its name and the start of its id; null if the call has none", Fact.commLabel).absent(Required),
	OptionalNumbers("peer", "world rank", "rank in MPI_COMM_WORLD of the peer, or of the root of a rooted collective; null if the call has no peer, and for MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_ROOT and a process of another world",
		Fact.worldPeer).absent(Required),
	Numbers("size_class", "log2 class", "size of one message: 0 if it is empty, k+1 for 2^k <= bytes < 2^(k+1); in rows of class internal, of the mean message", func(f Fact) uint8 { return f.SizeClass }).absent("as the mean message has"),
	Words("callsite", "function and line of the call, the same on all ranks; the address if they are not known; followed by the callers if stacks were recorded",
		func(f Fact) string { return f.site.label }).absent("the address"),
	OptionalWords("function", "function that contains the call; null if not known",
		func(f Fact) (string, bool) { return f.site.inner.Function, f.site.inner.Function != "" }),
	OptionalWords("file", "path of the source file; null if not known",
		func(f Fact) (string, bool) { return f.site.inner.Source, f.site.inner.Source != "" }),
	OptionalNumbers("line", "line", "line of the call in its source file, from 1; null if not known",
		func(f Fact) (int32, bool) { return int32(f.site.inner.Line), f.site.inner.Line > 0 }),
	Words("address", "return address of the call: module and address in the module's file; the plain address if the module is not known",
		func(f Fact) string { return f.site.address }).absent("not known"),
	Words("slice", "part of the run in which the call began", Fact.sliceName).absent("run"),
	Numbers("calls", "calls", "number of calls", func(f Fact) uint64 { return f.Calls }).absent(Required),
	Numbers("messages", "messages", "number of messages; for a collective, to all other ranks together", func(f Fact) uint64 { return f.Messages }).absent(Required),
	Numbers("bytes", "bytes", "data in these messages, without the gaps of datatypes", func(f Fact) uint64 { return f.Bytes }).absent(Required),
	OptionalNumbers("time_ns", "ns", "total time in the calls, or an estimate of it (--timing sampled); null if calls were not timed (--timing off), and in rows of class internal",
		func(f Fact) (uint64, bool) { return f.TimeNs, f.clocked() }),
	OptionalNumbers("time_error_ns", "ns", "standard error of time_ns if it is an estimate, 0 if all calls were timed; the error of a sum is the root of the sum of the squares",
		func(f Fact) (uint64, bool) { return f.TimeErrorNs, f.clocked() }),
	OptionalNumbers("min_ns", "ns", "time of the shortest call; null if no call was timed", func(f Fact) (uint64, bool) { return f.MinNs, f.timed() }),
	OptionalNumbers("max_ns", "ns", "time of the longest call; null if no call was timed", func(f Fact) (uint64, bool) { return f.MaxNs, f.timed() }),
}
