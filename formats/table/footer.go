package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Position returns a WriteSeeker that writes to w. Arrow's file writer needs
// one, but seeks only to find its current position.
func Position(w io.Writer) io.WriteSeeker { return &position{w: w} }

type position struct {
	w  io.Writer
	at int64
}

func (p *position) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return n, err
}

func (p *position) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return p.at, nil
}

// magic is at the beginning and at the end of an Arrow file. The length of the
// footer is before the one at the end.
const magic = "ARROW1"

// Is reports whether a file that begins with head is an Arrow IPC file.
func Is(head []byte) bool { return strings.HasPrefix(string(head), magic) }

// FindFooter returns the offset of the footer of an Arrow file of size bytes.
// It may be negative. The error says whether the file is not an Arrow file or
// was truncated.
func FindFooter(r io.ReaderAt, size int64) (at int64, err error) {
	head, tail := make([]byte, len(magic)), make([]byte, 4+len(magic))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if !Is(head) {
		return 0, fmt.Errorf("no Arrow file: it does not begin with %s", magic)
	}
	if size < int64(len(head)+len(tail)) {
		return 0, fmt.Errorf("truncated after %d bytes", size)
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if string(tail[4:]) != magic {
		return 0, fmt.Errorf("truncated after %d bytes: it does not end with %s", size, magic)
	}
	return size - int64(len(tail)) - int64(binary.LittleEndian.Uint32(tail)), nil
}
