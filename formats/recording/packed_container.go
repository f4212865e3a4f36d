package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// A packed container is made when recordings are brought home:
//
//	containerMagic                 a skippable frame of zstd
//	for each recording:
//	    frameHeader, its name      a skippable frame
//	    the recording              a zstd frame with a checksum, or as it is if it is long
//	index                          a skippable frame
//	footer                         a skippable frame: where the index is
//
// So `zstd -d` unpacks one without long recordings, and it can be walked without
// the index. All integers are little endian.
var (
	containerMagic = []byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0, 'M', 'P', 'I', 'N', 'O', 'D', 'E', 'S'}
	frameMagic     = []byte{0x51, 0x2a, 0x4d, 0x18}
	indexMagic     = []byte{0x52, 0x2a, 0x4d, 0x18}
	footerMagic    = []byte{0x53, 0x2a, 0x4d, 0x18, 32, 0, 0, 0}
)

// skippable is the size of the header of a skippable frame of zstd.
const skippable = 8

// frameHeader is before each recording, with the recording's name.
type frameHeader struct {
	Tag        [8]byte // frameTag
	Packed     uint64  // size in the container
	Size       uint64  // unpacked
	NameLength uint32
	Checksum   uint32 // of this header with 0 here, and of the name
}

var frameTag = [8]byte{'M', 'P', 'I', 'T', 'R', 'A', 'C', 'E'}

// containerFooter is at the end of a container.
type containerFooter struct {
	Index    uint64 // its offset
	Size     uint64 // and its size
	Checksum uint32 // of the index
	Reserved uint32
	Magic    [8]byte // as in containerMagic
}

var (
	frameHeaderSize = int64(binary.Size(frameHeader{}))
	footerSize      = int64(len(footerMagic) + binary.Size(containerFooter{}))
)

// maxIndex is the largest size of an index, in bytes.
const maxIndex = 1 << 28

// frame is the place of a recording in a packed container. It is stored as it is
// if both sizes are equal.
type frame struct{ at, packed, size int64 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readMembers finds the recordings by the index or, if that is damaged, by
// walking through the file.
func (c *Container) readMembers(size int64) {
	members, damage := c.readIndex(size)
	if damage != nil {
		c.problem(size, "%v: the file is searched for recordings", damage)
		members = c.walk(size)
	}
	c.members = members
}

func (c *Container) readIndex(size int64) ([]member, error) {
	raw := make([]byte, footerSize)
	if _, err := c.in.ReadAt(raw, max(size-footerSize, 0)); err != nil || !bytes.HasPrefix(raw, footerMagic) {
		return nil, fmt.Errorf("truncated: no footer")
	}
	var f containerFooter
	binary.Decode(raw[len(footerMagic):], little, &f) // cannot fail: raw has its size
	if f.Magic != [8]byte(containerMagic[skippable:]) || f.Index > uint64(size) || f.Size > uint64(size)-f.Index || f.Size > maxIndex {
		return nil, fmt.Errorf("the footer is damaged")
	}
	index := make([]byte, f.Size)
	if _, err := c.in.ReadAt(index, int64(f.Index)); err != nil {
		return nil, err
	}
	if crc32.Checksum(index, castagnoli) != f.Checksum {
		return nil, fmt.Errorf("the index is damaged")
	}
	return decodeIndex(index, int64(f.Index))
}

// walk finds the recordings one after the other. Behind damage it searches for
// the next one.
func (c *Container) walk(size int64) (found []member) {
	for at := int64(len(containerMagic)); at < size; {
		m, ok := c.memberAt(at, size)
		if !ok {
			if at = c.search(at+1, size); at < size {
				c.problem(at, "after damage, the next recording begins here")
			}
			continue
		}
		found = append(found, m)
		at = m.frame.at + m.frame.packed
	}
	return found
}

// memberAt returns the recording whose header is at an offset of the file.
func (c *Container) memberAt(at, size int64) (m member, ok bool) {
	raw := make([]byte, skippable+frameHeaderSize)
	if _, err := c.in.ReadAt(raw, at); err != nil || !bytes.HasPrefix(raw, frameMagic) {
		return m, false
	}
	var h frameHeader
	binary.Decode(raw[skippable:], little, &h) // cannot fail: raw has its size
	if h.Tag != frameTag || h.NameLength > 1<<12 || h.Packed > 1<<62 || h.Size > 1<<62 {
		return m, false
	}
	name := make([]byte, h.NameLength)
	if _, err := c.in.ReadAt(name, at+int64(len(raw))); err != nil || h.sum(name) != h.Checksum {
		return m, false
	}
	m = member{name: string(name), frame: frame{at + int64(len(raw)+len(name)), int64(h.Packed), int64(h.Size)}}
	if over := m.frame.at + m.frame.packed - size; over > 0 {
		c.problem(size, "truncated: %d bytes of %s are missing", over, name)
		m.frame.packed -= over
		if h.Packed == h.Size {
			m.frame.size = m.frame.packed
		}
	}
	return m, true
}

func (h frameHeader) sum(name []byte) uint32 {
	h.Checksum = 0
	return crc32.Update(crc32.Checksum(appendFixed(nil, h), castagnoli), castagnoli, name)
}

func appendFixed(to []byte, v any) []byte {
	to, err := binary.Append(to, little, v)
	if err != nil {
		panic(err) // cannot happen: v has a fixed size
	}
	return to
}

// search returns the offset at or behind at where the header of a recording, the
// index or the footer begins; the size of the file if there is none.
func (c *Container) search(at, size int64) int64 {
	const piece = 1 << 16
	raw := make([]byte, piece+skippable+len(frameTag))
	for ; at < size; at += piece {
		n, _ := c.in.ReadAt(raw, at)
		for from := 0; ; {
			i := bytes.Index(raw[from:n], frameTag[:])
			if i < 0 {
				break
			}
			if start := at + int64(from+i) - skippable; i+from >= skippable {
				if _, ok := c.memberAt(start, size); ok {
					return start
				}
			}
			from += i + 1
		}
	}
	return size
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
		f.ahead = *buffer
		return f, nil
	}
	if at.packed > 2*maxPacked {
		return nil, fmt.Errorf("%d bytes packed, of at most %d", at.packed, 2*maxPacked)
	}
	*buffer = slices.Grow((*buffer)[:0], int(at.packed))[:at.packed]
	if n, err := c.in.ReadAt(*buffer, at.at); err != nil {
		return nil, fmt.Errorf("byte %d of the container: %w", at.at+int64(n), err)
	}
	f, err := unpackFile(*buffer, nil, at.packed, inside)
	if err != nil {
		return nil, fmt.Errorf("byte %d of the container: %w", at.at, err)
	}
	return f, nil
}
