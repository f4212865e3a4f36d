package parquetfile

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/profile"
)

var container = facts.Container{Name: "Parquet", Magic: "PAR1", Open: openGroups}

// Is reports whether a file that begins with head is a Parquet file.
func Is(head []byte) bool { return container.Is(head) }

// Open gives the profiles of a file that Write wrote.
func Open(path string) (*facts.File, error) { return container.OpenFile(path) }

// groups reads the row groups of a file.
type groups struct {
	in    *file.Reader
	n     int
	texts map[string]string // that were read before
}

func openGroups(r io.ReaderAt, size int64) (_ facts.Batches, err error) {
	defer facts.Recovered(&err)
	in, err := file.NewParquetReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return &groups{in: in, texts: map[string]string{}}, nil
}

func (g *groups) Close() error { return g.in.Close() }

// Next implements facts.Batches.
func (g *groups) Next(rows []profile.Row) (_ []profile.Row, err error) {
	defer facts.Recovered(&err)
	if g.n == g.in.NumRowGroups() {
		return rows, io.EOF
	}
	group := g.in.RowGroup(g.n)
	if n := group.NumRows(); n < 0 || n > groupRows {
		return nil, fmt.Errorf("row group %d: %d rows, at most %d are written", g.n, n, groupRows)
	}
	b := &groupReader{group: group, texts: g.texts}
	if rows, err = b.rows(rows); err != nil {
		return nil, fmt.Errorf("row group %d: %w", g.n, err)
	}
	g.n++
	return rows, nil
}

// groupReader reads columns of a row group by name; err is the first that is
// missing or of another type.
type groupReader struct {
	group *file.RowGroupReader
	texts map[string]string
	err   error
}

// rows appends the rows of the group, as far as the columns say what they are.
func (b *groupReader) rows(rows []profile.Row) ([]profile.Row, error) {
	first := len(rows)
	rows = append(rows, make([]profile.Row, b.group.NumRows())...)
	each := rows[first:]
	var wrong error
	number(b, "thread", func(i int, v int32) { each[i].Thread = v })
	number(b, "size_class", func(i int, v int32) {
		if v < 0 || v >= profile.NumSizeClasses {
			wrong = fmt.Errorf("row %d: there is no size class %d", i, v)
		}
		each[i].SizeClass = uint8(v)
	})
	b.text("call", func(i int, s string) { each[i].Call = s })
	classes := make([]string, len(each))
	b.text("class", func(i int, s string) { classes[i] = s })
	b.text("direction", func(i int, s string) {
		c, d, err := facts.ParseKey(classes[i], s)
		if each[i].Class, each[i].Direction = c, d; err != nil {
			wrong = fmt.Errorf("row %d: %w", i, err)
		}
	})
	number(b, "calls", func(i int, v int64) { each[i].Calls = uint64(v) })
	number(b, "messages", func(i int, v int64) { each[i].Messages = uint64(v) })
	number(b, "bytes", func(i int, v int64) { each[i].Bytes = uint64(v) })
	number(b, "time_ns", func(i int, v int64) { each[i].TimeNs = uint64(v) })
	if b.has("time_error_ns") {
		number(b, "time_error_ns", func(i int, v int64) { each[i].TimeErrorNs = uint64(v) })
	}
	number(b, "min_ns", func(i int, v int64) { each[i].MinNs = uint64(v) })
	number(b, "max_ns", func(i int, v int64) { each[i].MaxNs = uint64(v) })
	if b.err != nil {
		return nil, b.err
	}
	return rows, wrong
}

// has tells of a column that older files have not.
func (b *groupReader) has(name string) bool {
	return b.group.MetaData().Schema.ColumnIndexByName(name) >= 0
}

func number[V int32 | int64](b *groupReader, name string, set func(i int, v V)) {
	readColumn(b, name, set)
}

// text reads a column of strings. The memory that they come in is used again.
func (b *groupReader) text(name string, set func(i int, s string)) {
	readColumn(b, name, func(i int, v parquet.ByteArray) {
		s, known := b.texts[string(v)]
		if !known {
			s = string(v)
			b.texts[s] = s
		}
		set(i, s)
	})
}

// chunkRows is how many values are read at once.
const chunkRows = 8 << 10

// typedReader is what the library's readers of columns have in common.
type typedReader[V any] interface {
	ReadBatch(n int64, values []V, defLevels, repLevels []int16) (total int64, valuesRead int, err error)
}

// readColumn calls set for each row that has a value.
func readColumn[V any](b *groupReader, name string, set func(i int, v V)) {
	if b.err != nil {
		return
	}
	in, nulls, err := columnNamed[V](b.group, name)
	if err != nil {
		b.err = err
		return
	}
	values, levels := make([]V, chunkRows), make([]int16, chunkRows)
	for row, n := 0, int(b.group.NumRows()); row < n; {
		total, _, err := in.ReadBatch(int64(min(n-row, chunkRows)), values, levels, nil)
		if err == nil && total == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			b.err = fmt.Errorf("damaged: column %s: %w", name, err)
			return
		}
		next := 0
		for i := range int(total) {
			if !nulls || levels[i] == 1 {
				set(row+i, values[next])
				next++
			}
		}
		row += int(total)
	}
}

func columnNamed[V any](group *file.RowGroupReader, name string) (in typedReader[V], nulls bool, err error) {
	i := group.MetaData().Schema.ColumnIndexByName(name)
	if i < 0 {
		return nil, false, fmt.Errorf("no column %s", name)
	}
	chunk, err := group.Column(i)
	if err != nil {
		return nil, false, fmt.Errorf("damaged: column %s: %w", name, err)
	}
	in, ok := chunk.(typedReader[V])
	if !ok {
		return nil, false, fmt.Errorf("column %s is not of its type", name)
	}
	return in, chunk.Descriptor().MaxDefinitionLevel() > 0, nil
}
