// Package tracefile writes and reads the events of a process as an Arrow IPC
// file (Feather version 2) with zstd-compressed record batches: what pandas,
// polars, DuckDB and the Arrow libraries of other languages open directly.
//
// A row is an event, in the order in which events ended. Columns returns what
// the columns are; each field's metadata says its unit ("unit") and its meaning
// ("doc"). The schema's metadata has the circumstances (profile.Trace) as JSON.
//
// The record batches are made here and not by the Arrow library, for three
// reasons. It has zstd at its default level only; the fastest takes two thirds of
// the time and is as small (bytes an event, of the streams of BenchmarkWrite):
//
//	           fastest  default  better
//	halo          3.10     3.35    2.85
//	swaps         4.65     4.46    4.30
//	irregular    12.32    12.70   12.34
//
// It wants the dictionaries before the first batch, for which a source would have
// to be read twice. And it unpacks into new memory each time.
package tracefile

import "github.com/mpitrace/mpitrace/formats/table"

// FormatVersion of the files. It changes when a reader of the one before would go
// wrong.
const FormatVersion = "1"

// keyTrace is the key of profile.Trace, as JSON, in the schema's metadata.
const keyTrace = "mpitrace.trace"

const tableEvents = "events"

// maxBatch is the most events that one record batch holds. Batches four times as
// large save a thirtieth of the space at most, and a reader that looks for a
// moment unpacks four times as much.
const maxBatch = 64 << 10

// batchOf is how many events a batch of a job of so many processes holds. Whoever
// goes through all traces at once has a batch of each in memory.
func batchOf(processes int) int {
	return min(max(maxBatch*64/max(processes, 1), maxBatch/16), maxBatch)
}

// maxHeld is how many bytes of batches are kept until the dictionaries are
// complete, which then come first: so readers find them that go through the file
// from its start. Of larger files they come last; the Arrow format allows it, and
// readers that go by the footer do not mind.
const maxHeld = 128 << 20

// Is reports whether a file that begins with head is an Arrow IPC file.
func Is(head []byte) bool { return table.Is(head) }
