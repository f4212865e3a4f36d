package table

import (
	"cmp"
	"io"
	"iter"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Parts is where a table of a dataset is written, as Parquet files of limited
// size.
type Parts struct {
	// Create creates the file with this number, from 0.
	Create func(part int) (io.WriteCloser, error)
	// Limit is the size in bytes from which on a file gets no more row groups.
	Limit int64
}

// PartLimit is the usual Limit. Engines read files of 128 to 512 MB best:
// smaller ones cost time to open, and larger ones are hard to share out.
const PartLimit = 256 << 20

// PartsWriter writes a table as several Parquet files. It writes at least one,
// since readers need its schema.
type PartsWriter[T any] struct {
	parts Parts
	cols  []Column[T]
	o     Options[T]
	file  io.WriteCloser
	out   *ParquetWriter[T] // nil between files
	n     int               // number of files
}

// NewPartsWriter returns a writer of a table with these columns.
func NewPartsWriter[T any](parts Parts, cols []Column[T], o Options[T]) *PartsWriter[T] {
	return &PartsWriter[T]{parts: parts, cols: cols, o: o}
}

// Add writes rows. They all go into one file.
func (p *PartsWriter[T]) Add(rows iter.Seq[T]) error {
	if err := p.open(); err != nil {
		return err
	}
	if err := p.out.Add(rows); err != nil {
		return err
	}
	if p.out.Size() < p.parts.Limit {
		return nil
	}
	return p.end(nil)
}

// NewKinds starts a new numbering of kinds.
func (p *PartsWriter[T]) NewKinds() {
	if p.out != nil {
		p.out.NewKinds()
	}
}

func (p *PartsWriter[T]) open() (err error) {
	if p.out != nil {
		return nil
	}
	if p.file, err = p.parts.Create(p.n); err != nil {
		return err
	}
	p.n++
	p.out = NewParquetWriter(p.file, p.cols, p.o)
	return nil
}

// end completes the current file, with additional metadata.
func (p *PartsWriter[T]) end(metadata map[string]string) error {
	err := p.out.Close(metadata)
	return p.Fail(err)
}

// Fail closes the current file and returns the error, or that of closing it if
// err is nil.
func (p *PartsWriter[T]) Fail(err error) error {
	if p.file != nil {
		if closed := p.file.Close(); err == nil {
			err = closed
		}
	}
	p.out, p.file = nil, nil
	return err
}

// Close completes the last file, with additional metadata.
func (p *PartsWriter[T]) Close(metadata map[string]string) error {
	if p.out == nil && p.n > 0 {
		return nil
	}
	if err := p.open(); err != nil {
		return p.Fail(err)
	}
	return p.end(metadata)
}

// sorted are the columns by which the rows of a job are sorted.
var sorted = []string{"rank"}

// WriteParts writes a table of the processes of one job: profile, ranks or vectors.
// noSchema is as in Options.
func WriteParts(parts Parts, table string, src profile.Source, noSchema bool) error {
	w := &PartWriter{Limit: parts.Limit, NoSchema: noSchema, Only: []string{table},
		Create: func(_ string, n int) (io.WriteCloser, error) { return parts.Create(n) }}
	err := src.Each(w.Add)
	return cmp.Or(err, w.Close())
}

// commGroup is the maximum number of communicators of a row group, since each
// may have a long list of members.
const commGroup = 1 << 10

// WriteParts writes the table communicators.
func (c *Comms) WriteParts(parts Parts) error {
	return writeParts(parts, tableComms, CommColumns, Options[*communicatorRow]{GroupRows: commGroup}, c.Rows)
}

// datasetWaitColumns returns the columns of a dataset's waits: WaitColumns and the job.
func datasetWaitColumns(run string) []Column[profile.Wait] {
	return append([]Column[profile.Wait]{Run(func(profile.Wait) string { return run })}, WaitColumns...)
}

// WriteWaitParts writes the table waits of one job. The waits are sorted by rank
// and event.
func WriteWaitParts(parts Parts, run string, waits []profile.Wait) error {
	return writeParts(parts, tableWaits, datasetWaitColumns(run), Options[profile.Wait]{SortedBy: []string{"rank", "event"}}, waits)
}

func writeParts[T any](parts Parts, name string, cols []Column[T], o Options[T], rows []T) error {
	// Without the Arrow schema, whose types of times are not those of the file,
	// and with which polars does not join words of different tables.
	o.Metadata, o.NoSchema = metadataOf(name, cols), true
	out := NewPartsWriter(parts, cols, o)
	for some := range slices.Chunk(rows, cmp.Or(o.GroupRows, groupRows)) {
		if err := out.Add(slices.Values(some)); err != nil {
			return out.Fail(err)
		}
	}
	return out.Fail(out.Close(nil))
}
