package table

import (
	"io"

	"github.com/mpitrace/mpitrace/profile"
)

// These write a table at once. Programs write these tables of units (see
// JoinUnits), which tests compare with them.

// WriteComms writes one row for each communicator, in the order of their first
// occurrence.
func WriteComms(w io.Writer, src profile.Source) error { return writeTable(src, newCommTable(w)) }

// WriteRanks writes one row for each process, in the order of the source.
func WriteRanks(w io.Writer, src profile.Source) error { return writeTable(src, newRankTable(w)) }

// WritePvars writes one row for each value that was read of a performance
// variable. Processes are in the order of the source, readings in order of
// time. A text is one value. It iterates over the source twice.
func WritePvars(w io.Writer, src profile.Source) error { return writeTable(src, newPvarTable(w)) }
