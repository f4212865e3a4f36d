package recording

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// maxPacked is the size in bytes of the longest recording that is packed. A packed recording is
// held in memory as a whole when it is read.
const maxPacked = 16 << 20

// maxColumns is the largest size of a packed recording by columns.
const maxColumns = maxPacked + maxPacked/8

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	return newDecoder(zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))
})

func newDecoder(options ...zstd.DOption) *zstd.Decoder {
	d, err := zstd.NewReader(nil, options...)
	if err != nil {
		panic(err) // cannot happen: the options are valid
	}
	return d
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
