package recording

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// ContainerWriter writes a packed container.
type ContainerWriter struct {
	w       io.Writer
	at      int64
	members []member
	raw     []byte // of the recording that is being added
	packed  []byte
}

// NewContainerWriter starts a container. Close must be called at its end.
func NewContainerWriter(w io.Writer) *ContainerWriter { return &ContainerWriter{w: w} }

// containerPacker packs the recordings of a container: a job has many, and the
// time per recording counts.
var containerPacker = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(0))
	if err != nil {
		panic(err) // cannot happen: the options are valid
	}
	return e
})

func (w *ContainerWriter) write(b []byte) error {
	if w.at == 0 {
		if _, err := w.w.Write(containerMagic); err != nil {
			return err
		}
		w.at = int64(len(containerMagic))
	}
	n, err := w.w.Write(b)
	w.at += int64(n)
	return err
}

// Add adds a recording with this file name: size bytes, packed or not. A
// recording that cannot be read is added as it is.
func (w *ContainerWriter) Add(name string, r io.ReaderAt, size int64) error {
	if size > maxPacked {
		return w.addLong(name, r, size)
	}
	w.raw = slices.Grow(w.raw[:0], int(size))[:size]
	if n, err := r.ReadAt(w.raw, 0); int64(n) < size {
		return fmt.Errorf("read recording: byte %d: %w", n, err)
	}
	raw := w.raw
	if bytes.HasPrefix(raw, packedMagic) {
		unpacked, err := unpack(nil, raw)
		if err == nil {
			raw = unpacked
		}
	}
	return w.AddBytes(name, raw)
}

// AddBytes is like Add, for a recording in memory that is not packed.
func (w *ContainerWriter) AddBytes(name string, raw []byte) error {
	m := member{name: name}
	m.head, m.checked = rawHead(name, bytes.NewReader(raw), raw, int64(len(raw)))
	w.packed = containerPacker().EncodeAll(raw, w.packed[:0])
	if len(w.packed) >= len(raw) {
		w.packed = append(w.packed[:0], raw...)
	}
	m.frame.packed, m.frame.size = int64(len(w.packed)), int64(len(raw))
	if err := w.header(&m); err != nil {
		return err
	}
	return w.write(w.packed)
}

// addLong adds a recording that is too long to be unpacked in memory.
func (w *ContainerWriter) addLong(name string, r io.ReaderAt, size int64) error {
	m := member{name: name}
	m.head, _ = rawHead(name, r, nil, size)
	m.frame.packed, m.frame.size = size, size
	if err := w.header(&m); err != nil {
		return err
	}
	n, err := io.Copy(w.w, io.NewSectionReader(r, 0, size))
	w.at += n
	if err == nil && n < size {
		err = fmt.Errorf("read recording: byte %d: %w", n, io.ErrUnexpectedEOF)
	}
	return err
}

// header writes the header of a recording, and adds it to the index.
func (w *ContainerWriter) header(m *member) error {
	if !recordingName(m.name) {
		return fmt.Errorf("%q is no name of a recording", m.name)
	}
	h := frameHeader{Tag: frameTag, Packed: uint64(m.frame.packed), Size: uint64(m.frame.size), NameLength: uint32(len(m.name))}
	h.Checksum = h.sum([]byte(m.name))
	raw := little.AppendUint32(slices.Clone(frameMagic), uint32(frameHeaderSize)+h.NameLength)
	if err := w.write(append(appendFixed(raw, h), m.name...)); err != nil {
		return err
	}
	m.frame.at = w.at
	w.members = append(w.members, *m)
	return nil
}

// Len returns the number of recordings that were added.
func (w *ContainerWriter) Len() int { return len(w.members) }

// Close writes the index.
func (w *ContainerWriter) Close() error {
	slices.SortStableFunc(w.members, func(a, b member) int { return compareHeads(a.head, b.head) })
	index := encodeIndex(w.members)
	if err := w.write(little.AppendUint32(slices.Clone(indexMagic), uint32(len(index)))); err != nil {
		return err
	}
	f := containerFooter{Index: uint64(w.at), Size: uint64(len(index)), Checksum: crc32.Checksum(index, castagnoli),
		Magic: [8]byte(containerMagic[skippable:])}
	return w.write(appendFixed(append(index, footerMagic...), f))
}

// rawHead returns the head of a recording of size bytes that starts with ahead,
// and whether it is as its process left it.
func rawHead(name string, r io.ReaderAt, ahead []byte, size int64) (h *Head, checked bool) {
	f := newFile(r, size)
	f.ahead, f.headOnly = ahead, true
	if err := f.open(); err != nil {
		return &Head{Name: name, Rank: -1, Unreadable: true}, false
	}
	before := f.damaged
	if len(ahead) > 0 {
		f.checkSum()
	}
	checked = f.header.Checksum != 0 && f.damaged == before && len(ahead) > 0
	whole := headOf(name, f.profile())
	return &whole, checked
}
