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
	"sync/atomic"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Is reports whether a file that starts with head is a recording, or a container of them.
func Is(head []byte) bool { return isRecording(head) || isContainer(head) }

// isRecording reports whether a file that starts with head is a recording in a file of its own.
func isRecording(head []byte) bool {
	return bytes.HasPrefix(head, magic) || bytes.HasPrefix(head, packedMagic)
}

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

// decodes counts the recordings that were read whole.
var decodes atomic.Int64

// Decodes returns how many recordings this process has read, not counting those of which
// it read only the head. A command should read each once.
func Decodes() int64 { return decodes.Load() }

func readFile(path string, ahead int64, headOnly bool) (p *profile.Profile, err error) {
	err = withUnread(path, "read", ahead, func(f *file) error {
		p, err = f.read(path, headOnly)
		return err
	})
	return p, err
}

// read reads the recording, which comes from source. With headOnly it skips rows and vectors.
func (f *file) read(source string, headOnly bool) (*profile.Profile, error) {
	f.headOnly = headOnly
	if err := f.open(); err != nil {
		return nil, err
	}
	p := f.profile()
	p.Source = source
	return p, nil
}

// withFile calls use with a recording whose header and log have been read.
func withFile(path string, use func(*file) error) error {
	return withUnread(path, "read", headOfFile, func(f *file) error {
		f.headOnly = true
		if err := f.open(); err != nil {
			return err
		}
		return use(f)
	})
}

// withUnread calls use with a recording of which the first bytes are read ahead. Errors begin
// with doing, and contain the path.
func withUnread(path, doing string, ahead int64, use func(*file) error) error {
	err := unread(path, ahead, use)
	switch named := (*os.PathError)(nil); {
	case err == nil:
		return nil
	case errors.As(err, &named): // it has the path
		return fmt.Errorf("%s recording: %w", doing, err)
	}
	return fmt.Errorf("%s recording %s: %w", doing, path, err)
}

func unread(path string, ahead int64, use func(*file) error) error {
	if container, name, info := inContainer(path); info != nil {
		return withMember(container, name, info, func(c *Container, m *member) error { return c.withFile(m, ahead, use) })
	}
	in, size, err := openFile(path)
	if err != nil {
		return err
	}
	defer in.Close()
	buffer, inside := buffers.Get().(*[]byte), buffers.Get().(*[]byte)
	defer buffers.Put(buffer) // use keeps no reference to the buffer's memory
	defer buffers.Put(inside)
	if err := readAhead(buffer, in, min(ahead, size)); err != nil {
		return err
	}
	f, err := sniffFile(in, size, *buffer, inside)
	if err != nil {
		return err
	}
	return use(f)
}

// sniffFile returns the recording in a file of its own that starts with ahead. A packed recording
// is unpacked into the buffer.
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
	case isContainer(head):
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

// Read reads a recording of size bytes.
func Read(r io.ReaderAt, size int64) (*profile.Profile, error) {
	f, err := sniffFile(r, size, nil, new([]byte))
	if err != nil {
		return nil, err
	}
	return f.read("", false)
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

// afterGap returns at, unless no extent holds the bytes there. Then it returns where the next
// extent begins: an extent of a container begins with a segment.
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
	if head, _ := f.bytes(end, min(uint64(len(packedMagic)), uint64(f.size)-end)); isRecording(head) {
		f.problem(end, "another recording begins, which is not read: keep each in a file of its own")
	}
}
