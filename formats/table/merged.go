package table

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/profile"
)

// Names of the files of a merge, without extension.
const (
	ProfileFile = "profile"
	RanksFile   = "ranks"
	CommsFile   = "comms"
	PvarsFile   = "pvars"
	VectorsFile = "vectors"
	FlowsFile   = "flows"
)

// MergedFiles lists the files that a merge may write.
var MergedFiles = []string{ProfileFile, CommsFile, RanksFile, VectorsFile, FlowsFile, PvarsFile}

// PartWriter writes the tables of some processes of a run. A table that need not
// have rows has a file only if one of the processes has some. Communicators,
// which other processes may have, too, are collected in Comms.
type PartWriter struct {
	Comms

	// Create creates the file of a table.
	Create func(file string) (io.Writer, error)
	// Starts is when the first process of each job began, in Unix ns.
	Starts map[string]int64
	// Scratch is a directory for temporary files, as in Options.
	Scratch string

	profile, ranks, vectors, flows, pvars output // nil before the first row
}

// output is a table that is made from profiles.
type output interface {
	Add(*profile.Profile) error
	Close() error
}

// Add writes the rows of a process.
func (w *PartWriter) Add(p *profile.Profile) error {
	w.Note(p)
	err := addTo(w, &w.profile, p, ProfileFile, func(out io.Writer) output {
		return &rowTable[Fact]{out: newMerged(w, out, tableProfile, ProfileColumns), rows: Facts}
	})
	if err == nil {
		err = addTo(w, &w.ranks, p, RanksFile, func(out io.Writer) output {
			return &rowTable[*profile.Profile]{out: newMerged(w, out, tableRanks, RankColumns), rows: itself}
		})
	}
	if err == nil && len(p.Vectors) > 0 {
		err = addTo(w, &w.vectors, p, VectorsFile, func(out io.Writer) output {
			return &rowTable[Share]{out: newMerged(w, out, tableVectors, VectorColumns), rows: Shares}
		})
	}
	if err == nil && p.Physical != nil {
		err = addTo(w, &w.flows, p, FlowsFile, func(out io.Writer) output {
			return &rowTable[flow]{out: newMerged(w, out, tableFlows, FlowColumns), rows: flows}
		})
	}
	if err == nil && len(p.Readings) > 0 {
		err = addTo(w, &w.pvars, p, PvarsFile, func(out io.Writer) output {
			return &pvarTable{out: newMerged(w, out, tablePvars, PvarColumns), starts: w.Starts, about: map[string]string{}}
		})
	}
	return err
}

func newMerged[T any](w *PartWriter, out io.Writer, name string, cols []Column[T]) *ArrowWriter[T] {
	return NewArrowWriter(out, cols, Options[T]{Metadata: metadataOf(name, cols), Scratch: w.Scratch})
}

// addTo adds a process to a table, which is made first if it is nil.
func addTo(w *PartWriter, t *output, p *profile.Profile, file string, open func(io.Writer) output) error {
	if *t == nil {
		out, err := w.Create(file)
		if err != nil {
			return err
		}
		*t = open(out)
	}
	if err := (*t).Add(p); err != nil {
		return fmt.Errorf("write %s table: rank %d: %w", file, p.Rank, err)
	}
	return nil
}

// Close ends the files.
func (w *PartWriter) Close() error {
	for _, t := range []output{w.profile, w.ranks, w.vectors, w.flows, w.pvars} {
		if t == nil {
			continue
		}
		if err := t.Close(); err != nil {
			return fmt.Errorf("write arrow table: %w", err)
		}
	}
	return nil
}
