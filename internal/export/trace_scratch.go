package export

import (
	"bufio"
	"io"
	"os"
	"sync"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// traceKey is a process with a trace: the index of its job, and its rank.
type traceKey struct{ job, rank int }

// traceScratch holds traces that cannot be written into the run directory. It has one temporary
// file without a name for each goroutine that writes, with one trace after the other. So it takes
// few file descriptors, and the files are gone when the command ends.
type traceScratch struct {
	mutex sync.Mutex
	idle  []*scratchFile
	made  map[traceKey]*tracefile.File
}

type scratchFile struct {
	file *os.File
	end  int64
}

// write adds a trace.
func (s *traceScratch) write(key traceKey, write func(io.Writer) error) error {
	f, err := s.take()
	if err != nil {
		return err
	}
	start := f.end
	place := io.NewOffsetWriter(f.file, start)
	out := bufio.NewWriterSize(place, 64<<10)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	size, _ := place.Seek(0, io.SeekCurrent) // it only tells the position
	f.end += size
	var made *tracefile.File
	if err == nil {
		made, err = tracefile.OpenAt(io.NewSectionReader(f.file, start, size), size)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.idle = append(s.idle, f)
	if err == nil {
		s.made[key] = made
	}
	return atomicfile.Nameless(err)
}

// take returns a file that no other goroutine writes to.
func (s *traceScratch) take() (*scratchFile, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if last := len(s.idle) - 1; last >= 0 {
		f := s.idle[last]
		s.idle = s.idle[:last]
		return f, nil
	}
	file, err := atomicfile.Unnamed("")
	return &scratchFile{file: file}, err
}
