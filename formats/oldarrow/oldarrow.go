// Package oldarrow reads the profile.arrow that mpitrace wrote before its columns told
// everything: it has a hidden part, and may be the only copy of a run. Nothing writes such
// files. `mpitrace export` converts them.
//
// The hidden part, which other readers ignore, holds everything that had no column, process
// by process. A checksum protects the whole file.
package oldarrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// File is a profile.Source that reads a file. Each profile has its rows in
// their original order, its communicators and its counts. Of the modules it has
// only those that contain a call site.
type File struct {
	path    string
	rows    Rows
	shared  *shared
	symbols profile.Symbols
}

// Rows iterates over the rows of a file, with the fields that have a column.
type Rows func(path string) iter.Seq2[profile.Row, error]

// Open opens a file, and reads the data that its profiles share. It does not
// compare the checksum; Each does. The error is ErrNoSeal for a file without a
// hidden part.
func Open(path string, rows Rows) (*File, error) {
	f := &File{path: path, rows: rows}
	err := atomicfile.ReadAt(path, "read arrow file", func(r io.ReaderAt, size int64) (err error) {
		_, f.shared, err = openHeader(r, size)
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
	var failed error // the error of the function `each`; it is returned without the file's name
	err := atomicfile.ReadAt(f.path, "read arrow file", func(r io.ReaderAt, size int64) error {
		return readProfiles(r, size, f.rows(f.path), func(p *profile.Profile) error {
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

// openHeader finds the parts of a file of size bytes, and reads the data that
// its processes share.
func openHeader(r io.ReaderAt, size int64) (s sealed, common *shared, err error) {
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
	case common.Format != "2" && common.Format != "3":
		return s, nil, fmt.Errorf("written in format version %q, this reads versions 2 and 3", common.Format)
	case common.Table != table.ProfileFile:
		return s, nil, fmt.Errorf("holds the table of %s, not a profile", common.Table)
	}
	return s, common, nil
}

// readProfiles calls each with the profiles of a file of size bytes, whose rows are given.
func readProfiles(r io.ReaderAt, size int64, all iter.Seq2[profile.Row, error], each func(*profile.Profile) error) error {
	s, common, err := openHeader(r, size)
	if err != nil {
		return err
	}
	if err := s.check(r); err != nil {
		return err
	}
	next, stop := iter.Pull2(all)
	defer stop()
	rows := rowReader{next}
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
	if _, err := rows.read(); err == nil {
		return errors.New("it has more rows than its header speaks of")
	} else if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return nil
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

// rowReader distributes the rows of a table to the processes, whose rows follow
// each other in the table.
type rowReader struct {
	next func() (profile.Row, error, bool)
}

func (rr *rowReader) profile(common *shared, info *processInfo, keys []byte) (*profile.Profile, error) {
	p, err := common.profile(info)
	if err != nil {
		return nil, err
	}
	if info.Rows > len(keys) { // a key takes at least one byte
		return nil, fmt.Errorf("%w: keys of %d rows in %d bytes", errPacked, info.Rows, len(keys))
	}
	for range info.Rows {
		row, err := rr.read()
		if err != nil {
			return nil, fmt.Errorf("its rows: %w", err)
		}
		p.Rows = append(p.Rows, row)
	}
	if p.Physical != nil {
		for _, f := range p.Physical.Flows {
			if f.Kind != profile.Internal {
				continue
			}
			if _, err := rr.read(); err != nil { // the hidden part has its contents, too
				return nil, fmt.Errorf("its rows of class %s: %w", table.Internal, err)
			}
		}
	}
	return p, unpackKeys(keys, p.Rows)
}

// read returns the next row, with the fields that have a column. It returns
// io.ErrUnexpectedEOF after the last one.
func (rr *rowReader) read() (profile.Row, error) {
	row, err, ok := rr.next()
	if !ok && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return row, err
}
