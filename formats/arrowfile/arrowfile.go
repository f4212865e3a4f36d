// Package arrowfile writes and reads the tables of a run as Arrow IPC files
// (Feather version 2) with zstd-compressed record batches: what pandas, polars,
// R, DuckDB and the Arrow libraries of other languages open directly.
//
// There are three tables, a fourth where the MPI's variables were read, and one of
// the waits in a trace.
// profile.arrow holds the facts, one row a key, in the columns that SEMANTICS
// lists; comms.arrow the communicators, ranks.arrow the processes, pvars.arrow
// the readings. Strings are dictionary<int32, utf8>; each field's metadata says
// its unit ("unit") and its meaning ("doc").
//
// Of profile.arrow the profiles can be read back, see package facts, and of
// pvars.arrow their readings.
package arrowfile

import "github.com/mpitrace/mpitrace/formats/facts"

// Keys of the schema's metadata.
const (
	keyFormat = "mpitrace.format" // facts.FormatVersion
	keyTool   = "mpitrace.tool"   // who wrote the file
	keyTable  = "mpitrace.table"  // which of the tables it is
	keyPvar   = "mpitrace.pvar."  // and the name of a performance variable: what the MPI says of it
)

// Values of keyTable.
const (
	tableProfile = facts.Table
	tableComms   = "communicators"
	tableRanks   = "ranks"
	tablePvars   = "pvars"
	tableWaits   = "waits"
)

// Tool is what wrote the files, as their metadata says it.
const Tool = "mpitrace"

// maxBatch is the most rows that one record batch holds.
const maxBatch = 64 << 10

// Is reports whether a file that begins with head is an Arrow IPC file.
func Is(head []byte) bool { return container.Is(head) }
