package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

var magic = layout.Magic[:]

// Bytes that are read from a file at once. Most recordings are smaller: reading
// each record with a system call would take longer than everything else.
// Anything after them is read piece by piece.
const (
	wholeFile  = 1 << 20
	headOfFile = layout.HeaderSize + layout.MinLogSegment
)

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// openFile opens a recording or a file of events, both of which are read piece
// by piece.
func openFile(path string) (in *os.File, size int64, err error) {
	return atomicfile.Sized(atomicfile.Open(path, atomicfile.AnySize))
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
	unsampled   []int           // indices of rows none of whose calls was timed

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

// currentCall is the MPI call that a thread was in.
type currentCall struct {
	layout.Open
	thread uint32
}

// tools holds the contents of the records of mpit.go.
type tools struct {
	settings  map[string]string
	variables []profile.Variable
	pvars     map[uint32]profile.Pvar
	handles   map[uint32]layout.Handle
	readings  []readingRecord
}

type readingRecord struct {
	layout.Reading
	values []uint64
}

func newFile(r io.ReaderAt, size int64) *file {
	return &file{r: r, size: size, strings: map[uint32]string{}, comms: map[uint32]*commRecord{}, sliceAt: map[uint32]int{},
		tables: map[uint64]layout.Segment{}, named: map[uint64]bool{},
		tools: tools{pvars: map[uint32]profile.Pvar{}, handles: map[uint32]layout.Handle{}}}
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
	numbers := reflect.NewAt(headerNumbers, unsafe.Pointer(&f.header)).Interface()
	if _, err := binary.Decode(head, f.order, numbers); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	copy(f.header.Messages[:], head[headerNumbers.Size():])
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

// headerNumbers is layout.Header without Messages, its last field: package binary would decode
// this array byte by byte, which took 4 % of the time of a report.
var headerNumbers = func() reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[layout.Header]())
	return reflect.StructOf(fields[:len(fields)-1])
}()

// timingAt is the offset of the header's field Timing.
const timingAt = uint64(unsafe.Offsetof(layout.Header{}.Timing))

func (f *file) problem(at uint64, format string, args ...any) {
	if f.damaged++; f.damaged > maxProblems {
		return
	}
	f.problems = append(f.problems, fmt.Sprintf("byte %d: ", at)+fmt.Sprintf(format, args...))
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
