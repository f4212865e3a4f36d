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

// A recording in a run directory is packed: compressed by zstd, with a
// skippable frame before it that identifies it (`zstd -d` unpacks it all the
// same). Most of a small recording is room to grow, and rows of 64 bytes are
// mostly zeros. Unpacked it is exactly the file that the process left, with its
// checksum: packing does not depend on the layout and loses nothing.
var packedMagic = []byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0, 'M', 'P', 'I', 'T', 'R', 'A', 'C', 'E'}

// maxPacked is the size of the longest recording that is packed, in bytes. A
// packed recording is read with all of it in memory.
const maxPacked = 16 << 20

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // cannot happen: the options are valid
	}
	return e
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(err) // cannot happen: the options are valid
	}
	return d
})

// Pack copies a file of size bytes. It packs recordings of at most 16 MiB and
// copies everything else unchanged.
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

// unpack appends the unpacked contents to dst. With an error it returns what
// could be unpacked before the damage.
func unpack(dst, packed []byte) ([]byte, error) {
	raw, err := unpacker().DecodeAll(packed, dst)
	if err != nil {
		err = fmt.Errorf("unpack: %w", err)
	}
	return raw, err
}
