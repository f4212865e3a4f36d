package atomicfile

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Create makes a file that is under way. What lies there was left by a process
// that had this one's number, or by somebody who would like to be written
// through a link: it is removed.
func Create(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return create(path)
}

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Write writes a new file that is under way: one that exists is an error. Errors
// do not name it, since nobody knows it by that name: the caller says what it is
// to be. A disk that is full is said once, though the buffer and the file that is
// closed may say it again.
func Write(path string, write func(io.Writer) error) error {
	f, err := create(path)
	if err != nil {
		return Nameless(err)
	}
	w := Buffer(f)
	return cmp.Or(write(w), w.Flush(), Nameless(f.Close()))
}

// Buffer is for writing to a file whose name errors leave out.
func Buffer(f *os.File) *bufio.Writer { return bufio.NewWriterSize(nameless{f}, 64<<10) }

// Nameless is why something failed, without the name of the file.
func Nameless(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

type nameless struct{ f *os.File }

func (n nameless) Write(p []byte) (int, error) {
	written, err := n.f.Write(p)
	return written, Nameless(err)
}
