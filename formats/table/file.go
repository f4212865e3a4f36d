package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// File is a profile.Source: the profiles of a file, each with its rows in their
// order, its communicators and counts. Of the modules only those are there that
// hold a call site.
type File struct {
	path    string
	shared  *shared
	symbols profile.Symbols
}

// Open checks that path is a profile.arrow that WriteProfile wrote, and reads what
// its profiles share. Whether it is whole is found out by Each.
func Open(path string) (*File, error) {
	f := &File{path: path}
	err := withFile(path, func(r io.ReaderAt, size int64) (err error) {
		_, f.shared, err = openHeader(r, size, tableProfile)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.symbols = f.shared.symbols()
	return f, nil
}

// Each implements profile.Source. It holds a batch of rows and a block of
// processes at a time.
func (f *File) Each(each func(*profile.Profile) error) error {
	var failed error // of each, and not of the file
	err := withFile(f.path, func(r io.ReaderAt, size int64) error {
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

// Symbols are the names of the call sites.
func (f *File) Symbols() profile.Symbols { return f.symbols }

func withFile(path string, do func(io.ReaderAt, int64) error) error {
	file, err := atomicfile.Open(path, atomicfile.AnySize)
	if err != nil {
		return fmt.Errorf("read arrow file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read arrow file: %w", err)
	}
	if err := do(file, info.Size()); err != nil {
		return fmt.Errorf("read arrow file %s: %w", path, err)
	}
	return nil
}

// check reads a file of another table, and reports whether it is whole.
func check(path, table string) error {
	return withFile(path, func(r io.ReaderAt, size int64) error {
		s, _, err := openHeader(r, size, table)
		if err != nil {
			return err
		}
		return s.check(r)
	})
}

// openHeader finds the parts of a file of size bytes, which holds this table, and
// reads what its processes share.
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
		return s, nil, fmt.Errorf("it is the table of %s, not of what was communicated", common.Table)
	case common.Table != table:
		return s, nil, fmt.Errorf("it is the table of %s, not of %s", common.Table, table)
	}
	return s, common, nil
}

// rowSource gives the rows of a file, many at a time.
type rowSource interface {
	// next appends the next rows, as far as columns say what they are; io.EOF
	// is after the last.
	next(rows []profile.Row) ([]profile.Row, error)
	close() error
}

// readProfiles gives each profile of a file of size bytes.
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

// eachProcess reads blocks of processes. The keys are valid during the call.
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

// cutPart is the inverse of appendPart.
func cutPart(raw []byte) (part, rest []byte, err error) {
	n, used := binary.Uvarint(raw)
	if used <= 0 || n > uint64(len(raw)-used) {
		return nil, nil, fmt.Errorf("%w: it is cut off", errPacked)
	}
	raw = raw[used:]
	return raw[:n:n], raw[n:], nil
}

// blockReader cuts blocks.
type blockReader struct {
	r   *io.SectionReader
	at  int64
	buf []byte
}

// next is a block, valid until the next one.
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

// recovered makes an error of a panic, as the library panics where what it reads is
// wrong.
func recovered(err *error) {
	if trouble := recover(); trouble != nil {
		*err = fmt.Errorf("damaged: %v", trouble)
	}
}

// rowReader deals the rows of a table out to the processes, which have them one
// after the other.
type rowReader struct {
	next func([]profile.Row) ([]profile.Row, error)
	buf  []profile.Row // of the latest batch
	rest []profile.Row // of buf
}

func (rr *rowReader) profile(common *shared, info *processInfo, keys []byte) (*profile.Profile, error) {
	p, err := common.profile(info)
	if err != nil {
		return nil, err
	}
	if info.Rows > len(keys) { // a key takes some bytes
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

// skip goes over rows that the header has as well.
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

// fill reads on if there is no row left; io.ErrUnexpectedEOF is after the last.
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

// end checks that no rows are left.
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
