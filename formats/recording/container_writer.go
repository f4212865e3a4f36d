package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/profile"
)

// Namer finds the names of the call sites of the profiles that are added.
type Namer interface {
	Add(*profile.Profile)
	Names() profile.Symbols
}

// ContainerWriter writes a packed container.
type ContainerWriter struct {
	w          io.Writer
	at         int64
	names      Namer // may be nil
	dictionary []byte
	packer     *zstd.Encoder
	written    packedParts // reads what was written
	members    []member
	raw        []byte // of the recording that is being added
	columns    []byte
	packed     []byte
	again      []byte
}

// NewContainerWriter starts a container. Close must be called at its end. If names is not nil, it
// finds the names of call sites, which are stored in the container. Names that it does not find are
// looked up when the container is read.
func NewContainerWriter(w io.Writer, names Namer) *ContainerWriter {
	return &ContainerWriter{w: w, names: names, packer: newPacker()}
}

func newPacker(options ...zstd.EOption) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, append(options, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		panic(err) // cannot happen: the options are valid
	}
	return e
}

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
	return w.add(name, r, size, nil)
}

// add adds a recording. known has names of some of its call sites.
func (w *ContainerWriter) add(name string, r io.ReaderAt, size int64, known profile.Symbols) error {
	if size > maxPacked {
		return w.addLong(name, r, size, known)
	}
	w.raw = slices.Grow(w.raw[:0], int(size))[:size]
	if n, err := r.ReadAt(w.raw, 0); int64(n) < size {
		return fmt.Errorf("read recording: byte %d: %w", n, err)
	}
	if Is(w.raw) && !bytes.HasPrefix(w.raw, magic) || isPacked(w.raw) {
		f, err := sniffFile(bytes.NewReader(w.raw), size, w.raw, new([]byte))
		if err == nil && f.damaged > 0 {
			err = errors.New(f.problems[0])
		}
		if err != nil {
			return fmt.Errorf("read recording: %w", err)
		}
		return w.add(name, f.r, f.size, f.names)
	}
	return w.addBytes(name, w.raw, known)
}

// addBytes adds a recording in memory that is not packed.
func (w *ContainerWriter) addBytes(name string, raw []byte, known profile.Symbols) error {
	m := member{name: name}
	blocks := w.note(&m, bytes.NewReader(raw), raw, int64(len(raw)), known)
	packed := w.pack(raw, blocks)
	m.frame.packed, m.frame.size = int64(len(packed)), int64(len(raw))
	if err := w.header(&m); err != nil {
		return err
	}
	return w.write(packed)
}

// pack packs a recording. It returns the recording unpacked if packing does not make it shorter, or
// if unpacking does not give the same bytes again: the packed recording may be the only copy.
func (w *ContainerWriter) pack(raw []byte, blocks []rowBlock) []byte {
	w.columns = appendColumns(w.columns[:0], raw, blocks)
	if len(w.columns) <= maxColumns {
		w.packed = w.packer.EncodeAll(w.columns, w.packed[:0])
		var err error
		if w.again, err = w.written.unpack(w.again[:0], w.packed, len(raw)); err == nil && bytes.Equal(w.again, raw) && len(w.packed) < len(raw) {
			return w.packed
		}
	}
	return raw
}

// addLong adds a recording that is too long to be unpacked in memory.
func (w *ContainerWriter) addLong(name string, r io.ReaderAt, size int64, known profile.Symbols) error {
	m := member{name: name}
	w.note(&m, r, nil, size, known)
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
		return fmt.Errorf("%q is not the name of a recording", m.name)
	}
	m.frame.kind, m.frame.name = recordingFrame, m.name
	if err := w.write(seal(m.frame.header(), nil)); err != nil {
		return err
	}
	m.frame.at = w.at
	w.members = append(w.members, *m)
	return nil
}

// section writes a frame that does not hold a recording, and returns its offset.
func (w *ContainerWriter) section(kind frameKind, raw []byte) (at int64, err error) {
	packed := sectionPacker().EncodeAll(raw, nil)
	if len(packed) >= len(raw) || int64(len(raw)) > maxRatio*int64(len(packed)) {
		packed = raw
	}
	if err := w.write(nil); err != nil {
		return 0, err
	}
	at = w.at
	f := frame{kind: kind, packed: int64(len(packed)), size: int64(len(raw))}
	return at, w.write(append(seal(f.header(), packed), packed...))
}

var sectionPacker = sync.OnceValue(func() *zstd.Encoder { return newPacker() })

// Len returns the number of recordings that were added.
func (w *ContainerWriter) Len() int { return len(w.members) }

// Close writes the names of call sites and the index.
func (w *ContainerWriter) Close() error {
	if w.names == nil {
		return w.close(nil)
	}
	return w.close(w.names.Names())
}

func (w *ContainerWriter) close(names profile.Symbols) error {
	footer := containerFooter{Magic: [8]byte(containerMagic[skippable:])}
	if len(names) > 0 {
		at, err := w.section(namesFrame, encodeNames(names))
		if err != nil {
			return err
		}
		footer.Names = uint64(at)
	}
	if w.dictionary != nil {
		at, err := w.section(dictionaryFrame, w.dictionary)
		if err != nil {
			return err
		}
		footer.Dictionary = uint64(at)
	}
	slices.SortStableFunc(w.members, func(a, b member) int { return compareHeads(a.head, b.head) })
	at, err := w.section(indexFrame, encodeIndex(w.members))
	if err != nil {
		return err
	}
	footer.Index, footer.Size = uint64(at), uint64(w.at+footerSize)
	footer.Checksum = footer.sum()
	return w.write(appendFixed(slices.Clone(footerMagic), footer))
}

// note sets the head of a recording of size bytes that starts with ahead, and whether the recording
// is as its process left it. It passes the call sites to w.names, and returns the positions of the
// rows.
func (w *ContainerWriter) note(m *member, r io.ReaderAt, ahead []byte, size int64, known profile.Symbols) []rowBlock {
	f := newFile(r, size)
	f.ahead, f.names, f.headOnly = ahead, known, w.names == nil
	f.checked = true // it is compared below
	if err := f.open(); err != nil {
		m.head = &Head{Name: m.name, Rank: -1, Unreadable: true}
		return nil
	}
	before := f.damaged
	if len(ahead) > 0 {
		f.checkSum()
	}
	m.checked = f.header.Checksum != 0 && f.damaged == before && len(ahead) > 0
	p := f.profile()
	head := headOf(m.name, p)
	m.head = &head
	if w.names != nil {
		w.names.Add(p)
	}
	return f.rowBlocks()
}

// Pack copies a file of size bytes. A recording of at most 16 MiB becomes a container with this
// recording only, under the given name. Every other file is copied unchanged. names may be nil.
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
