package prof

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// lineReader reads a stream line by line, in bounded memory.
type lineReader struct {
	r      *bufio.Reader
	buf    []byte // holds a line that is longer than r's buffer
	number int    // number of the line that next returned, starting at 1
}

// room holds the buffers of a reader for reuse: a job may have one file for each of 100,000 ranks.
type room struct {
	r       *bufio.Reader
	members []int
}

var rooms = sync.Pool{New: func() any { return &room{r: bufio.NewReaderSize(nil, 64<<10)} }}

func newLines(r io.Reader, in *room) *lineReader {
	in.r.Reset(r)
	return &lineReader{r: in.r}
}

// next returns the next line without its line end (LF or CR LF). It is valid
// until the next call. The error is io.EOF after the last line, errLong for a
// line that was skipped, or an error of the stream.
func (l *lineReader) next() ([]byte, error) {
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

// collect reads the rest of a line that starts with part.
func (l *lineReader) collect(part []byte) ([]byte, error) {
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

// skip reads the rest of a line without keeping it. err is the error of the previous read. skip
// returns errLong, or an error of the stream.
func (l *lineReader) skip(err error) error {
	for err == bufio.ErrBufferFull {
		_, err = l.r.ReadSlice('\n')
	}
	if err == nil || err == io.EOF {
		return errLong
	}
	return err
}
