package causes

import (
	"bufio"
	"fmt"
	"io"
)

// Scratch is a temporary file for what does not fit into memory.
type Scratch struct {
	create func() (ScratchFile, error) // called when something is written for the first time
	file   ScratchFile
	size   int64
}

// ScratchFile is the file of a Scratch.
type ScratchFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// NewScratch returns a Scratch with the file that create makes when it is needed.
func NewScratch(create func() (ScratchFile, error)) *Scratch { return &Scratch{create: create} }

// Part is a part of a Scratch.
type Part struct{ from, to int64 }

// Write appends a part to the file.
func (s *Scratch) Write(b []byte) (Part, error) {
	if s.file == nil {
		file, err := s.create()
		if err != nil {
			return Part{}, fmt.Errorf("create temporary file for waits: %w", err)
		}
		s.file = file
	}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		return Part{}, fmt.Errorf("write temporary file for waits: %w", err)
	}
	part := Part{s.size, s.size + int64(len(b))}
	s.size = part.to
	return part, nil
}

// readBuffer is how many bytes of a part are read at a time.
const readBuffer = 4 << 10

// Reader reads a part.
func (s *Scratch) Reader(p Part) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(s.file, p.from, p.to-p.from), readBuffer)
}

// Close closes the file, which is then gone.
func (s *Scratch) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
