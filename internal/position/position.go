// Package position has a writer that can tell where it is.
package position

import (
	"errors"
	"io"
)

// New lets Arrow's file writer write to anything: telling where it is, is all the
// seeking that it does.
func New(w io.Writer) io.WriteSeeker { return &writer{w: w} }

type writer struct {
	w  io.Writer
	at int64
}

func (p *writer) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return n, err
}

func (p *writer) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return p.at, nil
}
