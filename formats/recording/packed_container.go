package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/profile"
)

// A packed container is the archive of a run: what other files hold can be made from it
// again. It is made when recordings are brought home:
//
//	containerMagic
//	dictionary                     of zstd; only if there are several recordings
//	each recording                 with its name, in a zstd frame with a checksum
//	names of call sites
//	dictionary                     again: without it no recording can be read
//	index
//	footer                         where the dictionary, the names and the index are
//
// Each but the first and the last is a frame: a header, and behind it the payload. A header
// is a skippable frame of zstd, so that a container can be walked without the index:
//
//	4 bytes    the kind of frame
//	4 bytes    size of the rest of the header
//	4 bytes    checksum of what follows, in the header and, if it is no recording, behind it
//	varints    size of the payload; its size unpacked; length of the name
//	the name
//
// If both sizes are equal, the payload is not packed. A recording is packed as columns.go
// describes. All integers are little endian.
var (
	containerMagic    = []byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0, 'M', 'P', 'I', 'N', 'O', 'D', 'E', '2'}
	oldContainerMagic = []byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0, 'M', 'P', 'I', 'N', 'O', 'D', 'E', 'S'}
	footerMagic       = []byte{0x53, 0x2a, 0x4d, 0x18, 48, 0, 0, 0}
)

// skippable is the size of the header of a skippable frame of zstd.
const skippable = 8

// frameKind is the first byte of a frame.
type frameKind byte

const (
	recordingFrame  frameKind = 0x51
	indexFrame      frameKind = 0x52
	dictionaryFrame frameKind = 0x54
	namesFrame      frameKind = 0x55
)

// frameMark follows the kind.
var frameMark = []byte{0x2a, 0x4d, 0x18}

// maxHeader is the largest size of a frame's header in bytes.
const maxHeader = skippable + 4 + 3*binary.MaxVarintLen64 + maxName

// containerFooter is at the end of a container.
type containerFooter struct {
	Dictionary, Names, Index uint64 // offsets of frames; 0 if there is none
	Size                     uint64 // of the container
	Reserved                 uint32
	Checksum                 uint32  // of this struct with 0 here
	Magic                    [8]byte // as in containerMagic
}

var footerSize = int64(len(footerMagic) + binary.Size(containerFooter{}))

// Limits, in bytes: of an index or of names unpacked, of a dictionary, and of what is read at
// once from the end of a container.
const (
	maxIndex      = 1 << 28
	maxDictionary = 1 << 20
	tailSize      = 1 << 16
)

// maxRatio limits how many times larger an unpacked index or list of names may be than in the file,
// so that a small file cannot make a reader use much memory.
const maxRatio = 32

// frame is a part of a packed container. at is the offset of the payload.
type frame struct {
	kind             frameKind
	at, packed, size int64
	name             string
	sum              uint32 // the checksum in the header
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packedParts are what a packed container has besides recordings.
type packedParts struct {
	old        bool   // of the first format, see old_container.go
	tail       []byte // the last bytes of the file, while its end is read
	dictionary []byte
	names      profile.Symbols // of call sites

	once sync.Once // sets the decoder
	*zstd.Decoder
}

func (f frame) header() []byte {
	b := binary.AppendUvarint(make([]byte, skippable+4), uint64(f.packed))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(f.size)), uint64(len(f.name)))
	b = append(b, f.name...)
	b[0] = byte(f.kind)
	copy(b[1:], frameMark)
	little.PutUint32(b[4:], uint32(len(b)-skippable))
	return b
}

// seal stores the checksum in a header. covered is the payload, or nil if the checksum does not
// cover it.
func seal(header, covered []byte) []byte {
	little.PutUint32(header[skippable:], headerSum(header, covered))
	return header
}

func headerSum(header, covered []byte) uint32 {
	sum := crc32.Update(crc32.Checksum(header[:skippable], castagnoli), castagnoli, header[skippable+4:])
	return crc32.Update(sum, castagnoli, covered)
}

// readFrame decodes a header at offset at of the file.
func readFrame(raw []byte, at int64) (f frame, header []byte, ok bool) {
	if len(raw) < skippable+4 || !bytes.Equal(raw[1:4], frameMark) {
		return f, nil, false
	}
	length := little.Uint32(raw[4:])
	if length < 4 || length > maxHeader-skippable || int(length) > len(raw)-skippable {
		return f, nil, false
	}
	header = raw[:skippable+length]
	r := indexReader{rest: header[skippable+4:]}
	packed, size, name := r.uint(), r.uint(), r.count()
	if r.bad || name != uint64(len(r.rest)) || packed > 1<<62 || size > 1<<62 {
		return f, nil, false
	}
	return frame{frameKind(raw[0]), at + int64(len(header)), int64(packed), int64(size), string(r.rest), little.Uint32(header[skippable:])}, header, true
}

// readAt reads bytes of the file, from its end if that was read before.
func (c *Container) readAt(b []byte, at int64) (int, error) {
	if from := at - (c.size - int64(len(c.tail))); from >= 0 && from <= int64(len(c.tail)) {
		n := copy(b, c.tail[from:])
		if n < len(b) {
			return n, io.EOF
		}
		return n, nil
	}
	return c.in.ReadAt(b, at)
}

// frameAt returns the frame whose header is at an offset of the file, and its payload if it
// is no recording.
func (c *Container) frameAt(at int64) (f frame, payload []byte, ok bool) {
	if c.old {
		f, ok = c.oldFrameAt(at)
		return f, nil, ok
	}
	raw := make([]byte, maxHeader)
	n, _ := c.readAt(raw, at)
	f, header, ok := readFrame(raw[:n], at)
	if ok && f.kind != recordingFrame {
		if f.packed > min(c.size-f.at, maxIndex) {
			return f, nil, false
		}
		payload = make([]byte, f.packed)
		c.readAt(payload, f.at) // with an error, the checksum is another one
	}
	return f, payload, ok && headerSum(header, payload) == f.sum
}

// section returns the unpacked payload of the frame at an offset.
func (c *Container) section(kind frameKind, at uint64, limit int64) ([]byte, error) {
	f, payload, ok := c.frameAt(int64(min(at, 1<<62)))
	if !ok || f.kind != kind || f.size > min(limit, tailSize+maxRatio*f.packed) {
		return nil, fmt.Errorf("damaged at byte %d", at)
	}
	if f.packed == f.size {
		return payload, nil
	}
	return sectionUnpacker().DecodeAll(payload, make([]byte, 0, f.size))
}

// sectionUnpacker unpacks into the memory that it is given, and allocates no more.
var sectionUnpacker = sync.OnceValue(func() *zstd.Decoder {
	return newDecoder(zstd.WithDecoderMaxMemory(maxIndex), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
})

// readPacked finds the recordings by the index or, if that is damaged, by walking
// through the file.
func (c *Container) readPacked() {
	var members []member
	var damage error
	if c.old {
		members, damage = c.oldIndex()
	} else {
		members, damage = c.readEnd()
	}
	if damage != nil {
		c.problem(c.size, "%v: the file is searched for recordings", damage)
		members = c.walk()
	}
	c.members = members
}

// readEnd reads the footer, the index and the dictionary at the end of the container.
func (c *Container) readEnd() ([]member, error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	n := min(c.size, tailSize)
	tail := slices.Grow((*buffer)[:0], int(n))[:n]
	*buffer = tail
	if n, err := c.in.ReadAt(tail, c.size-n); n < len(tail) {
		return nil, err
	}
	c.tail = tail
	defer func() { c.tail = nil }()
	at := bytes.LastIndex(tail, footerMagic)
	if at < 0 || int64(len(tail)-at) != footerSize {
		return nil, errors.New("truncated: no footer")
	}
	var f containerFooter
	binary.Decode(tail[at+len(footerMagic):], little, &f) // cannot fail: it has this size
	if f.Magic != [8]byte(containerMagic[skippable:]) || f.sum() != f.Checksum {
		return nil, errors.New("the footer is damaged")
	}
	if f.Size != uint64(c.size) {
		return nil, fmt.Errorf("%d bytes were written", f.Size)
	}
	index, err := c.section(indexFrame, f.Index, maxIndex)
	if err != nil {
		return nil, fmt.Errorf("the index is %w", err)
	}
	c.readDictionary(f.Dictionary)
	c.readNames(f.Names)
	return decodeIndex(index, int64(f.Index))
}

func (f containerFooter) sum() uint32 {
	f.Checksum = 0
	return crc32.Checksum(appendFixed(nil, f), castagnoli)
}

func (c *Container) readNames(at uint64) {
	if at == 0 {
		return
	}
	raw, err := c.section(namesFrame, at, maxIndex)
	if err == nil {
		c.names, err = decodeNames(raw)
	}
	if err != nil {
		c.problem(int64(at), "the names of call sites are lost: %v", err)
	}
}

// readDictionary reads the dictionary at the end or, if it is damaged, that at the start.
func (c *Container) readDictionary(at uint64) {
	if at == 0 {
		return
	}
	var damage error
	c.dictionary, damage = c.section(dictionaryFrame, at, maxDictionary)
	if damage != nil {
		c.problem(int64(at), "the dictionary is %v: that at the start is used", damage)
		c.dictionary, damage = c.section(dictionaryFrame, uint64(len(containerMagic)), maxDictionary)
	}
	if damage != nil {
		c.problem(int64(len(containerMagic)), "the dictionary is %v, too: no recording that needs it can be read", damage)
	}
}

// walk finds the recordings one after the other. Behind damage it searches for
// the next one.
func (c *Container) walk() (found []member) {
	for at := int64(len(containerMagic)); at < c.size; {
		f, _, ok := c.frameAt(at)
		if !ok {
			if at = c.search(at + 1); at < c.size {
				c.problem(at, "after damage, the next recording begins here")
			}
			continue
		}
		switch f.kind {
		case recordingFrame:
			c.cut(&f)
			found = append(found, member{name: f.name, frame: f})
		case dictionaryFrame:
			if c.dictionary == nil {
				c.readDictionary(uint64(at))
			}
		case namesFrame:
			c.readNames(uint64(at))
		}
		at = f.at + f.packed
	}
	return found
}

// cut reports that the end of a recording is missing.
func (c *Container) cut(f *frame) {
	if over := f.at + f.packed - c.size; over > 0 {
		c.problem(c.size, "truncated: %d bytes of %s are missing", over, f.name)
		whole := f.packed == f.size
		if f.packed -= over; whole {
			f.size = f.packed
		}
	}
}

// search returns the offset at or behind at where a frame begins; the size of
// the file if there is none.
func (c *Container) search(at int64) int64 {
	mark, before := frameMark, 1
	if c.old {
		mark, before = oldFrameTag[:], skippable
	}
	const piece = 1 << 16
	raw := make([]byte, piece+before+len(mark))
	for ; at < c.size; at += piece {
		n, _ := c.in.ReadAt(raw, at)
		for from := 0; ; {
			i := bytes.Index(raw[from:n], mark)
			if i < 0 {
				break
			}
			if start := at + int64(from+i-before); from+i >= before {
				if _, _, ok := c.frameAt(start); ok {
					return start
				}
			}
			from += i + 1
		}
	}
	return c.size
}

func appendFixed(to []byte, v any) []byte {
	to, err := binary.Append(to, little, v)
	if err != nil {
		panic(err) // cannot happen: v has a fixed size
	}
	return to
}

// memberFile returns a recording of a packed container. It uses the buffers, for
// what is read and for what is unpacked.
func (c *Container) memberFile(at *frame, buffer, inside *[]byte) (*file, error) {
	if at.packed == at.size {
		in := io.NewSectionReader(c.in, at.at, at.size)
		if err := readAhead(buffer, in, min(wholeFile, at.size)); err != nil {
			return nil, err
		}
		f := newFile(in, at.size)
		f.ahead, f.names = *buffer, c.names
		return f, nil
	}
	if at.packed > 2*maxPacked || at.size > maxPacked {
		return nil, fmt.Errorf("%d bytes packed, %d unpacked, of at most %d", at.packed, at.size, maxPacked)
	}
	*buffer = slices.Grow((*buffer)[:0], int(at.packed))[:at.packed]
	if n, err := c.in.ReadAt(*buffer, at.at); err != nil {
		return nil, fmt.Errorf("byte %d of the container: %w", at.at+int64(n), err)
	}
	raw, damage := c.unpack((*inside)[:0], *buffer, int(at.size))
	if len(raw) > 0 {
		*inside = raw
	}
	f, err := unpackedFile(raw, damage)
	if err != nil {
		return nil, fmt.Errorf("byte %d of the container: %w", at.at, err)
	}
	f.names = c.names
	return f, nil
}

// unpack appends a recording of size bytes. With an error it appends what could be unpacked
// before the damage.
func (c *packedParts) unpack(to, packed []byte, size int) ([]byte, error) {
	if c.old {
		return unpack(to, packed)
	}
	c.once.Do(func() {
		if c.Decoder = columnsUnpacker(); c.dictionary == nil {
			return
		}
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxColumns), zstd.WithDecoderDicts(c.dictionary), zstd.WithDecoderConcurrency(0))
		// otherwise the recordings cannot be unpacked, as if the dictionary were lost
		if err == nil {
			c.Decoder = d
		}
	})
	columns := buffers.Get().(*[]byte)
	defer buffers.Put(columns)
	raw, damage := c.DecodeAll(packed, (*columns)[:0])
	if len(raw) > 0 {
		*columns = raw
	}
	if errors.Is(damage, zstd.ErrUnknownDictionary) {
		damage = errors.New("the dictionary of the container is lost")
	}
	to, err := fromColumns(to, raw, size)
	if damage = errors.Join(damage, err); damage != nil {
		damage = fmt.Errorf("unpack: %w", damage)
	}
	return to, damage
}

var columnsUnpacker = sync.OnceValue(func() *zstd.Decoder {
	return newDecoder(zstd.WithDecoderMaxMemory(maxColumns), zstd.WithDecoderConcurrency(0))
})
