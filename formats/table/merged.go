package table

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Names of the files of a merge, without extension.
const (
	ProfileFile = tableProfile
	RanksFile   = tableRanks
	CommsFile   = "comms"
	PvarsFile   = tablePvars
	VectorsFile = tableVectors
	FlowsFile   = tableFlows
)

// MergedFiles lists the files that a merge may write.
var MergedFiles = []string{ProfileFile, CommsFile, RanksFile, VectorsFile, FlowsFile, PvarsFile}

// PartWriter writes the tables of some processes of a run. Some tables have rows for some processes
// only; their file is written only if it has rows. Communicators are collected in Comms, because
// processes of other parts may have them too.
type PartWriter struct {
	// Create creates a file of a table. n is its number: 0, or more if Parquet files
	// are limited. The PartWriter closes Parquet files only.
	Create func(table string, n int) (io.WriteCloser, error)
	// Limit is the Limit of Parts, for Parquet files; 0 for Arrow files.
	Limit int64
	// NoSchema is as in Options.
	NoSchema bool
	// Only has the tables to write; nil for all.
	Only []string
	// Starts is when the first process of each job began, in Unix ns. Only the table pvars
	// needs it.
	Starts map[string]int64
	// Scratch is as in Options.
	Scratch string

	Comms  Comms
	tables [5]output // those of partTables; nil before the first row
}

// output is a table that is made from profiles.
type output interface {
	Add(*profile.Profile) error
	Close() error
}

// partTables are the tables of a PartWriter. has reports whether a process has rows.
var partTables = [...]struct {
	name string
	has  func(*profile.Profile) bool
	open func(w *PartWriter) (output, error)
}{
	{tableProfile, always, func(w *PartWriter) (output, error) { return openRows(w, tableProfile, ProfileColumns, Facts) }},
	{tableRanks, always, func(w *PartWriter) (output, error) { return openRows(w, tableRanks, RankColumns, itself) }},
	{tableVectors, hasVectors, func(w *PartWriter) (output, error) { return openRows(w, tableVectors, VectorColumns, Shares) }},
	{tableFlows, func(p *profile.Profile) bool { return p.Physical != nil }, func(w *PartWriter) (output, error) { return openRows(w, tableFlows, FlowColumns, flows) }},
	{tablePvars, func(p *profile.Profile) bool { return len(p.Readings) > 0 }, func(w *PartWriter) (output, error) {
		out, err := openEncoder(w, tablePvars, PvarColumns)
		return &pvarTable{out: out, starts: w.Starts, about: map[string]string{}}, err
	}},
}

func always(*profile.Profile) bool { return true }

func hasVectors(p *profile.Profile) bool { return len(p.Vectors) > 0 }

// HasRows reports whether a table must be written because of this process. Tables such as
// vectors are written only if some process has rows for them.
func HasRows(name string, p *profile.Profile) bool {
	for _, t := range partTables {
		if t.name == name {
			return t.has(p)
		}
	}
	return false
}

func openRows[T any](w *PartWriter, name string, cols []Column[T], rows func(*profile.Profile) iter.Seq[T]) (output, error) {
	out, err := openEncoder(w, name, cols)
	return &rowTable[T]{out: out, rows: rows}, err
}

func openEncoder[T any](w *PartWriter, name string, cols []Column[T]) (Encoder[T], error) {
	o := Options[T]{Metadata: metadataOf(name, cols), Scratch: w.Scratch, SortedBy: sorted, NoSchema: w.NoSchema}
	if w.Limit > 0 {
		create := func(n int) (io.WriteCloser, error) { return w.Create(name, n) }
		return NewPartsWriter(Parts{Create: create, Limit: w.Limit}, cols, o), nil
	}
	out, err := w.Create(name, 0)
	return NewArrowWriter(out, cols, o), err
}

// Add writes the rows of a process.
func (w *PartWriter) Add(p *profile.Profile) (err error) {
	w.Comms.Note(p)
	for i, t := range partTables {
		if w.Only != nil && !slices.Contains(w.Only, t.name) || !t.has(p) {
			continue
		}
		if w.tables[i] == nil {
			if w.tables[i], err = t.open(w); err != nil {
				return err
			}
		}
		if err := w.tables[i].Add(p); err != nil {
			return fmt.Errorf("write %s table: rank %d: %w", t.name, p.Rank, err)
		}
	}
	return nil
}

// Close ends the files.
func (w *PartWriter) Close() error {
	for i, t := range w.tables {
		if t == nil {
			continue
		}
		if err := t.Close(); err != nil {
			return fmt.Errorf("write %s table: %w", partTables[i].name, err)
		}
	}
	return nil
}
