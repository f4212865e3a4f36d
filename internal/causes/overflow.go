package causes

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// Overflow is a temporary file for what does not fit into memory. Several goroutines may write to it.
type Overflow struct {
	create func() (OverflowFile, error) // called when something is written for the first time
	mutex  sync.Mutex
	file   OverflowFile
	size   int64
}

// OverflowFile is the file of an Overflow.
type OverflowFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// NewOverflow returns an Overflow with the file that create makes when it is needed.
func NewOverflow(create func() (OverflowFile, error)) *Overflow { return &Overflow{create: create} }

// FilePart is a part of an Overflow.
type FilePart struct{ from, to int64 }

// Write appends a part to the file.
func (o *Overflow) Write(b []byte) (FilePart, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.file == nil {
		file, err := o.create()
		if err != nil {
			return FilePart{}, fmt.Errorf("create temporary file for waits: %w", err)
		}
		o.file = file
	}
	if _, err := o.file.WriteAt(b, o.size); err != nil {
		return FilePart{}, fmt.Errorf("write temporary file for waits: %w", err)
	}
	part := FilePart{o.size, o.size + int64(len(b))}
	o.size = part.to
	return part, nil
}

// readBuffer is how many bytes of a part are read at a time.
const readBuffer = 4 << 10

// Reader reads a part.
func (o *Overflow) Reader(p FilePart) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(o.file, p.from, p.to-p.from), readBuffer)
}

// Close closes the file, which is then gone.
func (o *Overflow) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
