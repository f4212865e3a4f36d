// Package tracefile writes and reads the events of a process as an Arrow IPC
// file (Feather version 2) with zstd-compressed record batches. pandas, polars,
// DuckDB and the Arrow libraries of other languages open such files directly.
//
// A row is an event, in the order in which events ended. Columns returns the
// columns; each field's metadata has its unit ("unit") and its meaning ("doc").
// The schema's metadata has a profile.Trace as JSON, which describes the
// process.
//
// This package, not the Arrow library, makes the record batches, for three
// reasons. First, the library uses zstd at its default level only. The fastest
// level takes two thirds of the time, and files are about as small (bytes per
// event, for the streams of BenchmarkWrite):
//
//	           fastest  default  better
//	halo          3.10     3.35    2.85
//	swaps         4.65     4.46    4.30
//	irregular    12.32    12.70   12.34
//
// Second, the library needs the dictionaries before the first batch, so that a
// source would have to be read twice. Third, it allocates new memory for each
// batch that it reads.
package tracefile

// FormatVersion is the version of the files. It changes when a reader of the
// previous version would misread a new file.
const FormatVersion = "1"

// keyTrace is the key of the profile.Trace in the schema's metadata.
const keyTrace = "mpitrace.trace"

const tableEvents = "events"

// maxBatch is the maximum number of events of a record batch. Batches four
// times as large would save at most a thirtieth of the space, and a reader that
// looks for one moment would have to decompress four times as much.
const maxBatch = 64 << 10

// batchOf returns the number of events per batch for a job with this number of
// processes. It is smaller in large jobs, since a reader of all traces at once
// keeps one batch of each in memory.
func batchOf(processes int) int {
	return min(max(maxBatch*64/max(processes, 1), maxBatch/16), maxBatch)
}

// maxHeld is the maximum number of bytes of batches kept until the dictionaries
// are complete. Up to this size, a file has the dictionaries before the
// batches, so that it can be read as a stream. In larger files they come last,
// which the Arrow format allows; readers that use the footer find them there.
const maxHeld = 128 << 20
