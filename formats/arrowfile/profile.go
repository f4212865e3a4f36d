package arrowfile

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// fact is one row of profile.arrow.
type fact struct {
	*profile.Row
	of   *process
	site *site
}

// site is what the columns say of a call site.
type site struct {
	label, address string
	inner          profile.Frame
}

// process is a profile with the texts of its rows made once.
type process struct {
	*profile.Profile
	comms  []string          // labels, by index
	slices map[uint32]string // names, by index
	sites  map[uint64]*site  // by Row.Callsite
}

// WriteProfile writes the table of facts of all the profiles, in the order of
// the source, each profile's rows in their own order. It goes over the source
// twice.
func WriteProfile(w io.Writer, src profile.Source) error {
	if err := writeProfile(w, src); err != nil {
		return fmt.Errorf("write arrow table: %w", err)
	}
	return nil
}

func writeProfile(w io.Writer, src profile.Source) error {
	t, err := newWriter(w, tableProfile, factColumns())
	if err != nil {
		return err
	}
	err = src.Each(func(p *profile.Profile) error {
		for f := range facts(p) {
			t.note(f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	head := new(headerBuilder)
	err = src.Each(func(p *profile.Profile) error {
		for f := range facts(p) {
			if err := t.add(f); err != nil {
				return err
			}
		}
		return head.add(p)
	})
	if err != nil {
		return err
	}
	return t.close(head)
}

func facts(p *profile.Profile) iter.Seq[fact] {
	of := newProcess(p)
	return func(yield func(fact) bool) {
		for i := range p.Rows {
			if !yield(fact{&p.Rows[i], of, of.sites[p.Rows[i].Callsite]}) {
				return
			}
		}
	}
}

func newProcess(p *profile.Profile) *process {
	out := &process{Profile: p, comms: make([]string, len(p.Comms)),
		slices: map[uint32]string{}, sites: map[uint64]*site{}}
	for i := range p.Comms {
		out.comms[i] = p.Comms[i].Label()
	}
	for _, s := range p.Slices {
		out.slices[s.Index] = s.Name
	}
	for i := range p.Rows {
		addr := p.Rows[i].Callsite
		if _, ok := out.sites[addr]; !ok {
			out.sites[addr] = newSite(p.Frames(addr))
		}
	}
	return out
}

// newSite makes the texts of a call site; the folded calls' has no frames.
func newSite(frames []profile.Frame) *site {
	if len(frames) == 0 {
		return &site{label: "unknown", address: "unknown"}
	}
	labels, addresses := make([]string, len(frames)), make([]string, len(frames))
	for i, f := range frames {
		labels[i], addresses[i] = f.String(), f.Address()
	}
	return &site{strings.Join(labels, callers), strings.Join(addresses, callers), frames[0]}
}

// callers stands between a place and the one that it was called from.
const callers = " < "

// comm is the row's communicator, nil if it has none.
func (f fact) comm() *profile.Comm {
	if f.Comm < 0 || int(f.Comm) >= len(f.of.Comms) {
		return nil
	}
	return &f.of.Comms[f.Comm]
}

func (f fact) commLabel() (string, bool) {
	if f.comm() == nil {
		return "", false
	}
	return f.of.comms[f.Comm], true
}

// worldPeer is the peer's world rank, if it has one.
func (f fact) worldPeer() (int32, bool) {
	c := f.comm()
	if c == nil {
		return 0, false
	}
	rank := c.WorldRank(f.Peer)
	return int32(rank), rank >= 0
}

func (f fact) sliceName() string {
	if name, ok := f.of.slices[f.Slice]; ok {
		return name
	}
	return fmt.Sprintf("slice %d", f.Slice)
}

// timed tells whether the shortest and longest call are known.
func (f fact) timed() bool { return f.MaxNs > 0 }

// factColumns are the columns of profile.arrow, in order.
func factColumns() []column[fact] {
	return []column[fact]{
		textColumn("run", "the MPI job, as its launcher names it", func(f fact) string { return f.of.Run }),
		int32Column("rank", "world rank", "rank in MPI_COMM_WORLD of the process that made the calls; -1 where it ended before that was known",
			func(f fact) int32 { return int32(f.of.Rank) }),
		int32Column("thread", "index", "which of the process's threads, in the order of their first calls; a new thread may take the place of one that ended",
			func(f fact) int32 { return f.Thread }),
		textColumn("call", "the MPI function, without MPI_", func(f fact) string { return f.Call }),
		textColumn("class", "kind of communication: p2p, O2A, A2O, A2A, one-sided, sync, io, other", func(f fact) string { return f.Class.String() }),
		textColumn("direction", "which way the bytes went, seen from rank: none (a call that moved nothing itself), send, recv, read, write",
			func(f fact) string { return f.Direction.String() }),
		optionalText("comm", "communicator, by its name and the start of its id; null where the call has none", true, fact.commLabel),
		optionalInt32("peer", "world rank", "rank in MPI_COMM_WORLD of the peer, or of the root of a rooted collective; null where there is none: no peer, MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_ROOT, a process of another world",
			fact.worldPeer),
		uint8Column("size_class", "log2 class", "of one message: 0 if it is empty, k+1 for 2^k <= bytes < 2^(k+1)", func(f fact) uint8 { return f.SizeClass }),
		textColumn("callsite", "function and line that the call is in, the same on all ranks; as address where these are not known; the callers after it where stacks were recorded",
			func(f fact) string { return f.site.label }),
		optionalText("function", "that the call is in; null where it is not known", true,
			func(f fact) (string, bool) { return f.site.inner.Function, f.site.inner.Function != "" }),
		optionalText("file", "path of the source file that the call is in; null where it is not known", true,
			func(f fact) (string, bool) { return f.site.inner.Source, f.site.inner.Source != "" }),
		optionalInt32("line", "line", "of the call in its source file, from 1; null where it is not known",
			func(f fact) (int32, bool) { return int32(f.site.inner.Line), f.site.inner.Line > 0 }),
		textColumn("address", "where the call returns to: module and address in the module's file; a bare address where the module is not known",
			func(f fact) string { return f.site.address }),
		textColumn("slice", "part of the run in which the call began", fact.sliceName),
		uint64Column("calls", "calls", "how often the function was called under this key", func(f fact) uint64 { return f.Calls }),
		uint64Column("messages", "messages", "messages that moved under this key; a collective's are those to all others together", func(f fact) uint64 { return f.Messages }),
		uint64Column("bytes", "bytes", "data in these messages, without gaps of datatypes", func(f fact) uint64 { return f.Bytes }),
		uint64Column("time_ns", "ns", "time in the calls, sum", func(f fact) uint64 { return f.TimeNs }),
		optionalUint64("min_ns", "ns", "shortest call; null where no call was timed", func(f fact) (uint64, bool) { return f.MinNs, f.timed() }),
		optionalUint64("max_ns", "ns", "longest call; null where no call was timed", func(f fact) (uint64, bool) { return f.MaxNs, f.timed() }),
	}
}
