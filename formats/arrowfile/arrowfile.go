// Package arrowfile writes and reads the tables of a run as Arrow IPC files
// (Feather version 2) with zstd-compressed record batches: what pandas, polars,
// R, DuckDB and the Arrow libraries of other languages open directly.
//
// There are three tables. profile.arrow holds the facts, one row a key, in the
// columns that SEMANTICS lists; comms.arrow the communicators, ranks.arrow the
// processes. Strings are dictionary<int32, utf8>; each field's metadata says
// its unit ("unit") and its meaning ("doc").
//
// A table of facts alone cannot give a profile back: an Alltoallv's counts, or
// which communicator a peer was a rank of, are in no column. The rest is in a
// part of the file that readers who go by the footer do not look at (see
// sealer), process by process, so that a job of any size is read in the memory
// of a few processes.
package arrowfile

import "bytes"

// Keys of the schema's metadata.
const (
	keyFormat = "mpitrace.format" // formatVersion
	keyTool   = "mpitrace.tool"   // who wrote the file
	keyTable  = "mpitrace.table"  // which of the tables it is
)

// Values of keyTable.
const (
	tableProfile = "profile"
	tableComms   = "communicators"
	tableRanks   = "ranks"
)

// formatVersion changes when an older reader would misread a newer file.
const formatVersion = "2"

const tool = "mpitrace"

// maxBatch is the most rows that one record batch holds.
const maxBatch = 64 << 10

var magic = []byte("ARROW1")

// Is reports whether a file that begins with head is an Arrow IPC file. Eight
// bytes of it are enough.
func Is(head []byte) bool { return bytes.HasPrefix(head, magic) }
