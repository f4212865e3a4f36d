package tracefile

import (
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// Indices of the columns that File reads back. They are the first columns of
// the table.
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

// EventRow is a row of the table. Columns whose value depends on the kind only may
// be evaluated with only Trace and EventKind set.
type EventRow struct {
	*profile.Trace
	*profile.EventKind
	Of    *profile.Events
	I     int   // index of the event in Of
	First int64 // number of events before Of
	// CallEvent is the number of the call in which the event was noticed, -1 if
	// it is not known. It is set for datasets only.
	CallEvent int64
}

func (e EventRow) kind() int { return int(e.Of.Kind[e.I]) }

// declared is a column, and the function that makes its collector for batches.
type declared struct {
	table.Column[EventRow]
	gather func(*table.Column[EventRow]) column
}

// columns are the columns of the table, in order.
var columns = [...]declared{
	startColumn: neighbors(perEvent("start_ns", "ns since 1970-01-01 UTC", "start of the call; for a row that is no call, the return of the call in which it was noticed",
		func(e *profile.Events) []int64 { return e.Start })),
	durationColumn: neighbors(perEvent("duration_ns", "ns", "time in the call, without calls that the program made in callbacks; 0 for a row that is no call",
		func(e *profile.Events) []int64 { return e.Duration })),
	bytesColumn: perEvent("bytes", "bytes", "size of one message, without the gaps of datatypes; for collectives with different counts, the total that the process sent",
		func(e *profile.Events) []uint64 { return e.Bytes }),
	tagColumn: orNull(perEvent("tag", "tag", "tag of point-to-point communication, otherwise null; -2 for MPI_ANY_TAG",
		func(e *profile.Events) []int32 { return e.Tag })),
	linkColumn: neighbors(perEvent("link", "rows", "distance in rows to the other end of a request, negative if it is earlier: from the call that posted it to the row of its completion, and back; 0 if there is none",
		func(e *profile.Events) []int32 { return e.Link })),
	seqColumn: neighbors(perEvent("seq", "count", "number of the message, from 1, among those with the same sender, receiver, communicator and tag: the nth sent is the nth received; 0 for a row that is no message",
		func(e *profile.Events) []uint32 { return e.Seq })),
	kindColumn: perEvent("kind", "index", "number of the combination of values of all columns after this one: rows of one kind have the same values",
		func(e *profile.Events) []uint32 { return e.Kind }),

	word(table.Words("call", "MPI function, without MPI_", func(e EventRow) string { return e.Call })),
	shortWord(table.Words("class", "kind of communication: p2p, O2A, A2O, A2A, one-sided, sync, io, other", func(e EventRow) string { return e.Class.String() })),
	shortWord(table.Words("action", "call: an MPI call; message: a message that a call completed, or started in addition to its own; posted: a receive that a call started, or a persistent collective in which the process sends nothing; completed: an operation that completed and moved nothing that is counted; abnormal: a receive or a send that did not complete normally",
		func(e EventRow) string { return e.Action.String() })),
	shortWord(table.Words("direction", "direction of the data, seen from this process: none (no data moved), send, recv, read, write; of action abnormal: why it did not complete normally", directionOf)),
	word(table.OptionalWords("comm", "label of the communicator: its name and the start of its id; null if the call has none",
		labelOf)),
	perKind(table.OptionalNumbers("peer", "world rank", "rank in MPI_COMM_WORLD of the peer, or of the root of a rooted collective; null if there is none, see peer_kind",
		func(e EventRow) (int32, bool) { return e.Peer, e.Peer >= 0 })),
	shortWord(table.Words("peer_kind", "rank: column peer has it; none: the call has no peer; proc_null, any_source, root: the MPI constant; elsewhere: a process of another world; lost: not recorded", peerKind)),
	word(table.Words("callsite", "function and line of the call; the address if they are not known; followed by the callers if stacks were recorded", func(e EventRow) string { return e.Callsite })),
	word(table.Words("slice", "part of the run in which the call began", func(e EventRow) string { return e.Slice })),
	perKind(table.Numbers("thread", "index", "number of the thread, in the order of the threads' first calls; a new thread may get the number of one that ended", func(e EventRow) int32 { return e.Thread })),
	perKind(table.OptionalNumbers("window", "number", "number of the window, from 1, in the order in which the process created its windows; null if the call has none, or its creation was not recorded",
		func(e EventRow) (int32, bool) { return e.Window, e.Window > 0 })),
}

// perEvent returns a column with a separate value for each event.
func perEvent[V int32 | uint32 | int64 | uint64](name, unit, doc string, get func(*profile.Events) []V) declared {
	return declared{table.Numbers(name, unit, doc, func(e EventRow) V { return get(e.Of)[e.I] }),
		func(c *table.Column[EventRow]) column { return &eventValues[V]{values[V]{of: c}, get} }}
}

// neighbors declares that values differ little from row to row.
func neighbors(c declared) declared {
	c.Unlike = table.Neighbors
	return c
}

// orNull makes a column of numbers nullable: -1 is null.
func orNull(c declared) declared {
	number := c.Number
	c.Null, c.Number = true, func(e EventRow) (uint64, bool) {
		v, _ := number(e)
		return v, int64(v) != null
	}
	return c
}

// perKind returns a column of numbers that are the same for all events of a
// kind.
func perKind(c table.Column[EventRow]) declared {
	c.PerKind = true
	return declared{c, func(c *table.Column[EventRow]) column { return &kindValues[int32]{values: values[int32]{of: c}} }}
}

// word returns a column of texts that are the same for all events of a kind.
func word(c table.Column[EventRow]) declared {
	c.PerKind = true
	return declared{c, newWords[int32]}
}

// shortWord returns a column like word, but of fewer than 128 distinct texts.
func shortWord(c table.Column[EventRow]) declared {
	c.PerKind, c.Type = true, table.ShortWord
	return declared{c, newWords[int8]}
}

// directionOf returns the direction of an event, or for an abnormal event the
// reason why it did not complete normally.
func directionOf(e EventRow) string {
	if e.Action == profile.Abnormal {
		return e.AbnormalKind.String()
	}
	return e.Direction.String()
}

func labelOf(e EventRow) (string, bool) {
	if e.Comm < 0 || int(e.Comm) >= len(e.Comms) {
		return "", false
	}
	return e.Comms[e.Comm].Label, true
}

// peerKinds lists the kinds of peers, by -Peer.
var peerKinds = [...]string{"rank", "none", "proc_null", "any_source", "root", "lost", "elsewhere"}

func peerKind(e EventRow) string {
	switch n := -int(e.Peer); {
	case n <= 0:
		return peerKinds[0]
	case n < len(peerKinds):
		return peerKinds[n]
	}
	return "unknown"
}

// Columns returns the columns of the table, in order.
func Columns() []table.Column[EventRow] {
	all := make([]table.Column[EventRow], len(columns))
	for i := range columns {
		all[i] = columns[i].Column
	}
	return all
}
