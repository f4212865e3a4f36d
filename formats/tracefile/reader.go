package tracefile

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// File is a profile.EventSource that reads the events of a process from a file
// that Write wrote. It keeps only the index in memory, and does not keep the
// file open.
type File struct {
	with  func(do func(r io.ReaderAt, size int64) error) error // opens the file for the duration of do
	index *index
	kinds []profile.EventKind
}

// Open reads the index of a file. Damage to the events is detected when they
// are read.
func Open(path string) (*File, error) {
	return open(func(do func(io.ReaderAt, int64) error) error { return atomicfile.ReadAt(path, "read trace", do) })
}

// OpenAt reads the index of the trace that in holds, which has size bytes.
func OpenAt(in io.ReaderAt, size int64) (*File, error) {
	return open(func(do func(io.ReaderAt, int64) error) error { return do(in, size) })
}

func open(with func(func(io.ReaderAt, int64) error) error) (*File, error) {
	f := &File{with: with}
	err := with(func(r io.ReaderAt, size int64) (err error) {
		if f.index, err = readIndex(r, size); err == nil {
			f.kinds, err = f.index.kinds()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Trace implements profile.EventSource.
func (f *File) Trace() *profile.Trace { return f.index.Trace }

// Each implements profile.EventSource. It keeps one batch of events in memory.
func (f *File) Each(each func(*profile.Events, []profile.EventKind) error) error {
	return f.each(func(*batchIndex) bool { return true }, each)
}

// EachBetween calls each with the batches that may contain events in progress
// between two moments (Unix ns, both included). Batches are complete; others
// are not read.
func (f *File) EachBetween(from, to int64, each func(*profile.Events, []profile.EventKind) error) error {
	return f.each(func(b *batchIndex) bool { return b.From <= to && b.To >= from }, each)
}

// Span returns the start of the first event and the end of the last (Unix ns).
// ok is false if there are no events.
func (f *File) Span() (from, to int64, ok bool) {
	for i, b := range f.index.Batches {
		if i == 0 {
			from, to = b.From, b.To
		}
		from, to = min(from, b.From), max(to, b.To)
	}
	return from, to, len(f.index.Batches) > 0
}

func (f *File) each(wanted func(*batchIndex) bool, each func(*profile.Events, []profile.EventKind) error) error {
	var failed error // the error of the function `each`; it is returned without the file's name
	err := f.with(func(r io.ReaderAt, _ int64) error {
		var in batchReader
		for i := range f.index.Batches {
			b := &f.index.Batches[i]
			if !wanted(b) {
				continue
			}
			if err := in.read(r, b, len(f.kinds)); err != nil {
				return fmt.Errorf("batch %d, at byte %d: %w", i, b.Offset, err)
			}
			if failed = each(&in.events, f.kinds); failed != nil {
				return failed
			}
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// batchReader reads batches, one at a time, into the same memory.
type batchReader struct {
	raw    []byte
	events profile.Events
}

var errEnds = errors.New("truncated: the file ends within")

func (in *batchReader) read(r io.ReaderAt, b *batchIndex, kinds int) error {
	n := b.Meta + b.Body
	in.raw = slices.Grow(in.raw[:0], n)[:n]
	if got, err := r.ReadAt(in.raw, b.Offset); got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = errEnds
		}
		return err
	}
	if sum := crc32.Checksum(in.raw, castagnoli); sum != b.Sum {
		return fmt.Errorf("damaged: its checksum is %08x, %08x when it was written", sum, b.Sum)
	}
	if err := in.unpack(b); err != nil {
		return err
	}
	if k := slices.Max(in.events.Kind); int(k) >= kinds {
		return fmt.Errorf("damaged: an event of kind %d, and there are %d", k, kinds)
	}
	return nil
}

func (in *batchReader) unpack(b *batchIndex) error {
	body, e := in.raw[b.Meta:], &in.events
	return cmp.Or(
		unpack(&e.Start, body, b, startColumn), unpack(&e.Duration, body, b, durationColumn),
		unpack(&e.Bytes, body, b, bytesColumn), unpack(&e.Tag, body, b, tagColumn),
		unpack(&e.Link, body, b, linkColumn), unpack(&e.Seq, body, b, seqColumn),
		unpack(&e.Kind, body, b, kindColumn))
}

// unpack decompresses the values of a column.
func unpack[V value](to *[]V, body []byte, b *batchIndex, column int) error {
	part := body[b.Parts[column][0]:][:b.Parts[column][1]]
	values := slices.Grow((*to)[:0], b.Rows)[:b.Rows]
	room := arrow.GetBytes(values)
	if len(part) < 8 || little.Uint64(part) != uint64(len(room)) {
		return fmt.Errorf("damaged: column %d is not of %d values", column, b.Rows)
	}
	got, err := valueUnpacker().DecodeAll(part[8:], room[:0:len(room)])
	if err == nil && len(got) != len(room) {
		err = fmt.Errorf("%d bytes, not %d", len(got), len(room))
	}
	if err != nil {
		return fmt.Errorf("damaged: column %d: %w", column, err)
	}
	*to = values
	return nil
}
