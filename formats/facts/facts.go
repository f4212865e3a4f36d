// Package facts is the table of facts (one row for each row of each profile),
// for the formats that keep it: its columns, and the rest of the profiles that
// no column holds, so that they can be read back.
//
// The rest is in a part of the file that readers who go by its footer do not
// look at (see Sealer), process by process, so that a job of any size is read in
// the memory of a few processes.
package facts

// Table is the name of the table of facts in a file's header.
const Table = "profile"

// FormatVersion changes when an older reader would misread a newer file. Version
// 2, in which all times were exact, is read as well.
const (
	FormatVersion    = "3"
	oldFormatVersion = "2"
)
