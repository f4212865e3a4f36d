package layout

import "encoding/binary"

// A container holds the recordings and events of the processes of one node, which share it
// while they run: one file instead of one for each process. It consists of granules.
//
//	granule 0    ContainerHeader, padded to Granule
//	granule 1 …  extents, each of one granule or more
//
// A process claims granules by adding to ContainerHeader.Claimed (compare and swap), maps them,
// and writes an Extent at their start; Extent.Magic is stored last, that of the first Extent
// after the Header of the recording. The file is never truncated while it is shared. If a process
// dies between the claim and the Magic, or withdraws the extents of its events because its rank
// is not to be traced, its granules have no valid Extent: readers skip granule by granule to the
// next one. So granules that were claimed may also lie beyond the end of the file.
//
// Before a container is packed, it is sealed: only processes that already have an extent may
// claim more. A process whose first Extent is written looks at the seal again, and withdraws if
// it is there. So the one who sealed the container knows all processes, and packs it if none of
// them runs any more.
//
// The extents of a process with the same Kind are a file in pieces: an extent holds the bytes
// from Logical on, as many as follow the Extent. What no extent holds reads as zeros. Pieces of
// kind ExtentRecording are a recording, those of kind ExtentEvents a file NAME.events.
//
// The name of a process's recording is HOST-Pid-Owner.rec, with the host of the container.

// ContainerMagic is the start of a container.
var ContainerMagic = [8]byte{'M', 'P', 'I', 'N', 'O', 'D', 'E', 'S'}

// Constants of containers.
const (
	ContainerVersion = 2 // 1: extents have no checksum
	Granule          = 64 << 10
	ExtentMagic      = 0x54545845 // "EXTT"
	ExtentSize       = 64         // of an Extent
	ContainerSealed  = 1 << 63    // bit of ContainerHeader.Claimed: no other process may claim granules any more
	MaxHost          = 256
)

// Extent.Kind
const (
	ExtentRecording = 1
	ExtentEvents    = 2
)

// ContainerHeader is at the start of a container.
type ContainerHeader struct {
	Magic     [8]byte
	Version   uint32
	ByteOrder uint32
	Granule   uint32
	Reserved  uint32        // number of granules for which the creator reserved space
	ID        [2]uint64     // random
	Claimed   uint64        // number of granules that are in use, with granule 0; ContainerSealed
	BootID    [40]byte      // of the node's kernel, as text; zeros follow
	Host      [MaxHost]byte // its name; zeros follow
}

// Extent is at the start of an extent.
type Extent struct {
	Magic    uint32 // stored last
	Kind     uint32
	Sequence uint32 // of this Kind in the process, from 0
	Granules uint32
	ID       [2]uint64 // of the container
	Offset   uint64    // of this extent in the container
	Owner    uint64    // Unix ns when the process began to record
	Logical  uint64    // offset, in the recording or file of events, of the bytes that follow
	Pid      uint32
	Checksum uint32 // of version 2: see Sum; in version 1, 0
}

// Sum returns the checksum of an extent with ExtentMagic: that of its words, with 0 in Checksum,
// folded to 32 bits.
func (x Extent) Sum(order binary.ByteOrder) uint32 {
	x.Magic, x.Checksum = ExtentMagic, 0
	raw := make([]byte, ExtentSize)
	binary.Encode(raw, order, &x) // cannot fail: raw has the size of an Extent
	sum := uint64(ChecksumStart)
	for at := 0; at < ExtentSize; at += 8 {
		sum = Sum(sum, order.Uint64(raw[at:]))
	}
	return uint32(sum ^ sum>>32)
}
