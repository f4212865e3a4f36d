package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// Suffixes of the two files next to the recording of a traced process.
const (
	eventsEnding = ".events"
	spillEnding  = ".spill"
)

// EventFiles returns the files of events next to the recording at path. There
// are none if the process was not traced. If the recording is in a container,
// so are they.
func EventFiles(path string) []string {
	start := strings.TrimSuffix(path, filepath.Ext(path))
	if container, name, info := inContainer(path); info != nil {
		traced := false
		_ = withMember(container, name, info, func(c *Container, m *member) error { // ReadFile reports the error
			traced = c.traced(m)
			return nil
		})
		if traced {
			return []string{start + eventsEnding}
		}
		return nil
	}
	var found []string
	for _, ending := range []string{eventsEnding, spillEnding} {
		if _, err := os.Stat(start + ending); err == nil {
			found = append(found, start+ending)
		}
	}
	return found
}

// eventInput is an open file of events.
type eventInput interface {
	io.ReaderAt
	io.Closer
	Name() string
	length() int64 // now: a running process makes it longer
}

// diskFile is a file of events that is not in a container.
type diskFile struct{ *os.File }

// length implements eventInput. If the size is not known, it returns 0.
func (f diskFile) length() int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// eventsInContainer are the events of a process in a container.
type eventsInContainer struct {
	*fileInPieces
	name string
	of   *openContainer
}

func (f *eventsInContainer) Name() string { return f.name }

// Close implements eventInput.
func (f *eventsInContainer) Close() error {
	opened.release(f.of)
	return nil
}

func openEventInput(path string) (eventInput, error) {
	container, name, info := inContainer(path)
	if info == nil {
		in, _, err := openFile(path)
		if err != nil {
			return nil, err
		}
		return diskFile{in}, nil
	}
	of, err := opened.get(container, info)
	if err != nil {
		return nil, err
	}
	i, found := of.index[strings.TrimSuffix(name, eventsEnding)+Suffix]
	if !found || !of.traced(&of.members[i]) {
		opened.release(of)
		return nil, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	}
	return &eventsInContainer{of.live.file(of.members[i].process, layout.ExtentEvents), path, of}, nil
}

// chunk is a series of events of one thread in a file.
type chunk struct {
	layout.Chunk
	in  eventInput
	at  int64  // offset of its first event
	cut uint64 // number of events beyond the end of the file
	far bool   // whether the file is in the run directory
}

// chunkHead is the size of a layout.Chunk in bytes.
const chunkHead = 64

// eventFile is one of the files of events, with its chunks.
type eventFile struct {
	in     eventInput
	size   int64
	order  binary.ByteOrder
	header layout.EventsHeader // zero for a spill file
}

func openEventFile(path string, order binary.ByteOrder) (*eventFile, error) {
	in, err := openEventInput(path)
	if err != nil {
		return nil, err
	}
	f := &eventFile{in: in, size: in.length(), order: order}
	if !f.spill() {
		err = f.readHeader()
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *eventFile) spill() bool { return strings.HasSuffix(f.in.Name(), spillEnding) }

// missing reports the chunks that a header counts, but that are in neither
// file. The files of a running process may have grown since they were opened.
func missing(files []*eventFile, problem func(f *eventFile, at int64, why string)) {
	var header layout.EventsHeader
	spilled := int64(0)
	for _, f := range files {
		if f.spill() {
			spilled = f.size
			continue
		}
		header = f.header
		if size := f.in.length(); chunksIn(size-layout.EventsHeaderSize) < header.Chunks {
			problem(f, size, fmt.Sprintf("truncated: it had %d chunks", header.Chunks))
		}
	}
	last := files[len(files)-1]
	switch {
	case header.HeaderSize == 0:
		problem(last, 0, "the file beside it is missing, with the latest events")
	case chunksIn(spilled) < header.Spilled && last.spill():
		problem(last, spilled, fmt.Sprintf("truncated: it had %d chunks", header.Spilled))
	case chunksIn(spilled) < header.Spilled:
		problem(last, 0, fmt.Sprintf("the file beside it is missing, with the earliest %d chunks", header.Spilled))
	}
}

// chunksIn returns how many whole chunks fit into size bytes.
func chunksIn(size int64) uint64 { return uint64(max(size, 0)) / layout.ChunkSize }

func (f *eventFile) readHeader() error {
	head := make([]byte, binary.Size(f.header))
	if _, err := f.in.ReadAt(head, 0); err != nil {
		return fmt.Errorf("truncated inside its header: %w", err)
	}
	if _, err := binary.Decode(head, f.order, &f.header); err != nil {
		return err
	}
	switch h := &f.header; {
	case h.Magic != layout.EventsMagic:
		return fmt.Errorf("byte 0: it does not start with %q", layout.EventsMagic[:])
	case h.ByteOrder != layout.ByteOrder:
		return errors.New("byte 12: the byte order is not that of the recording")
	case h.Version != layout.EventsVersion || h.ChunkSize != layout.ChunkSize || h.HeaderSize != layout.EventsHeaderSize:
		return fmt.Errorf("byte 8: version %d with chunks of %d bytes, this program reads version %d", h.Version, h.ChunkSize, layout.EventsVersion)
	}
	return nil
}

// chunks lists the chunks of a file, including empty ones. A truncated last
// chunk has the events that are left. Chunks that a running process writes
// meanwhile are listed too: before it fills a chunk again, it has appended the
// chunk's events to a file.
func (f *eventFile) chunks(problem func(at int64, why string)) []chunk {
	var out []chunk
	head := make([]byte, chunkHead)
	for at := int64(f.header.HeaderSize); f.reaches(at + chunkHead); at += layout.ChunkSize {
		c := chunk{in: f.in, at: at + chunkHead, far: f.spill()}
		if _, err := f.in.ReadAt(head, at); err != nil {
			problem(at, err.Error())
			return out
		}
		binary.Decode(head, f.order, &c.Chunk) // cannot fail: head has the size of a Chunk
		switch {
		case c.Count == 0 && (c.Magic != layout.ChunkMagic || c.Sequence == 0):
			continue // not used yet
		case c.Magic != layout.ChunkMagic || c.Count > layout.MaxChunkEvents || c.Sequence == 0:
			problem(at, "no chunk of events, skipped")
			continue
		case !f.reaches(c.at + int64(c.Count)*eventSize):
			c.cut, c.Count = c.Count, uint64(f.size-c.at)/eventSize
		}
		out = append(out, c)
	}
	return out
}

// reaches reports whether the file has at least size bytes now.
func (f *eventFile) reaches(size int64) bool {
	if size > f.size {
		f.size = max(f.size, f.in.length())
	}
	return size <= f.size
}
