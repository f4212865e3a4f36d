package export

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// parquet is the name of the format of datasets of several tables.
const parquet = "parquet"

// Names of the tables of ExportTables, and of their directories.
const (
	TableProfile       = "profile"
	TableEvents        = "events"
	TableCommunicators = "communicators"
	TableRanks         = "ranks"
	TableVectors       = "vectors"
	TableFlows         = "flows"
	TableWaits         = "waits"
)

// Tables lists all tables of ExportTables. Those of a trace are last.
var Tables = []string{TableProfile, TableCommunicators, TableRanks, TableVectors, TableFlows, TableEvents, TableWaits}

// TraceTable reports whether a table is made from a trace.
func TraceTable(name string) bool { return name == TableEvents || name == TableWaits }

// TracedJob is the trace of a job.
type TracedJob struct {
	Run     string
	Sources []profile.EventSource // in the order of ranks
	Waits   []profile.Wait        // ordered by rank and event
}

// ExportTables writes several tables, each as a dataset of Parquet files in a
// directory of its name, and returns the written files. The profiles of src are
// ordered by run and rank.
func ExportTables(tables []string, src profile.Source, jobs []TracedJob, o ExportOptions) (files []string, err error) {
	o.Path = filepath.Clean(o.Path)
	files, err = o.inDirectory(func(d *directory) error {
		if err := d.writeProfiles(tables, src, o.Partition); err != nil {
			return err
		}
		for i := range jobs {
			d.writeTrace(tables, &jobs[i], i, o.Partition)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i] = filepath.Join(o.Path, files[i])
	}
	return files, nil
}

// ExportArrow writes several tables, each as an Arrow file in a directory, and returns the
// written files. The profiles of src are ordered by run and rank.
func ExportArrow(tables []string, src profile.Source, o ExportOptions) (files []string, err error) {
	o.Path, o.Several = filepath.Clean(o.Path), true
	files, err = o.inDirectory(func(d *directory) error {
		var opened []io.Closer
		create := func(name string) (io.WriteCloser, error) {
			d.files = append(d.files, &[]string{filepath.Join(o.Path, name+".arrow")})
			f, err := atomicfile.CreateNew(filepath.Join(d.dir, name+".arrow"))
			opened = append(opened, f)
			return f, err
		}
		w := table.PartWriter{Only: append(slices.Clone(tables), table.PvarsFile), Starts: map[string]int64{},
			Create: func(name string, _ int) (io.WriteCloser, error) { return create(name) }}
		jobs, err := jobsOf(src)
		for name, j := range jobs {
			w.Starts[name] = j.Began()
		}
		if err == nil {
			err = src.Each(w.Add)
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil && slices.Contains(tables, TableCommunicators) {
			var out io.Writer
			if out, err = create(table.CommsFile); err == nil {
				err = w.Comms.Write(out)
			}
		}
		for _, f := range opened {
			if closed := f.Close(); err == nil {
				err = closed
			}
		}
		return err
	})
	return files, err
}

// writeProfiles writes the tables that are made from profiles. A block without vectors has
// no file of them.
func (d *directory) writeProfiles(tables []string, src profile.Source, ranks int) error {
	if !slices.ContainsFunc(tables, func(name string) bool { return !TraceTable(name) }) {
		return nil
	}
	var comms table.Comms
	err := eachBlock(src, ranks, func(block, job int, ps profile.List) error {
		for _, p := range ps {
			comms.Note(p)
		}
		for _, name := range []string{TableProfile, TableRanks, TableVectors, TableFlows} {
			if slices.Contains(tables, name) && slices.ContainsFunc(ps, func(p *profile.Profile) bool { return table.HasRows(name, p) }) {
				d.addParts(blockParts{name, block, job}, func(parts table.Parts) error { return table.WriteParts(parts, name, ps, true) })
			}
		}
		return nil
	})
	if err == nil && slices.Contains(tables, TableCommunicators) {
		d.addParts(blockParts{TableCommunicators, noBlock, 0}, comms.WriteParts)
	}
	return err
}

// writeTrace writes the tables that are made from a trace. A block without
// waits has no file, except the first.
func (d *directory) writeTrace(tables []string, job *TracedJob, number, ranks int) {
	if slices.Contains(tables, TableEvents) {
		for srcs := range chunks(job.Sources, func(src profile.EventSource) int { return blockOf(src.Trace().Rank, ranks) }) {
			parts := blockParts{TableEvents, blockOf(srcs[0].Trace().Rank, ranks), number}
			d.addParts(parts, func(parts table.Parts) error { return tracefile.WriteParts(parts, srcs) })
		}
	}
	if !slices.Contains(tables, TableWaits) {
		return
	}
	write := func(block int, waits []profile.Wait) {
		d.addParts(blockParts{TableWaits, block, number}, func(parts table.Parts) error { return table.WriteWaitParts(parts, job.Run, waits) })
	}
	for waits := range chunks(job.Waits, func(w profile.Wait) int { return blockOf(w.Rank, ranks) }) {
		write(blockOf(waits[0].Rank, ranks), waits)
	}
	if len(job.Waits) == 0 {
		write(0, nil)
	}
}

// chunks iterates over the parts of a list whose elements have equal keys.
func chunks[V any](list []V, key func(V) int) func(yield func([]V) bool) {
	return func(yield func([]V) bool) {
		for start := 0; start < len(list); {
			end := start + 1
			for end < len(list) && key(list[end]) == key(list[start]) {
				end++
			}
			if !yield(list[start:end]) {
				return
			}
			start = end
		}
	}
}

// blockParts names the files of a table for a block of ranks of a job.
type blockParts struct {
	table      string // "" if the directory has only one table
	block, job int
}

// noBlock is the block of a table that is not divided by ranks.
const noBlock = -2

func (b blockParts) name(n int, f *formats.Format) string {
	if b.block == noBlock {
		return filepath.Join(b.table, formats.FileName(b.job, n, f))
	}
	return filepath.Join(b.table, formats.PartName(b.block, b.job, n, f))
}

// addParts writes Parquet files of limited size.
func (d *directory) addParts(b blockParts, write func(table.Parts) error) {
	names := new([]string)
	d.files = append(d.files, names)
	d.writers.Go(func() error {
		err := write(table.Parts{Limit: d.limit, Create: func(n int) (io.WriteCloser, error) {
			name := b.name(n, d.format)
			*names = append(*names, name)
			if err := d.makeParent(name); err != nil {
				return nil, err
			}
			return atomicfile.CreateNew(filepath.Join(d.dir, name))
		}})
		if err != nil {
			return fmt.Errorf("%s: %w", b.name(max(len(*names)-1, 0), d.format), err)
		}
		return nil
	})
}
