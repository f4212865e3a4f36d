package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// An Arrow file has no checksum, and the Arrow library trusts every length in
// it: one flipped bit can make it allocate a terabyte, which a Go program
// cannot recover from. Therefore mpitrace adds a part of its own before the
// footer. Other readers ignore it, since the footer does not refer to it:
//
//	blocks   processes (see header)
//	shared   what the processes share, compressed JSON
//	8 bytes  length of blocks, 8 bytes length of shared
//	4 bytes  sealMark, 4 bytes CRC-32C of all bytes of the file except these eight
//
// The checksum is compared before the Arrow library reads the file.
const (
	sealMark    = "MPT2"
	oldSealMark = "MPTR" // of format version 1
)

const (
	sealLen    = len(sealMark) + 4
	lengthsLen = 2 * 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errNotSealed = errors.New("not as mpitrace writes it: it has no seal; only a file that no other program has written can be read back")

var errOldFormat = fmt.Errorf("written in format version 1, this reads version %s: make it again from the recordings (mpitrace collect)", FormatVersion)

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

// sealed holds the positions of the parts of a file.
type sealed struct {
	blocks, shared, seal, size int64 // offsets; shared ends lengthsLen before the seal
	sum                        uint32
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

// findSeal finds the parts of a file. Its error also says whether the file was
// written by another program.
func findSeal(r io.ReaderAt, size int64) (s sealed, err error) {
	footer, err := FindFooter(r, size)
	if err != nil {
		return s, err
	}
	s = sealed{seal: footer - int64(sealLen), size: size}
	return s, s.find(r)
}

// find reads the positions of the parts from the bytes before the footer.
func (s *sealed) find(r io.ReaderAt) error {
	at := s.seal - int64(lengthsLen)
	if at < 0 {
		return errNotSealed
	}
	raw := make([]byte, lengthsLen+sealLen)
	if _, err := r.ReadAt(raw, at); err != nil {
		return err
	}
	blocks, common := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])
	mark := string(raw[lengthsLen:][:len(sealMark)])
	switch {
	case mark == oldSealMark:
		return errOldFormat
	case mark != sealMark:
		return errNotSealed
	case common > uint64(at) || blocks > uint64(at)-common:
		return fmt.Errorf("damaged: a header of %d and %d bytes", blocks, common)
	}
	s.shared = at - int64(common)
	s.blocks = s.shared - int64(blocks)
	s.sum = binary.LittleEndian.Uint32(raw[lengthsLen+len(sealMark):])
	return nil
}

// check returns an error if the checksum does not match the file.
func (s *sealed) check(r io.ReaderAt) error {
	sum := crc32.New(castagnoli)
	after := s.seal + int64(sealLen)
	for _, part := range []*io.SectionReader{io.NewSectionReader(r, 0, s.seal), io.NewSectionReader(r, after, s.size-after)} {
		if _, err := io.Copy(sum, part); err != nil {
			return err
		}
	}
	if sum.Sum32() != s.sum {
		return fmt.Errorf("damaged: its checksum is %08x, %08x when it was written", sum.Sum32(), s.sum)
	}
	return nil
}
