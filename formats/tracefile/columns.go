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

// Event is a row of the table. Columns whose value depends on the kind only may
// be evaluated with only Trace and EventKind set.
type Event struct {
	*profile.Trace
	*profile.EventKind
	Of *profile.Events
	I  int // index of the event in Of
}

func (e Event) kind() int { return int(e.Of.Kind[e.I]) }

// declared is a column, and the function that makes its collector for batches.
type declared struct {
	table.Column[Event]
	gather func(*table.Column[Event]) column
}

// columns are the columns of the table, in order.
var columns = [...]declared{
	startColumn: neighbors(perEvent("start_ns", "ns since 1970-01-01 UTC", "when the call began; of what is no call: when the call returned in which it was seen",
		func(e *profile.Events) []int64 { return e.Start })),
	durationColumn: neighbors(perEvent("duration_ns", "ns", "time in the call, without calls that the program made inside from callbacks; 0 of what is no call",
		func(e *profile.Events) []int64 { return e.Duration })),
	bytesColumn: perEvent("bytes", "bytes", "of one message, without gaps of datatypes; of collectives whose counts differ, all that the process sent",
		func(e *profile.Events) []uint64 { return e.Bytes }),
	tagColumn: orNull(perEvent("tag", "tag", "of point-to-point communication, else null; -2 where any was asked for (MPI_ANY_TAG)",
		func(e *profile.Events) []int32 { return e.Tag })),
	linkColumn: neighbors(perEvent("link", "rows", "how many rows further on (or back, where negative) the other end of a request is: from what posted it to what tells that it completed, and back; 0 if there is none",
		func(e *profile.Events) []int32 { return e.Link })),
	seqColumn: neighbors(perEvent("seq", "count", "number of the message, from 1, of those from one process to one other in one communicator with one tag: the nth sent is the nth received; 0 of what is no message",
		func(e *profile.Events) []uint32 { return e.Seq })),
	kindColumn: perEvent("kind", "index", "number of the combination that the columns after this one have: rows of one kind agree in all of them",
		func(e *profile.Events) []uint32 { return e.Kind }),

	word(table.Words("call", "the MPI function, without MPI_", func(e Event) string { return e.Call })),
	shortWord(table.Words("class", "kind of communication: p2p, O2A, A2O, A2A, one-sided, sync, io, other", func(e Event) string { return e.Class.String() })),
	shortWord(table.Words("action", "call: it returned; message: one that a call completed, or started beside itself; posted: a receive that a call started, or a persistent collective where nothing is sent; completed: an operation that ended and moved nothing that is counted; abnormal: a receive or a send that did not complete normally",
		func(e Event) string { return e.Action.String() })),
	shortWord(table.Words("direction", "which way the bytes went, seen from this process: none (nothing was moved), send, recv, read, write; of action abnormal: why it did not complete normally", directionOf)),
	word(table.OptionalWords("comm", "communicator, by its name and the start of its id; null where the call has none",
		labelOf)),
	perKind(table.OptionalNumbers("peer", "world rank", "rank in MPI_COMM_WORLD of the peer, or of the root of a rooted collective; null where there is none, see peer_kind",
		func(e Event) (int32, bool) { return e.Peer, e.Peer >= 0 })),
	shortWord(table.Words("peer_kind", "rank: peer tells which; none: the call has no peer; proc_null, any_source, root: the constant of MPI; elsewhere: a process of another world; lost: not recorded", peerKind)),
	word(table.Words("callsite", "function and line that the call is in; as address where these are not known; the callers after it where stacks were recorded", func(e Event) string { return e.Callsite })),
	word(table.Words("slice", "part of the run in which the call began", func(e Event) string { return e.Slice })),
	perKind(table.Numbers("thread", "index", "which of the process's threads, in the order of their first calls; a new thread may take the place of one that ended", func(e Event) int32 { return e.Thread })),
	perKind(table.OptionalNumbers("window", "number", "which of the process's windows, in the order in which it made them, from 1 on; null where the call has none, or the making was not seen",
		func(e Event) (int32, bool) { return e.Window, e.Window > 0 })),
}

// perEvent returns a column with a separate value for each event.
func perEvent[V int32 | uint32 | int64 | uint64](name, unit, doc string, get func(*profile.Events) []V) declared {
	return declared{table.Numbers(name, unit, doc, func(e Event) V { return get(e.Of)[e.I] }),
		func(c *table.Column[Event]) column { return &eventValues[V]{values[V]{of: c}, get} }}
}

// neighbors declares that values differ little from row to row.
func neighbors(c declared) declared {
	c.Unlike = table.Neighbors
	return c
}

// orNull makes a column of numbers nullable: -1 is null.
func orNull(c declared) declared {
	number := c.Number
	c.Null, c.Number = true, func(e Event) (uint64, bool) {
		v, _ := number(e)
		return v, int64(v) != null
	}
	return c
}

// perKind returns a column of numbers that are the same for all events of a
// kind.
func perKind(c table.Column[Event]) declared {
	c.PerKind = true
	return declared{c, func(c *table.Column[Event]) column { return &kindValues[int32]{values: values[int32]{of: c}} }}
}

// word returns a column of texts that are the same for all events of a kind.
func word(c table.Column[Event]) declared {
	c.PerKind = true
	return declared{c, newWords[int32]}
}

// shortWord returns a column like word, but of fewer than 128 distinct texts.
func shortWord(c table.Column[Event]) declared {
	c.PerKind, c.Type = true, table.ShortWord
	return declared{c, newWords[int8]}
}

// directionOf returns the direction of an event, or for an abnormal event the
// reason why it did not complete normally.
func directionOf(e Event) string {
	if e.Action == profile.Abnormal {
		return e.AbnormalKind.String()
	}
	return e.Direction.String()
}

func labelOf(e Event) (string, bool) {
	if e.Comm < 0 || int(e.Comm) >= len(e.Comms) {
		return "", false
	}
	return e.Comms[e.Comm].Label, true
}

// peerKinds lists the kinds of peers, by -Peer.
var peerKinds = [...]string{"rank", "none", "proc_null", "any_source", "root", "lost", "elsewhere"}

func peerKind(e Event) string {
	switch n := -int(e.Peer); {
	case n <= 0:
		return peerKinds[0]
	case n < len(peerKinds):
		return peerKinds[n]
	}
	return "unknown"
}

// Columns returns the columns of the table, in order.
func Columns() []table.Column[Event] {
	all := make([]table.Column[Event], len(columns))
	for i := range columns {
		all[i] = columns[i].Column
	}
	return all
}
