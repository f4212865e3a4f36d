package recording

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// maxPacked is the size of the longest recording that is packed, in bytes. A packed
// recording is read with all of it in memory.
const maxPacked = 16 << 20

// maxColumns is the largest size of a packed recording by columns.
const maxColumns = maxPacked + maxPacked/8

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	return newDecoder(zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))
})

// Pack copies a file of size bytes. A recording of at most 16 MiB becomes a container of
// one, under this name; everything else is copied unchanged. names may be nil.
func Pack(w io.Writer, name string, r io.ReaderAt, size int64, names Namer) error {
	head := make([]byte, len(magic))
	if n, _ := r.ReadAt(head, 0); size > maxPacked || !bytes.Equal(head[:n], magic) {
		_, err := io.Copy(w, io.NewSectionReader(r, 0, size))
		return err
	}
	c := NewContainerWriter(w, names)
	if err := c.Add(name, r, size); err != nil {
		return err
	}
	return c.Close()
}

// CanPack reports whether a file with this beginning is an unpacked recording
// whose process has ended, so that nobody writes to it any more.
func CanPack(head []byte) bool {
	var h layout.Header
	if !bytes.HasPrefix(head, magic) {
		return false
	}
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if _, err := binary.Decode(head, o, &h); err == nil && h.ByteOrder == layout.ByteOrder {
			return h.State == layout.StateFinalized && h.Checksum != 0
		}
	}
	return false
}
