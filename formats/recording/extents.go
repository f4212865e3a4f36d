package recording

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"unsafe"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// extents are the extents of a container that processes may still map. Bytes of a process's
// recording or events that no extent holds read as zeros.
type extents struct {
	in     *os.File
	order  binary.ByteOrder
	header layout.ContainerHeader

	mutex   sync.Mutex
	claimed uint64              // when the granules were looked at
	known   []layout.Extent     // valid ones, sorted by offset
	pending []uint64            // granules that belong to no known extent
	seen    uint64              // number of granules that were looked at
	files   map[fileKey][]piece // sorted by offset in the file

	problems []string
}

// process identifies a process in a container.
type process struct {
	pid   uint32
	owner uint64
}

// fileKey identifies a file in pieces.
type fileKey struct {
	process
	kind uint32
}

// piece is a part of a file: size bytes from offset logical on, which are at
// offset at in the container.
type piece struct{ logical, at, size uint64 }

// maxGranules is the largest number of granules that are read. Together they have 1 TiB.
const maxGranules = 1 << 24

// containerHead and extentHead are the sizes of the structs in bytes, and
// claimedAt is the offset of Claimed.
var (
	containerHead = binary.Size(layout.ContainerHeader{})
	claimedAt     = int64(unsafe.Offsetof(layout.ContainerHeader{}.Claimed))
)

func openExtents(in *os.File) (*extents, error) {
	e := &extents{in: in, order: binary.LittleEndian}
	head := make([]byte, containerHead)
	if n, err := in.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("truncated at byte %d, inside the header", n)
	}
	const byteOrderAt = 12
	if binary.BigEndian.Uint32(head[byteOrderAt:]) == layout.ByteOrder {
		e.order = binary.BigEndian
	}
	if _, err := binary.Decode(head, e.order, &e.header); err != nil {
		return nil, err
	}
	switch h := &e.header; {
	case h.ByteOrder != layout.ByteOrder:
		return nil, fmt.Errorf("byte %d: the byte order mark is neither", byteOrderAt)
	case h.Version == 0 || h.Version > layout.ContainerVersion:
		return nil, fmt.Errorf("byte 8: version %d, this program reads up to %d", h.Version, layout.ContainerVersion)
	case h.Granule != layout.Granule:
		return nil, fmt.Errorf("byte 16: granules of %d bytes, %d expected", h.Granule, layout.Granule)
	}
	e.refresh()
	return e, nil
}

// name returns the file name of a process's recording.
func (e *extents) name(p process) string {
	host, _, _ := bytes.Cut(e.header.Host[:], []byte{0})
	return fmt.Sprintf("%s-%d-%d%s", host, p.pid, p.owner, Suffix)
}

// refresh looks at granules that were claimed since it was called last, and at
// those that had no valid extent then.
func (e *extents) refresh() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	info, err := e.in.Stat()
	if err != nil {
		return
	}
	granules := min((uint64(info.Size())+layout.Granule-1)/layout.Granule, maxGranules)
	claimed := e.readClaimed()
	if e.files != nil && claimed == e.claimed && granules == e.seen && !e.unfinished(claimed) {
		return
	}
	look := e.pending
	for g := max(e.seen, 1); g < granules; g++ {
		look = append(look, g)
	}
	e.claimed, e.seen = claimed, max(e.seen, granules)
	var damaged []uint64
	e.pending, damaged = e.look(look)
	size := uint64(info.Size())
	if now, err := e.in.Stat(); err == nil { // a process may have made the file longer before it wrote an extent
		size = uint64(now.Size())
	}
	e.group(size)
	e.checkSize(size)
	for _, g := range damaged {
		if !e.covered(g) {
			e.problem(g*layout.Granule, "damaged extent")
		}
	}
	e.pending = slices.DeleteFunc(e.pending, e.covered)
	if over := uint64(info.Size()) / layout.Granule; over > maxGranules {
		e.problem(maxGranules*layout.Granule, "%d granules of the file, more than %d, are not looked at", over-maxGranules, maxGranules)
	}
}

// checkSize reports that the file is shorter than an extent needs, or than the
// creator of the container made it. Granules that were claimed beyond the end are
// no damage: their process was killed, or the file system had no room for them.
func (e *extents) checkSize(size uint64) {
	needed := uint64(0)
	for i := range e.known {
		needed = max(needed, e.known[i].Offset/layout.Granule+uint64(e.known[i].Granules))
	}
	reserved := uint64(e.header.Reserved)
	got := (size + layout.Granule - 1) / layout.Granule // events that were written may end inside a granule
	if got < needed || size < reserved*layout.Granule {
		e.problem(size, "truncated: it had %d granules of %d bytes", max(needed, reserved), layout.Granule)
	}
}

// unfinished reports whether a granule was claimed and has no valid extent yet.
func (e *extents) unfinished(claimed uint64) bool {
	return len(e.pending) > 0 && e.pending[0] < claimed
}

func (e *extents) readClaimed() uint64 {
	var raw [8]byte
	e.in.ReadAt(raw[:], claimedAt) // on an error, 0: all granules of the file are looked at anyway
	return e.order.Uint64(raw[:]) &^ layout.ContainerSealed
}

// look adds the extents that start at the given granules to e.known. rest has the granules at which
// no extent starts. damaged has those of rest that hold something else.
func (e *extents) look(granules []uint64) (rest, damaged []uint64) {
	raw := make([]byte, layout.ExtentSize)
	for _, g := range granules {
		var x layout.Extent
		if _, err := e.in.ReadAt(raw, int64(g*layout.Granule)); err != nil {
			rest = append(rest, g)
			continue
		}
		binary.Decode(raw, e.order, &x) // cannot fail: raw has the size of an Extent
		switch {
		case e.valid(&x, g):
			e.known = append(e.known, x)
		case x.Magic != 0: // otherwise the process died, or is about to store the magic number
			damaged = append(damaged, g)
			fallthrough
		default:
			rest = append(rest, g)
		}
	}
	slices.SortFunc(e.known, func(a, b layout.Extent) int { return cmp.Compare(a.Offset, b.Offset) })
	return rest, damaged
}

// valid reports whether an extent begins at granule g.
func (e *extents) valid(x *layout.Extent, g uint64) bool {
	return x.Magic == layout.ExtentMagic && x.ID == e.header.ID && x.Offset == g*layout.Granule && x.Granules > 0 &&
		x.Logical < x.Offset && // all earlier bytes of the file are before it in the container
		(x.Kind == layout.ExtentRecording || x.Kind == layout.ExtentEvents) &&
		(e.header.Version == 1 || x.Checksum == x.Sum(e.order))
}

// covered reports whether a granule is inside an extent.
func (e *extents) covered(g uint64) bool {
	at := g * layout.Granule
	i, found := slices.BinarySearchFunc(e.known, at, func(x layout.Extent, at uint64) int { return cmp.Compare(x.Offset, at) })
	return found || i > 0 && at < e.known[i-1].Offset+uint64(e.known[i-1].Granules)*layout.Granule
}

// group puts the extents of each file together. An extent ends where the next
// one begins, whatever its length says.
func (e *extents) group(size uint64) {
	e.files = map[fileKey][]piece{}
	for i := range e.known {
		x := &e.known[i]
		end := min(x.Offset+uint64(x.Granules)*layout.Granule, size)
		if i+1 < len(e.known) {
			end = min(end, e.known[i+1].Offset)
		}
		if end <= x.Offset+layout.ExtentSize {
			continue
		}
		key := fileKey{process{x.Pid, x.Owner}, x.Kind}
		e.files[key] = append(e.files[key], piece{x.Logical, x.Offset + layout.ExtentSize, end - x.Offset - layout.ExtentSize})
	}
	for _, pieces := range e.files {
		slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.logical, b.logical) })
	}
}

func (e *extents) problem(at uint64, format string, args ...any) {
	if text := fmt.Sprintf("byte %d: ", at) + fmt.Sprintf(format, args...); len(e.problems) < maxProblems && !slices.Contains(e.problems, text) {
		e.problems = append(e.problems, text)
	}
}

// recorded returns the processes that have a recording, in the order of their
// first extents.
func (e *extents) recorded() []process {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var out []process
	met := map[process]bool{}
	for i := range e.known {
		p := process{e.known[i].Pid, e.known[i].Owner}
		if len(e.files[fileKey{p, layout.ExtentRecording}]) > 0 && !met[p] {
			met[p] = true
			out = append(out, p)
		}
	}
	return out
}

// file returns the recording or the events of a process.
func (e *extents) file(p process, kind uint32) *fileInPieces {
	return &fileInPieces{e, fileKey{p, kind}}
}

// fileInPieces is an io.ReaderAt over the extents of a process.
type fileInPieces struct {
	of  *extents
	key fileKey
}

func (f *fileInPieces) pieces() []piece {
	f.of.mutex.Lock()
	defer f.of.mutex.Unlock()
	return f.of.files[f.key]
}

// Size returns the size of the file now.
func (f *fileInPieces) length() int64 {
	f.of.refresh()
	return int64(f.end(f.pieces()))
}

// end returns the end of the last piece. A chunk of events is shorter by the size of the Extent
// before it; the missing bytes belong to the file as well.
func (f *fileInPieces) end(pieces []piece) (end uint64) {
	for _, p := range pieces {
		end = max(end, p.logical+p.size)
	}
	if f.key.kind == layout.ExtentEvents && (end+layout.ExtentSize)%layout.Granule == 0 {
		end += layout.ExtentSize
	}
	return end
}

// after returns offset if a piece holds it. Otherwise it returns where the next piece begins or,
// behind the last piece, the end.
func (f *fileInPieces) after(offset uint64) uint64 {
	pieces := f.pieces()
	p, end := at(pieces, offset)
	if p.size > 0 {
		return offset
	}
	return max(offset, min(end, f.end(pieces)))
}

// next returns where the piece that follows offset begins or, behind the last piece, the end.
func (f *fileInPieces) next(offset uint64) uint64 {
	pieces := f.pieces()
	if _, end := at(pieces, offset); end > offset {
		return min(end, f.end(pieces))
	}
	return f.end(pieces)
}

// at returns the piece that holds an offset, and the end of the bytes that the piece holds. If no
// piece holds it, the piece has size 0, and end is where the next piece begins.
func at(pieces []piece, offset uint64) (p piece, end uint64) {
	i, _ := slices.BinarySearchFunc(pieces, offset, func(p piece, offset uint64) int {
		if p.logical <= offset {
			return -1
		}
		return 1
	})
	end = 1 << 63
	if i < len(pieces) {
		end = pieces[i].logical
	}
	if i > 0 && offset-pieces[i-1].logical < pieces[i-1].size {
		p = pieces[i-1]
		end = min(end, p.logical+p.size)
	}
	return p, end
}

// ReadAt implements io.ReaderAt.
func (f *fileInPieces) ReadAt(to []byte, offset int64) (n int, err error) {
	pieces := f.pieces()
	size := f.end(pieces)
	for n < len(to) {
		from := uint64(offset) + uint64(n)
		if from >= size {
			return n, io.EOF
		}
		p, end := at(pieces, from)
		part := to[n : n+int(min(uint64(len(to)-n), min(end, size)-from))]
		if p.size == 0 {
			clear(part)
		} else if got, err := f.of.in.ReadAt(part, int64(p.at+from-p.logical)); got < len(part) {
			return n + got, err
		}
		n += len(part)
	}
	return n, nil
}
