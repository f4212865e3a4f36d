package prof

import (
	"bufio"
	"bytes"
	"io"
)

// lines splits a stream at line ends, in bounded memory.
type lines struct {
	r      *bufio.Reader
	buf    []byte // of a line that is longer than r's buffer
	number int    // of the line that next returned, from 1
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10)}
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
