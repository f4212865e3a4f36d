package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// Beside a recording of a process that was traced lie two files.
const (
	eventsEnding = ".events"
	spillEnding  = ".spill"
)

// EventFiles are the files of events beside the recording at path: none if the
// process was not traced.
func EventFiles(path string) []string {
	var found []string
	for _, ending := range []string{eventsEnding, spillEnding} {
		name := strings.TrimSuffix(path, filepath.Ext(path)) + ending
		if _, err := os.Stat(name); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// chunk is a run of events of one thread in a file.
type chunk struct {
	layout.Chunk
	in   *os.File
	at   int64 // of its first event
	last bool  // of its file
}

// chunkHead is how long a layout.Chunk is.
const chunkHead = 64

// eventFile is one of the files of events, and what is in it.
type eventFile struct {
	in     *os.File
	size   int64
	order  binary.ByteOrder
	header layout.EventsHeader // zero of a spill
	// settled is where a file may end in a chunk that was being written when the
	// process was killed: it is still where it was filled, too.
	settled int64
}

func openEventFile(path string, order binary.ByteOrder) (*eventFile, error) {
	in, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	f := &eventFile{in: in, size: size, order: order, settled: math.MaxInt64}
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

// missing tells of chunks that a file of events says there are, in it or in the
// other file, and that are not. That of a process that runs may have grown since
// it was opened.
func missing(files []*eventFile, problem func(f *eventFile, at int64, why string)) {
	var header layout.EventsHeader
	spilled := int64(0)
	for _, f := range files {
		if f.spill() {
			spilled = f.size
			continue
		}
		header = f.header
		f.settled = endOfChunks(layout.EventsHeaderSize, header.Chunks)
		if info, err := f.in.Stat(); err == nil && chunksIn(info.Size()-layout.EventsHeaderSize) < header.Chunks {
			problem(f, info.Size(), fmt.Sprintf("truncated: it had %d chunks", header.Chunks))
		}
	}
	last := files[len(files)-1]
	if last.spill() && header.HeaderSize != 0 {
		last.settled = endOfChunks(0, header.Spilled)
	}
	switch {
	case header.HeaderSize == 0:
		problem(last, 0, "the file beside it is missing, with the latest events")
	case chunksIn(spilled) < header.Spilled && last.spill():
		problem(last, spilled, fmt.Sprintf("truncated: it had %d chunks", header.Spilled))
	case chunksIn(spilled) < header.Spilled:
		problem(last, 0, fmt.Sprintf("the file beside it is missing, with the earliest %d chunks", header.Spilled))
	}
}

// endOfChunks is where so many chunks end that begin at start.
func endOfChunks(start int64, chunks uint64) int64 {
	return start + int64(min(chunks, math.MaxInt64/layout.ChunkSize-1)*layout.ChunkSize)
}

// chunksIn is how many whole chunks there are in so many bytes.
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

// grown tells whether there is more of a file than there was.
func (f *eventFile) grown() bool {
	info, err := f.in.Stat()
	if err != nil || info.Size() <= f.size {
		return false
	}
	f.size = info.Size()
	return true
}

// chunks lists the chunks of a file. A last one that is cut has the events that
// are there. What a process that runs writes meanwhile is listed too: a chunk that
// it filled again was written behind the others before.
func (f *eventFile) chunks(problem func(at int64, why string)) []chunk {
	var out []chunk
	head := make([]byte, chunkHead)
	for at := int64(f.header.HeaderSize); at+int64(len(head)) <= f.size || f.grown() && at+int64(len(head)) <= f.size; at += layout.ChunkSize {
		c := chunk{in: f.in, at: at + int64(len(head)), last: at+layout.ChunkSize >= f.size}
		if _, err := f.in.ReadAt(head, at); err != nil {
			problem(at, err.Error())
			return out
		}
		binary.Decode(head, f.order, &c.Chunk) // it is as long as one
		switch there := uint64(f.size-c.at) / eventSize; {
		case c.Magic == 0 && c.Count == 0:
			continue // never used
		case c.Magic != layout.ChunkMagic || c.Count > layout.ChunkEvents || c.Sequence == 0:
			problem(at, "no chunk of events, skipped")
			continue
		case c.Count > there:
			if at < f.settled {
				problem(at, fmt.Sprintf("truncated: of the chunk's %d events there are %d", c.Count, there))
			}
			c.Count = there
		}
		if c.Count > 0 {
			out = append(out, c)
		}
	}
	return out
}
