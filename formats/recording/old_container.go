package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Packed containers of the first format, and packed recordings in files of their own, are still
// read but no longer written. In such a container, a frame's header is an oldHeader and the name;
// the payload is the recording in a zstd frame, without a dictionary. The index is not packed. A
// recording in a file of its own is a zstd frame after packedMagic.
var (
	packedMagic    = []byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0, 'M', 'P', 'I', 'T', 'R', 'A', 'C', 'E'}
	oldFooterMagic = []byte{0x53, 0x2a, 0x4d, 0x18, 32, 0, 0, 0}
	oldFrameTag    = [8]byte{'M', 'P', 'I', 'T', 'R', 'A', 'C', 'E'}
)

type oldHeader struct {
	Tag        [8]byte // oldFrameTag
	Packed     uint64
	Size       uint64
	NameLength uint32
	Checksum   uint32 // of this header with 0 here, and of the name
}

type oldFooter struct {
	Index    uint64 // its offset
	Size     uint64
	Checksum uint32
	Reserved uint32
	Magic    [8]byte // as in oldContainerMagic
}

func (c *Container) oldIndex() ([]member, error) {
	size := int64(len(oldFooterMagic) + binary.Size(oldFooter{}))
	raw := make([]byte, size)
	if _, err := c.in.ReadAt(raw, max(c.size-size, 0)); err != nil || !bytes.HasPrefix(raw, oldFooterMagic) {
		return nil, errors.New("truncated: no footer")
	}
	var f oldFooter
	binary.Decode(raw[len(oldFooterMagic):], little, &f) // cannot fail: raw has its size
	if f.Magic != [8]byte(oldContainerMagic[skippable:]) || f.Index > uint64(c.size) || f.Size > uint64(c.size)-f.Index || f.Size > maxIndex {
		return nil, errors.New("the footer is damaged")
	}
	index := make([]byte, f.Size)
	if _, err := c.in.ReadAt(index, int64(f.Index)); err != nil {
		return nil, err
	}
	if crc32.Checksum(index, castagnoli) != f.Checksum {
		return nil, errIndex
	}
	return decodeIndex(index, int64(f.Index))
}

func (c *Container) oldFrameAt(at int64) (f frame, ok bool) {
	head := skippable + binary.Size(oldHeader{})
	raw := make([]byte, head+1<<12)
	n, _ := c.in.ReadAt(raw, at)
	var h oldHeader
	if n < head || raw[0] != byte(recordingFrame) || !bytes.Equal(raw[1:4], frameMark) {
		return f, false
	}
	binary.Decode(raw[skippable:head], little, &h) // cannot fail: it has this size
	if h.Tag != oldFrameTag || int64(h.NameLength) > int64(n-head) || h.Packed > 1<<62 || h.Size > 1<<62 {
		return f, false
	}
	name := raw[head:][:h.NameLength]
	return frame{recordingFrame, at + int64(head) + int64(h.NameLength), int64(h.Packed), int64(h.Size), string(name), 0}, h.sum(name) == h.Checksum
}

func (h oldHeader) sum(name []byte) uint32 {
	h.Checksum = 0
	return crc32.Update(crc32.Checksum(appendFixed(nil, h), castagnoli), castagnoli, name)
}

// unpack appends the recording in a zstd frame. With an error it appends what could be
// unpacked before the damage.
func unpack(to, packed []byte) ([]byte, error) {
	raw, err := unpacker().DecodeAll(packed, to)
	if err != nil {
		err = fmt.Errorf("unpack: %w", err)
	}
	return raw, err
}
