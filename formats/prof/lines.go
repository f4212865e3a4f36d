package prof

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// lines splits a stream at line ends, in bounded memory.
type lines struct {
	r      *bufio.Reader
	buf    []byte // of a line that is longer than r's buffer
	number int    // of the line that next returned, from 1
}

// room is what reading a file needs and leaves to the next: a job may have one
// file for each of 100,000 ranks.
type room struct {
	r       *bufio.Reader
	members []int
}

var rooms = sync.Pool{New: func() any { return &room{r: bufio.NewReaderSize(nil, 64<<10)} }}

func newLines(r io.Reader, in *room) *lines {
	in.r.Reset(r)
	return &lines{r: in.r}
}

// next returns the next line without its end (LF or CR LF), valid until the
// next call. The error is io.EOF after the last line, errLong for a line that
// was skipped, or the stream's.
func (l *lines) next() ([]byte, error) {
	l.number++
	part, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		part, err = l.collect(part)
	}
	if err == io.EOF && len(part) > 0 {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r")), nil
}

// collect reads on to the end of a line that begins with part.
func (l *lines) collect(part []byte) ([]byte, error) {
	l.buf = append(l.buf[:0], part...)
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > maxLine {
			return nil, l.skip(err)
		}
		l.buf = append(l.buf, part...)
		if err != bufio.ErrBufferFull {
			return l.buf, err
		}
	}
}

// skip reads on to the end of the line without keeping it; err is that of the
// read before. It returns errLong unless the stream has failed.
func (l *lines) skip(err error) error {
	for err == bufio.ErrBufferFull {
		_, err = l.r.ReadSlice('\n')
	}
	if err == nil || err == io.EOF {
		return errLong
	}
	return err
}
