package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// File is a profile.Source that reads a file. Each profile has its rows in
// their original order, its communicators and its counts. Of the modules it has
// only those that contain a call site.
type File struct {
	path    string
	shared  *shared
	symbols profile.Symbols
}

// Open opens a profile.arrow that WriteProfile wrote, and reads the data that
// its profiles share. It does not compare the checksum; Each does.
func Open(path string) (*File, error) {
	f := &File{path: path}
	err := atomicfile.ReadAt(path, "read arrow file", func(r io.ReaderAt, size int64) (err error) {
		_, f.shared, err = openHeader(r, size, tableProfile)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.symbols = f.shared.symbols()
	return f, nil
}

// Each implements profile.Source. It keeps one batch of rows and one block of
// processes in memory.
func (f *File) Each(each func(*profile.Profile) error) error {
	var failed error // the error of each, which does not get the file's name
	err := atomicfile.ReadAt(f.path, "read arrow file", func(r io.ReaderAt, size int64) error {
		return readProfiles(r, size, openBatches, func(p *profile.Profile) error {
			failed = each(p)
			return failed
		})
	})
	if failed != nil {
		return failed
	}
	return err
}

// Symbols returns the names of the call sites.
func (f *File) Symbols() profile.Symbols { return f.symbols }

// check returns an error if the file is damaged or does not hold the given
// table.
func check(path, table string) error {
	return atomicfile.ReadAt(path, "read arrow file", func(r io.ReaderAt, size int64) error {
		s, _, err := openHeader(r, size, table)
		if err != nil {
			return err
		}
		return s.check(r)
	})
}

// openHeader finds the parts of a file of size bytes, which must hold the given
// table, and reads the data that its processes share.
func openHeader(r io.ReaderAt, size int64, table string) (s sealed, common *shared, err error) {
	if s, err = findSeal(r, size); err != nil {
		return s, nil, err
	}
	size = s.seal - int64(lengthsLen) - s.shared
	if size > maxPacked {
		return s, nil, fmt.Errorf("damaged: a header of %d bytes", size)
	}
	packed := make([]byte, size)
	if _, err := r.ReadAt(packed, s.shared); err != nil {
		return s, nil, err
	}
	text, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return s, nil, fmt.Errorf("damaged: header: %w", err)
	}
	if common, err = parseShared(text); err != nil {
		return s, nil, err
	}
	switch {
	case common.Format != FormatVersion && common.Format != oldFormatVersion:
		return s, nil, fmt.Errorf("written in format version %q, this reads versions %q and %q", common.Format, oldFormatVersion, FormatVersion)
	case common.Table != table && table == tableProfile:
		return s, nil, fmt.Errorf("holds the table of %s, not a profile", common.Table)
	case common.Table != table:
		return s, nil, fmt.Errorf("holds the table of %s, not of %s", common.Table, table)
	}
	return s, common, nil
}

// rowSource reads the rows of a file in batches.
type rowSource interface {
	// next appends the next batch of rows, with the fields that have a column.
	// It returns io.EOF after the last batch.
	next(rows []profile.Row) ([]profile.Row, error)
	close() error
}

// readProfiles calls each with the profiles of a file of size bytes.
func readProfiles(r io.ReaderAt, size int64, open func(io.ReaderAt, int64) (rowSource, error), each func(*profile.Profile) error) error {
	s, common, err := openHeader(r, size, tableProfile)
	if err != nil {
		return err
	}
	if err := s.check(r); err != nil {
		return err
	}
	batches, err := open(r, size)
	if err != nil {
		return err
	}
	defer batches.close()
	rows := rowReader{next: batches.next}
	symbols := common.symbols()
	err = eachProcess(io.NewSectionReader(r, s.blocks, s.shared-s.blocks), common, func(info *processInfo, keys []byte) error {
		p, err := rows.profile(common, info, keys)
		if err != nil {
			return fmt.Errorf("rank %d: %w", info.Rank, err)
		}
		p.Symbols = symbols
		return each(p)
	})
	if err != nil {
		return err
	}
	return rows.end()
}

// eachProcess reads the blocks of processes and calls f for each process. The
// keys are valid only during the call.
func eachProcess(r *io.SectionReader, common *shared, f func(info *processInfo, keys []byte) error) error {
	var raw []byte
	in := blockReader{r: r}
	for n := 0; ; {
		block, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			raw, err = unpacker().DecodeAll(block, raw[:0])
		}
		if err != nil {
			return fmt.Errorf("damaged: processes from %d on: %w", n, err)
		}
		for rest := raw; len(rest) > 0; n++ {
			var text, keys []byte
			if text, keys, rest, err = cutProcess(rest); err != nil {
				return fmt.Errorf("damaged: process %d: %w", n, err)
			}
			info, err := common.parseProcess(text)
			if err != nil {
				return fmt.Errorf("process %d: %w", n, err)
			}
			if err := f(info, keys); err != nil {
				return err
			}
		}
	}
}

func cutProcess(raw []byte) (text, keys, rest []byte, err error) {
	if text, rest, err = cutPart(raw); err == nil {
		keys, rest, err = cutPart(rest)
	}
	return text, keys, rest, err
}

// cutPart splits a part off raw. It is the inverse of appendPart.
func cutPart(raw []byte) (part, rest []byte, err error) {
	n, used := binary.Uvarint(raw)
	if used <= 0 || n > uint64(len(raw)-used) {
		return nil, nil, fmt.Errorf("%w: it is cut off", errPacked)
	}
	raw = raw[used:]
	return raw[:n:n], raw[n:], nil
}

// blockReader reads blocks of processes.
type blockReader struct {
	r   *io.SectionReader
	at  int64
	buf []byte
}

// next returns the next block. It is valid until the following call.
func (b *blockReader) next() ([]byte, error) {
	if b.at == b.r.Size() {
		return nil, io.EOF
	}
	head := make([]byte, min(binary.MaxVarintLen64, b.r.Size()-b.at))
	if _, err := b.r.ReadAt(head, b.at); err != nil {
		return nil, err
	}
	n, used := binary.Uvarint(head)
	if used <= 0 || n > uint64(b.r.Size()-b.at-int64(used)) || n > maxPacked {
		return nil, fmt.Errorf("%w: a block is cut off", errPacked)
	}
	if uint64(cap(b.buf)) < n {
		b.buf = make([]byte, n)
	}
	_, err := b.r.ReadAt(b.buf[:n], b.at+int64(used))
	b.at += int64(used) + int64(n)
	return b.buf[:n], err
}

// recovered turns a panic into an error. The Arrow library panics on some
// damaged files.
func recovered(err *error) {
	if trouble := recover(); trouble != nil {
		*err = fmt.Errorf("damaged: %v", trouble)
	}
}

// rowReader distributes the rows of a table to the processes, whose rows follow
// each other in the table.
type rowReader struct {
	next func([]profile.Row) ([]profile.Row, error)
	buf  []profile.Row // the current batch
	rest []profile.Row // the part of buf that is not yet used
}

func (rr *rowReader) profile(common *shared, info *processInfo, keys []byte) (*profile.Profile, error) {
	p, err := common.profile(info)
	if err != nil {
		return nil, err
	}
	if info.Rows > len(keys) { // a key takes at least one byte
		return nil, fmt.Errorf("%w: keys of %d rows in %d bytes", errPacked, info.Rows, len(keys))
	}
	if info.Rows > 0 {
		p.Rows = make([]profile.Row, 0, info.Rows)
	}
	for len(p.Rows) < info.Rows {
		if err := rr.fill(); err != nil {
			return nil, fmt.Errorf("its rows: %w", err)
		}
		n := min(len(rr.rest), info.Rows-len(p.Rows))
		p.Rows = append(p.Rows, rr.rest[:n]...)
		rr.rest = rr.rest[n:]
	}
	if err := rr.skip(len(internalRows(p))); err != nil {
		return nil, fmt.Errorf("its rows of class %s: %w", Internal, err)
	}
	return p, unpackKeys(keys, p.Rows)
}

// skip skips n rows, whose contents are also in the header.
func (rr *rowReader) skip(n int) error {
	for n > 0 {
		if err := rr.fill(); err != nil {
			return err
		}
		k := min(n, len(rr.rest))
		rr.rest = rr.rest[k:]
		n -= k
	}
	return nil
}

// fill reads the next batch if no rows are left. It returns io.ErrUnexpectedEOF
// after the last one.
func (rr *rowReader) fill() (err error) {
	for len(rr.rest) == 0 && err == nil {
		rr.buf, err = rr.next(rr.buf[:0])
		rr.rest = rr.buf
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// end returns an error if rows are left.
func (rr *rowReader) end() error {
	switch err := rr.fill(); {
	case err == nil:
		return errors.New("it has more rows than its header speaks of")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	default:
		return err
	}
}
