// Package events is the table of the events of all ranks, as other tools are
// given it: the columns of trace.<rank>.arrow with the rank in front.
//
// The column kind of those files is left out: it numbers what the columns after
// it say, in each file anew.
package events

import "github.com/mpitrace/mpitrace/profile"

// Type is what a column holds.
type Type uint8

const (
	Text Type = iota // of few distinct ones
	Int32
	Uint32
	Int64
	Uint64
)

// Event is one row.
type Event struct {
	*profile.Trace
	*profile.EventKind
	Of *profile.Events
	I  int // which of them
}

// Column is one of the table's, of what Type says.
type Column struct {
	Name    string
	Type    Type
	Null    bool // not every row has a value
	PerKind bool // events of one kind and process have the same value
	// Text is the value of a Text, Number that of a number, two's complement.
	// Each tells whether there is one.
	Text   func(Event) (string, bool)
	Number func(Event) (uint64, bool)
}

// Columns are those of the table, in order.
var Columns = []Column{
	{Name: "rank", Type: Int32, PerKind: true, Number: func(e Event) (uint64, bool) { return uint64(e.Rank), true }},
	{Name: "start_ns", Type: Int64, Number: func(e Event) (uint64, bool) { return uint64(e.Of.Start[e.I]), true }},
	{Name: "duration_ns", Type: Int64, Number: func(e Event) (uint64, bool) { return uint64(e.Of.Duration[e.I]), true }},
	{Name: "bytes", Type: Uint64, Number: func(e Event) (uint64, bool) { return e.Of.Bytes[e.I], true }},
	{Name: "tag", Type: Int32, Null: true, Number: func(e Event) (uint64, bool) {
		tag := e.Of.Tag[e.I]
		return uint64(int64(tag)), tag != profile.NoTag
	}},
	{Name: "link", Type: Int32, Number: func(e Event) (uint64, bool) { return uint64(int64(e.Of.Link[e.I])), true }},
	{Name: "seq", Type: Uint32, Number: func(e Event) (uint64, bool) { return uint64(e.Of.Seq[e.I]), true }},

	text("call", func(e Event) string { return e.Call }),
	text("class", func(e Event) string { return e.Class.String() }),
	text("action", func(e Event) string { return e.Action.String() }),
	text("direction", directionOf),
	{Name: "comm", Null: true, PerKind: true, Text: commOf},
	{Name: "peer", Type: Int32, Null: true, PerKind: true, Number: func(e Event) (uint64, bool) { return uint64(int64(e.Peer)), e.Peer >= 0 }},
	text("peer_kind", peerKind),
	text("callsite", func(e Event) string { return e.Callsite }),
	text("slice", func(e Event) string { return e.Slice }),
	{Name: "thread", Type: Int32, PerKind: true, Number: func(e Event) (uint64, bool) { return uint64(int64(e.Thread)), true }},
	{Name: "window", Type: Int32, Null: true, PerKind: true, Number: func(e Event) (uint64, bool) { return uint64(int64(e.Window)), e.Window > 0 }},
}

func text(name string, get func(Event) string) Column {
	return Column{Name: name, PerKind: true, Text: func(e Event) (string, bool) { return get(e), true }}
}

// directionOf tells of what is no message why not.
func directionOf(e Event) string {
	if e.Action == profile.Dropped {
		return e.Aside.String()
	}
	return e.Direction.String()
}

func commOf(e Event) (string, bool) {
	if e.Comm < 0 || int(e.Comm) >= len(e.Comms) {
		return "", false
	}
	return e.Comms[e.Comm].Label, true
}

// peerKinds names what peers are, by -Peer.
var peerKinds = [...]string{"rank", "none", "proc_null", "any_source", "root", "lost", "elsewhere"}

func peerKind(e Event) string {
	n := max(-int(e.Peer), 0)
	if n >= len(peerKinds) {
		return "unknown"
	}
	return peerKinds[n]
}
