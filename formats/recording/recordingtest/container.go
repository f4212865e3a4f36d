package recordingtest

import (
	"encoding/binary"
	"fmt"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Container is a container as processes map it, not packed.
type Container struct {
	header layout.ContainerHeader
	raw    []byte
}

// NewContainer returns an empty container of a node.
func NewContainer(host string) *Container {
	c := &Container{header: layout.ContainerHeader{Magic: layout.ContainerMagic, Version: layout.ContainerVersion,
		ByteOrder: layout.ByteOrder, Granule: layout.Granule, Reserved: 1, ID: [2]uint64{0x1234567890abcdef, uint64(len(host))}, Claimed: 1}}
	copy(c.header.Host[:], host)
	copy(c.header.BootID[:], "01234567-89ab-cdef-0123-456789abcdef")
	c.raw = make([]byte, layout.Granule)
	return c
}

// SetVersion sets the version of the container, before anything is added.
func (c *Container) SetVersion(version uint32) { c.header.Version = version }

// SetBootID sets the boot id of the node.
func (c *Container) SetBootID(id string) {
	c.header.BootID = [40]byte{}
	copy(c.header.BootID[:], id)
}

// Claim adds granules whose process died before it used them. It returns their
// offset.
func (c *Container) Claim(granules int) (at int) {
	at = len(c.raw)
	c.raw = append(c.raw, make([]byte, granules*layout.Granule)...)
	c.header.Claimed += uint64(granules)
	return at
}

// Extend adds an extent of a process, which holds the bytes of content.
func (c *Container) Extend(x layout.Extent, content []byte) {
	x.Granules = uint32((layout.ExtentSize + len(content) + layout.Granule - 1) / layout.Granule)
	at := c.Claim(int(x.Granules))
	x.Magic, x.ID, x.Offset = layout.ExtentMagic, c.header.ID, uint64(at)
	if c.header.Version > 1 {
		x.Checksum = x.Sum(binary.LittleEndian)
	}
	copy(c.raw[at:], append(appended(nil, x), content...))
}

// Add adds the recordings of processes, which claim their extents in turns. The
// start of a process tells it from others with its process id.
func (c *Container) Add(ps ...*profile.Profile) error {
	c.header.Reserved += uint32(len(ps)) // as if it was reserved for the first extents
	images := make([]*image, len(ps))
	for i, p := range ps {
		var err error
		if images[i], err = imageOf(p, true); err != nil {
			return fmt.Errorf("write container: rank %d: %w", p.Rank, err)
		}
	}
	for sequence, more := 0, true; more; sequence++ {
		more = false
		for i, m := range images {
			if sequence >= len(m.extents) {
				continue
			}
			from := uint64(0)
			if sequence > 0 {
				from = m.extents[sequence-1]
			}
			c.Extend(layout.Extent{Kind: layout.ExtentRecording, Sequence: uint32(sequence), Owner: uint64(ps[i].Start),
				Logical: from, Pid: uint32(ps[i].Pid)}, m.bytes(from, m.extents[sequence]))
			more = true
		}
	}
	return nil
}

// bytes returns the bytes from an offset up to another.
func (m *image) bytes(from, end uint64) []byte {
	out := make([]byte, end-from)
	for _, p := range m.pieces {
		if p.at >= from && p.at < end {
			copy(out[p.at-from:], p.raw)
		}
	}
	return out
}

// Bytes returns the file.
func (c *Container) Bytes() []byte {
	copy(c.raw, appended(nil, c.header))
	return c.raw
}
