package table

import (
	"bytes"
	"io"
	"os"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// spool keeps bytes until they are read, the first in memory and the others in a
// temporary file.
type spool struct {
	memory bytes.Buffer
	file   *os.File
	dir    string // for the file, see atomicfile.Unnamed
}

// spoolMemory is how many bytes a spool keeps in memory. Tests set it.
var spoolMemory = 32 << 20

func (s *spool) Write(p []byte) (n int, err error) {
	if s.file == nil && s.memory.Len()+len(p) <= spoolMemory {
		return s.memory.Write(p)
	}
	if s.file == nil {
		if s.file, err = atomicfile.Unnamed(s.dir); err != nil {
			return 0, err
		}
	}
	return s.file.Write(p)
}

// reader returns a reader of all bytes. It can be called once.
func (s *spool) reader() (io.Reader, error) {
	if s.file == nil {
		return &s.memory, nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return io.MultiReader(&s.memory, s.file), err
}

func (s *spool) close() {
	s.memory = bytes.Buffer{}
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}
