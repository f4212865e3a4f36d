package tracefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// index is mpitrace's own part of a file. It is before the footer; other
// readers ignore it, since the footer does not refer to it:
//
//	JSON compressed with zstd
//	8 bytes  its length
//	4 bytes  sealMark, 4 bytes CRC-32C of the index, the length and the footer
//
// It has a checksum of each batch, since readers skip batches, and one of
// everything else. A reader compares all lengths in the index with the file's
// size and with limits before it uses them. It does not parse Arrow's
// own metadata.
type index struct {
	Format  string         `json:"format"`
	Trace   *profile.Trace `json:"trace"`
	Rest    uint32         `json:"rest"` // CRC-32C of the bytes before the first batch and of those between the last batch and the index
	Batches []batchIndex   `json:"batches"`
	kindTable
}

// batchIndex is the position of a record batch in the file, and a summary of its
// contents.
type batchIndex struct {
	Offset int64  `json:"offset"` // in the file
	Meta   int    `json:"meta"`   // length in bytes of the part before the body
	Body   int    `json:"body"`   // length in bytes
	Sum    uint32 `json:"sum"`    // CRC-32C of both parts
	Rows   int    `json:"rows"`
	From   int64  `json:"from_ns"` // earliest start of an event
	To     int64  `json:"to_ns"`   // latest end of an event
	// Parts holds the offset in the body, and the length, of the values of each
	// column that is read back.
	Parts [numRead][2]int `json:"parts"`
}

func (b *batchIndex) end() int64 { return b.Offset + int64(b.Meta) + int64(b.Body) }

const (
	sealMark = "MPTE"
	sealLen  = 8 + len(sealMark) + 4
)

// Limits of a reader: size in bytes of the index, compressed or not; rows of a
// batch; bytes that a row takes if it cannot be compressed.
const (
	maxIndex   = 1 << 30
	maxRows    = 1 << 20
	maxRowSize = 128
)

var (
	errNotSealed = errors.New("not as mpitrace writes it: it has no index; only a file that no other program has written can be read back")
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
)

// packer uses the fastest level of zstd: see the package's comment. valueUnpacker decompresses into
// the memory that it is given, and allocates no more.
var (
	packer        = table.Packer(zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	unpacker      = table.Unpacker(zstd.WithDecoderMaxMemory(maxIndex), zstd.WithDecoderConcurrency(0))
	valueUnpacker = table.Unpacker(zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
)

// seal returns the index as stored in the file. footer is the footer that will
// follow it.
func (x *index) seal(footer []byte) ([]byte, error) {
	text, err := x.text()
	if err != nil {
		return nil, err
	}
	return sealText(text, footer), nil
}

func (x *index) text() ([]byte, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("make index: %w", err)
	}
	return text, nil
}

func sealText(text, footer []byte) []byte {
	raw := packer().EncodeAll(text, nil)
	raw = little.AppendUint64(raw, uint64(len(raw)))
	sum := crc32.Update(crc32.Checksum(raw, castagnoli), castagnoli, footer)
	return little.AppendUint32(append(raw, sealMark...), sum)
}

// readIndex reads and checks the index of a file of size bytes. It also
// compares the checksum of everything except the batches.
func readIndex(r io.ReaderAt, size int64) (*index, error) {
	raw, at, err := readSealed(r, size)
	if err != nil {
		return nil, err
	}
	text, err := unpacker().DecodeAll(raw, nil)
	if err != nil {
		return nil, fmt.Errorf("damaged: index: %w", err)
	}
	x := new(index)
	if err := json.Unmarshal(text, x); err != nil {
		return nil, fmt.Errorf("damaged: index: %w", err)
	}
	switch {
	case x.Format != FormatVersion:
		return nil, fmt.Errorf("written in format version %q, this reads version %q: make it again from the recordings (mpitrace collect)", x.Format, FormatVersion)
	case x.Trace == nil:
		return nil, errors.New("damaged: the index has no trace")
	}
	return x, x.check(r, at)
}

// readSealed returns the compressed index, and the offset at which it begins.
func readSealed(r io.ReaderAt, size int64) (raw []byte, at int64, err error) {
	end, err := table.FindFooter(r, size)
	if err != nil {
		return nil, 0, err
	}
	if end < int64(headLen+sealLen) || size-end > maxIndex {
		return nil, 0, errNotSealed
	}
	after, err := readPart(r, end-int64(sealLen), size)
	if err != nil {
		return nil, 0, err
	}
	if string(after[8:][:len(sealMark)]) != sealMark {
		return nil, 0, errNotSealed
	}
	length := little.Uint64(after)
	if length > maxIndex || int64(length) > end-int64(sealLen) {
		return nil, 0, fmt.Errorf("damaged: an index of %d bytes", length)
	}
	at = end - int64(sealLen) - int64(length)
	if raw, err = readPart(r, at, end-int64(sealLen)); err != nil {
		return nil, 0, err
	}
	sum := crc32.Update(crc32.Checksum(raw, castagnoli), castagnoli, after[:8])
	sum = crc32.Update(sum, castagnoli, after[sealLen:])
	if said := little.Uint32(after[sealLen-4:]); sum != said {
		return nil, 0, fmt.Errorf("damaged: the checksum of the index is %08x, but %08x was recorded", sum, said)
	}
	return raw, at, nil
}

func readPart(r io.ReaderAt, from, to int64) ([]byte, error) {
	part := make([]byte, to-from)
	_, err := r.ReadAt(part, from)
	if errors.Is(err, io.EOF) {
		err = nil // ReadAt may return EOF for a part at the end of the file
	}
	return part, err
}

// check compares the batches in the index with the limits and with each other,
// and the checksum of the bytes before the first and after the last batch. end
// is the offset of the index.
func (x *index) check(r io.ReaderAt, end int64) error {
	at := int64(0)
	sum := crc32.New(castagnoli)
	for i := range x.Batches {
		b := &x.Batches[i]
		switch {
		case b.Rows < 1 || b.Rows > maxRows || b.Meta < 0 || b.Body < 0 || b.Meta > maxIndex || b.Body > b.Rows*maxRowSize+maxRows:
			return fmt.Errorf("damaged: batch %d has %d rows in %d and %d bytes", i, b.Rows, b.Meta, b.Body)
		case b.Offset < at || b.Offset > end || b.end() > end || i > 0 && b.Offset != at:
			return fmt.Errorf("damaged: batch %d is from byte %d to %d", i, b.Offset, b.end())
		}
		if i == 0 {
			if _, err := io.Copy(sum, io.NewSectionReader(r, 0, b.Offset)); err != nil {
				return err
			}
		}
		for column, part := range b.Parts {
			if part[0] < 0 || part[1] < 0 || part[0] > b.Body || part[1] > b.Body-part[0] {
				return fmt.Errorf("damaged: batch %d: column %d is %d bytes at %d of %d", i, column, part[1], part[0], b.Body)
			}
		}
		at = b.end()
	}
	if _, err := io.Copy(sum, io.NewSectionReader(r, at, end-at)); err != nil {
		return err
	}
	if sum.Sum32() != x.Rest {
		return fmt.Errorf("damaged: the checksum of schema and dictionaries is %08x, %08x when they were written", sum.Sum32(), x.Rest)
	}
	return nil
}
