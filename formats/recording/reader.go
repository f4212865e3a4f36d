// Package recording reads what the library inside the application writes: the
// recordings of processes, in files of their own or together in containers.
// interpose/layout defines their layout.
//
// A recording may be that of a killed or of a running process: parts that are
// not complete are ignored. A damaged file is read as far as possible, and
// Profile.Problems lists what was skipped.
package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

var magic = layout.Magic[:]

// Is reports whether a file that starts with head is a recording that is not in a container.
func Is(head []byte) bool { return bytes.HasPrefix(head, magic) || bytes.HasPrefix(head, packedMagic) }

// ReadFile reads the recording at path, which may be in a container. Errors
// contain the file and the position.
func ReadFile(path string) (*profile.Profile, error) {
	return readFile(path, wholeFile, false)
}

// ReadHead reads the recording at path without its rows and vectors. It takes a
// fraction of the time of ReadFile and is enough to identify the process and
// its job.
func ReadHead(path string) (*profile.Profile, error) {
	return readFile(path, headOfFile, true)
}

// Bytes that are read from a file at once. Most recordings are smaller: reading
// each record with a system call would take longer than everything else.
// Anything after them is read piece by piece.
const (
	wholeFile  = 1 << 20
	headOfFile = layout.HeaderSize + layout.MinLogSegment
)

// decodes counts the recordings that were read whole.
var decodes atomic.Int64

// Decodes returns how many recordings this process has read, not counting those of which
// it read only the head. A command should read each once.
func Decodes() int64 { return decodes.Load() }

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// openFile opens a recording or a file of events, both of which are read piece
// by piece.
func openFile(path string) (in *os.File, size int64, err error) {
	if in, err = atomicfile.Open(path, atomicfile.AnySize); err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

func readFile(path string, ahead int64, headOnly bool) (p *profile.Profile, err error) {
	if container, name, ok := inContainer(path); ok {
		err = withMember(container, name, func(c *Container, m *member) error {
			p, err = c.read(m, headOnly)
			return err
		})
		return p, err
	}
	in, size, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	defer in.Close()
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer) // the profile keeps no reference to it
	if err := readAhead(buffer, in, min(ahead, size)); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	inside := buffers.Get().(*[]byte)
	defer buffers.Put(inside)
	f, err := sniffFile(in, size, *buffer, inside)
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", path, err)
	}
	f.headOnly = headOnly
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("read recording %s: %w", path, err)
	}
	p = f.profile()
	p.Source = path
	return p, nil
}

// readAhead reads the start of a file into the buffer.
func readAhead(buffer *[]byte, in io.ReaderAt, n int64) error {
	*buffer = slices.Grow((*buffer)[:0], int(n))
	got, err := in.ReadAt((*buffer)[:n], 0)
	if err == io.EOF {
		err = nil
	}
	*buffer = (*buffer)[:got]
	return err
}

// sniffFile returns the recording in a file of its own that starts with ahead. If it is
// packed, it is unpacked into the buffer.
func sniffFile(in io.ReaderAt, size int64, ahead []byte, buffer *[]byte) (*file, error) {
	head := ahead
	if len(head) < len(packedMagic) {
		head = make([]byte, len(packedMagic))
		n, _ := in.ReadAt(head, 0)
		head = head[:n]
	}
	if int64(len(ahead)) == size {
		in = bytes.NewReader(ahead)
	}
	switch {
	case IsContainer(head):
		return containerOfOne(in, size, buffer)
	case bytes.HasPrefix(head, packedMagic):
		if size > 2*maxPacked {
			return nil, fmt.Errorf("%d bytes packed, of at most %d", size, maxPacked)
		}
		packed := make([]byte, size)
		if _, err := in.ReadAt(packed, 0); err != nil {
			return nil, err
		}
		raw, damage := unpack((*buffer)[:0], packed)
		*buffer = raw
		return unpackedFile(raw, damage)
	}
	f := newFile(in, size)
	f.ahead = ahead
	return f, nil
}

// containerOfOne returns the recording in a packed container that has no other.
func containerOfOne(in io.ReaderAt, size int64, buffer *[]byte) (*file, error) {
	c := &Container{in: in, size: size}
	if err := c.open(); err != nil {
		return nil, err
	}
	if c.live != nil || len(c.members) == 0 && len(c.problems) == 0 {
		return nil, errors.New("it is a container: add the name of a recording in it")
	}
	if len(c.members) == 0 {
		return nil, errors.New(c.problems[0])
	}
	f, err := c.memberFile(&c.members[0].frame, new([]byte), buffer)
	if err != nil {
		return nil, err
	}
	f.checked = c.members[0].checked && f.damaged == 0
	for _, problem := range c.problems {
		f.problem(0, "container: %s", problem)
	}
	if len(c.members) > 1 {
		f.problem(uint64(c.members[1].frame.at), "another recording begins, which is not read: keep each in a file of its own")
	}
	return f, nil
}

// unpackedFile returns an unpacked recording. damage says why it may not be complete.
func unpackedFile(raw []byte, damage error) (*file, error) {
	if damage != nil && !bytes.HasPrefix(raw, magic) {
		return nil, damage
	}
	f := newFile(bytes.NewReader(raw), int64(len(raw)))
	if f.ahead = raw; damage != nil {
		f.problem(uint64(len(raw)), "%v", damage)
	}
	return f, nil
}

// Read reads a recording of size bytes.
func Read(r io.ReaderAt, size int64) (*profile.Profile, error) {
	f, err := sniffFile(r, size, nil, new([]byte))
	if err == nil {
		err = f.open()
	}
	if err != nil {
		return nil, err
	}
	return f.profile(), nil
}

// file is a recording whose log has been read.
type file struct {
	r        io.ReaderAt
	size     int64
	ahead    []byte          // the first bytes of r
	scratch  []byte          // buffer for bytes after ahead
	rows     []byte          // rows of the table whose samples are being read
	headOnly bool            // skip rows and vectors
	checked  bool            // the checksum was compared before
	extents  *fileInPieces   // r, in a container that is not packed; otherwise nil
	names    profile.Symbols // of call sites, from the container

	keepSamples bool            // for Dump
	kept        []layout.Sample // sample of each row
	unsampled   []int           // indices of rows of whose calls none was timed

	order  binary.ByteOrder
	header layout.Header

	strings  map[uint32]string
	threads  []layout.Thread
	opens    []currentCall
	named    map[uint64]bool // offsets of the tables that a thread names
	comms    map[uint32]*commRecord
	groups   [][]int32 // world ranks of the groups of Win_start and Win_post, by layout.Group.Index - 1
	slices   []sliceRecord
	sliceAt  map[uint32]int // index in slices, by the slice's index in the file
	modules  []moduleRecord
	vectors  []vectorRecord
	stacks   map[uint64][]uint64       // by the call site of rows
	tables   map[uint64]layout.Segment // by offset
	latest   int64                     // when the latest call returned, Unix ns; set once rows are read
	receives receives                  // over the rows that were read
	tools    tools
	// eagerLimits are the eager limits that the MPI reported.
	eagerLimits []profile.EagerLimit

	placement *profile.Placement
	usage     []layout.Usage

	problems []string
	damaged  uint64 // number of all problems; the first ones are kept
}

// maxProblems is the largest number of problems that are kept of a file. A file
// that is damaged everywhere has millions.
const maxProblems = 1000

type commRecord struct {
	layout.Comm
	members, remote, edges []int32
	name                   string
}

type sliceRecord struct {
	layout.Slice
	name string
}

type moduleRecord struct {
	layout.Module
	buildID, path string
}

type vectorRecord struct {
	layout.Vector
	bytes []uint64
}

func newFile(r io.ReaderAt, size int64) *file {
	return &file{r: r, size: size, strings: map[uint32]string{}, comms: map[uint32]*commRecord{}, sliceAt: map[uint32]int{},
		tables: map[uint64]layout.Segment{}, named: map[uint64]bool{},
		tools: tools{pvars: map[uint32]profile.Pvar{}, handles: map[uint32]layout.Handle{}}}
}

// open reads the header and the log.
func (f *file) open() error {
	if err := f.readHeader(); err != nil {
		return err
	}
	if !f.headOnly && !f.checked {
		f.checkSum()
	}
	f.readSegments()
	f.lookBehind()
	return nil
}

func (f *file) readHeader() error {
	size := binary.Size(layout.Header{})
	head, err := f.bytes(0, uint64(size))
	if !bytes.HasPrefix(head, magic) {
		return fmt.Errorf("not a recording: it does not start with %q", layout.Magic[:])
	}
	if err != nil {
		return fmt.Errorf("truncated at byte %d, inside the header: %w", len(head), err)
	}
	f.order = binary.LittleEndian
	if binary.BigEndian.Uint32(head[12:]) == layout.ByteOrder {
		f.order = binary.BigEndian
	} else if binary.LittleEndian.Uint32(head[12:]) != layout.ByteOrder {
		return fmt.Errorf("byte 12: the byte order mark is neither")
	}
	if _, err := binary.Decode(head, f.order, &f.header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if v := f.header.Version; v == 0 || v > layout.Version {
		return fmt.Errorf("byte 8: version %d, this program reads up to %d", v, layout.Version)
	}
	if f.header.WorldSize > layout.MaxRankCount {
		return fmt.Errorf("byte 36: a world of %d processes", f.header.WorldSize)
	}
	if h := &f.header; h.Version >= 4 && (h.Timing > layout.TimingOff || h.Receives > layout.ReceivesUnfollowed) {
		f.problem(timingAt, "timing %d and receives %d are not known: no time is read", h.Timing, h.Receives)
	}
	if int(f.header.HeaderSize) < len(head) {
		return fmt.Errorf("byte 16: header of %d bytes, at least %d expected", f.header.HeaderSize, len(head))
	}
	return nil
}

// timingAt is the offset of the header's field Timing.
const timingAt = uint64(unsafe.Offsetof(layout.Header{}.Timing))

func (f *file) problem(at uint64, format string, args ...any) {
	if f.damaged++; f.damaged > maxProblems {
		return
	}
	f.problems = append(f.problems, fmt.Sprintf("byte %d: ", at)+fmt.Sprintf(format, args...))
}

// readSegments reads the segments up to Header.End, or up to the first invalid
// one: nothing can be found after it.
func (f *file) readSegments() {
	end := f.header.End
	if end > uint64(f.size) {
		f.problem(uint64(f.size), "truncated: %d bytes were recorded", end)
		end = uint64(f.size)
	}
	segmentSize := uint64(binary.Size(layout.Segment{}))
	for at := f.afterGap(uint64(f.header.HeaderSize)); at+segmentSize <= end; at = f.afterGap(at) {
		var s layout.Segment
		if err := f.decode(at, &s); err != nil {
			f.problem(at, "%v", err)
			return
		}
		if s.Magic != layout.SegmentMagic || s.Size < segmentSize || s.Size > layout.MaxSegment {
			f.problem(at, "not a segment")
			if at = f.nextExtent(at); at == 0 {
				return
			}
			continue
		}
		if s.Size > end-at {
			f.problem(at, "segment of %d bytes is cut after %d", s.Size, end-at)
			s.Size = end - at
		}
		switch s.Kind {
		case layout.SegmentLog:
			f.readLog(at+segmentSize, at+s.Size)
		case layout.SegmentTable, layout.SegmentFree:
			f.tables[at] = s
		default:
			f.problem(at, "segment of unknown kind %d, skipped", s.Kind)
		}
		at += s.Size
	}
}

// afterGap returns at, or where the next extent begins if none holds the bytes
// there: an extent of a container begins with a segment.
func (f *file) afterGap(at uint64) uint64 {
	if f.extents == nil || at >= min(f.header.End, uint64(f.size)) {
		return at
	}
	next := f.extents.after(at)
	if next > at {
		f.problem(at, "%d bytes are missing: their extent is damaged", next-at)
	}
	return next
}

// nextExtent returns where the extent after the one that holds at begins; 0 if
// there is none.
func (f *file) nextExtent(at uint64) uint64 {
	if f.extents == nil {
		return 0
	}
	if next := f.extents.next(at); next < uint64(f.size) {
		return next
	}
	return 0
}

// lookBehind reports a second recording after the first, which `cat` of several
// recordings produces and which would otherwise be ignored. The recording of a
// process that ended, and of most that were killed, ends at Header.End, where
// the next one starts. If zeros follow there, the process was killed while its
// file grew; lookBehind does not search beyond them, because they may be
// gigabytes.
func (f *file) lookBehind() {
	end := f.header.End
	if end < uint64(f.header.HeaderSize) || end >= uint64(f.size) {
		return
	}
	if head, _ := f.bytes(end, min(uint64(len(packedMagic)), uint64(f.size)-end)); Is(head) {
		f.problem(end, "another recording begins, which is not read: keep each in a file of its own")
	}
}

// bytes reads n bytes, which are valid until the next call. With an error it
// returns the bytes that could be read.
func (f *file) bytes(at, n uint64) ([]byte, error) {
	if at <= uint64(len(f.ahead)) && n <= uint64(len(f.ahead))-at {
		return f.ahead[at : at+n], nil
	}
	f.scratch = slices.Grow(f.scratch[:0], int(n))[:n]
	got, err := f.r.ReadAt(f.scratch, int64(at))
	if uint64(got) == n {
		err = nil
	}
	return f.scratch[:got], err
}

func (f *file) decode(at uint64, v any) error {
	buf, err := f.bytes(at, uint64(binary.Size(v)))
	if err != nil {
		return err
	}
	_, err = binary.Decode(buf, f.order, v)
	return err
}
