package oldarrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/mpitrace/mpitrace/formats/table"
)

// The hidden part is before the footer:
//
//	blocks   processes (see processInfo)
//	shared   what the processes share, compressed JSON
//	8 bytes  length of blocks, 8 bytes length of shared
//	4 bytes  sealMark, 4 bytes CRC-32C of all bytes of the file except these eight
const (
	sealMark    = "MPT2"
	oldSealMark = "MPTR" // of format version 1
	sealLen     = len(sealMark) + 4
	lengthsLen  = 2 * 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrNoSeal is the error for a file that has no hidden part.
var ErrNoSeal = errors.New("it has no hidden part")

var errOldFormat = errors.New("written in format version 1, this reads versions 2 and 3: make it again from the recordings (mpitrace collect)")

// sealed holds the positions of the parts of a file.
type sealed struct {
	blocks, shared, seal, size int64 // offsets; shared ends lengthsLen before the seal
	sum                        uint32
}

// findSeal finds the parts of a file.
func findSeal(r io.ReaderAt, size int64) (s sealed, err error) {
	footer, err := table.FindFooter(r, size)
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
		return ErrNoSeal
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
		return ErrNoSeal
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
