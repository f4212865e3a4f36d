package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// A recording that is brought home is packed: compressed by zstd as it is, with
// a frame before it that other programs skip (`zstd -d` unpacks it) and that
// tells it from whatever else zstd compresses. A process maps tables and logs
// with room to grow, which is most of a small file; and rows of 64 bytes have few
// that are not 0. Unpacked it is the file that the process left, checksum and
// all: packing knows nothing of the layout, and can lose nothing.
var packedMagic = []byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0, 'M', 'P', 'I', 'T', 'R', 'A', 'C', 'E'}

// maxPacked is the longest recording that is packed, as a packed one is read
// with all of it in memory.
const maxPacked = 16 << 20

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are valid
	}
	return e
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(err) // the options are valid
	}
	return d
})

// Pack copies a file of size bytes, packed if it is a recording that is not
// longer than 16 MiB, and else as it is.
func Pack(w io.Writer, r io.Reader, size int64) error {
	if size > maxPacked {
		_, err := io.Copy(w, r)
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxPacked))
	if err != nil {
		return err
	}
	if bytes.HasPrefix(raw, magic) {
		raw = packer().EncodeAll(raw, bytes.Clone(packedMagic))
	}
	_, err = w.Write(raw)
	return err
}

// CanPack tells by how a file starts whether it is a recording that nobody writes
// to any more, as its process ended, and that is not packed yet.
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

// unpack appends what was packed to dst. With an error that is what could be
// unpacked before the damage.
func unpack(dst, packed []byte) ([]byte, error) {
	raw, err := unpacker().DecodeAll(packed, dst)
	if err != nil {
		err = fmt.Errorf("unpack: %w", err)
	}
	return raw, err
}
