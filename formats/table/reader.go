package table

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/mpitrace/mpitrace/profile"
)

// Read returns all profiles of a file.
func Read(path string) ([]*profile.Profile, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	var ps []*profile.Profile
	err = f.Each(func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	return ps, err
}

// ReadSymbols returns the names of call sites in a file, without reading its
// rows.
func ReadSymbols(path string) (profile.Symbols, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f.Symbols(), nil
}

// batches reads the record batches of a file.
type batches struct {
	in      *ipc.FileReader
	n       int
	decoder decoder
}

func openBatches(r io.ReaderAt, size int64) (_ rowSource, err error) {
	defer recovered(&err)
	in, err := ipc.NewFileReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return &batches{in: in}, nil
}

func (b *batches) close() error { return b.in.Close() }

// next implements rowSource.
func (b *batches) next(rows []profile.Row) (_ []profile.Row, err error) {
	defer recovered(&err)
	if b.n == b.in.NumRecords() {
		return rows, io.EOF
	}
	batch, err := b.in.RecordAt(b.n)
	if err != nil {
		return nil, fmt.Errorf("damaged: record batch %d: %w", b.n, err)
	}
	defer batch.Release()
	if rows, err = b.decoder.rows(batch, rows); err != nil {
		return nil, fmt.Errorf("record batch %d: %w", b.n, err)
	}
	b.n++
	return rows, nil
}
