package tracefile

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/mpitrace/mpitrace/profile"
)

// The columns that a reader of ours goes by, which are the first of the table.
const (
	startColumn = iota
	durationColumn
	bytesColumn
	tagColumn
	linkColumn
	seqColumn
	kindColumn
	numRead
)

// columnsOf makes the columns of the table, in order, for a process that has
// these communicators.
func columnsOf(comms []profile.TraceComm) []column {
	return []column{
		startColumn: perEvent("start_ns", "ns since 1970-01-01 UTC", "when the call began; of what is no call: when the call returned in which it was seen",
			func(e *profile.Events) []int64 { return e.Start }),
		durationColumn: perEvent("duration_ns", "ns", "time in the call, without calls that the program made inside from callbacks; 0 of what is no call",
			func(e *profile.Events) []int64 { return e.Duration }),
		bytesColumn: perEvent("bytes", "bytes", "of one message, without gaps of datatypes; of collectives whose counts differ, all that the process sent",
			func(e *profile.Events) []uint64 { return e.Bytes }),
		tagColumn: orNull(perEvent("tag", "tag", "of point-to-point communication, else null; -2 where any was asked for (MPI_ANY_TAG)",
			func(e *profile.Events) []int32 { return e.Tag })),
		linkColumn: perEvent("link", "rows", "how many rows further on (or back, where negative) the other end of a request is: from what posted it to what tells that it completed, and back; 0 if there is none",
			func(e *profile.Events) []int32 { return e.Link }),
		seqColumn: perEvent("seq", "count", "number of the message, from 1, of those from one process to one other in one communicator with one tag: the nth sent is the nth received; 0 of what is no message",
			func(e *profile.Events) []uint32 { return e.Seq }),
		kindColumn: perEvent("kind", "index", "number of the combination that the columns after this one have: rows of one kind agree in all of them",
			func(e *profile.Events) []uint32 { return e.Kind }),

		text[int32]("call", "the MPI function, without MPI_", func(k *profile.EventKind) string { return k.Call }),
		text[int8]("class", "kind of communication: p2p, O2A, A2O, A2A, one-sided, sync, io, other", func(k *profile.EventKind) string { return k.Class.String() }),
		text[int8]("action", "call: it returned; message: one that a call completed, or started beside itself; posted: a receive that a call started, or a persistent collective where nothing is sent; completed: an operation that ended and moved nothing that is counted; aside: a receive, or a send, that ended otherwise",
			func(k *profile.EventKind) string { return k.Action.String() }),
		text[int8]("direction", "which way the bytes went, seen from this process: none (nothing was moved), send, recv, read, write; of action aside: why it is no message", directionOf),
		optionalText("comm", "communicator, by its name and the start of its id; null where the call has none",
			func(k *profile.EventKind) (string, bool) { return labelOf(comms, k.Comm) }),
		orNull(perKind("peer", "world rank", "rank in MPI_COMM_WORLD of the peer, or of the root of a rooted collective; null where there is none, see peer_kind",
			func(k *profile.EventKind) int32 { return max(k.Peer, null) })),
		text[int8]("peer_kind", "rank: peer tells which; none: the call has no peer; proc_null, any_source, root: the constant of MPI; elsewhere: a process of another world; lost: not recorded", peerKind),
		text[int32]("callsite", "function and line that the call is in; as address where these are not known; the callers after it where stacks were recorded", func(k *profile.EventKind) string { return k.Callsite }),
		text[int32]("slice", "part of the run in which the call began", func(k *profile.EventKind) string { return k.Slice }),
		perKind("thread", "index", "which of the process's threads, in the order of their first calls; a new thread may take the place of one that ended", func(k *profile.EventKind) int32 { return k.Thread }),
		orNull(perKind("window", "number", "which of the process's windows, in the order in which it made them, from 1 on; null where the call has none, or the making was not seen",
			windowOf)),
	}
}

func windowOf(k *profile.EventKind) int32 {
	if k.Window == 0 {
		return null
	}
	return k.Window
}

func directionOf(k *profile.EventKind) string {
	if k.Action == profile.Dropped {
		return k.Aside.String()
	}
	return k.Direction.String()
}

func labelOf(comms []profile.TraceComm, comm int32) (string, bool) {
	if comm < 0 || int(comm) >= len(comms) {
		return "", false
	}
	return comms[comm].Label, true
}

// peerKinds names what peers are, by -Peer.
var peerKinds = [...]string{"rank", "none", "proc_null", "any_source", "root", "lost", "elsewhere"}

func peerKind(k *profile.EventKind) string {
	switch n := -int(k.Peer); {
	case n <= 0:
		return peerKinds[0]
	case n < len(peerKinds):
		return peerKinds[n]
	}
	return "unknown"
}

// Column is what the metadata of a field says.
type Column struct{ Name, Unit, Doc string }

// Columns lists those of the table, in order.
func Columns() []Column {
	var all []Column
	for _, c := range columnsOf(nil) {
		f := c.field()
		unit, _ := f.Metadata.GetValue("unit")
		doc, _ := f.Metadata.GetValue("doc")
		all = append(all, Column{f.Name, unit, doc})
	}
	return all
}

// about describes a field: its unit and its meaning.
func about(name string, typ arrow.DataType, unit, doc string) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Metadata: arrow.NewMetadata([]string{"unit", "doc"}, []string{unit, doc})}
}
