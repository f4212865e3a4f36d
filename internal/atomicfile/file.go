package atomicfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Write writes a file and replaces an existing one. Other processes see the
// file under this name only when it is complete.
func Write(path string, write func(io.Writer) error) error {
	var s Set
	defer s.Discard()
	if err := s.Write(path, write); err != nil {
		return err
	}
	return s.Commit()
}

// WriteOnce is like Write, but keeps an existing file, also one that another
// process completes in the meantime.
func WriteOnce(path string, write func(io.Writer) error) error {
	var s Set
	defer s.Discard()
	if err := s.Write(path, write); err != nil {
		return err
	}
	switch err := os.Link(s.files[0].temporary, path); {
	case err == nil, errors.Is(err, fs.ErrExist):
		removeAbandoned(path)
		return nil
	}
	return s.Commit() // a file system without hard links
}

// WriteContent writes content to a file, as Write does. The file has the
// permissions mode, independent of the umask.
func WriteContent(path string, content []byte, mode os.FileMode) error {
	var s Set
	defer s.Discard()
	err := s.write(path, mode, func(w io.Writer) error {
		if err := s.files[0].out.Chmod(mode); err != nil { // the umask may have removed some
			return Nameless(err)
		}
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return s.Commit()
}

// WriteDirectory writes a directory and replaces an existing one. The function
// write makes the directory, with its files, at the temporary path it is given.
func WriteDirectory(path string, write func(dir string) error) error {
	temporary := temporaryName(path)
	track(temporary)
	defer discard(temporary)
	err := write(temporary)
	if err == nil {
		err = uninterrupted(func() error { return replaceDirectory(path, temporary) })
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	removeAbandoned(path)
	return nil
}

func replaceDirectory(path, temporary string) error {
	old := temporary + ".old"
	if err := os.Rename(path, old); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		back := os.Rename(old, path)
		if os.IsNotExist(back) {
			back = nil
		}
		return errors.Join(err, back)
	}
	return os.RemoveAll(old)
}

// Move gives a whole file or directory, of the same file system, its final name. It
// replaces a file.
func Move(from, to string) error {
	return uninterrupted(func() error { return os.Rename(from, to) })
}

// RemoveDirectory removes a directory in which other processes may still make
// files: they find it gone. What cannot be removed is left.
func RemoveDirectory(path string) {
	temporary := temporaryName(path)
	track(temporary)
	defer discard(temporary)
	if os.Rename(path, temporary) != nil {
		os.RemoveAll(path)
	}
}

// A Set is a group of files that get their names together, when all are
// complete. Until Commit they have temporary names in the same directories.
type Set struct{ files []*file }

// file is one file of a Set. It is open while out is not nil.
type file struct {
	path, temporary string
	out             *os.File
	buffer          *bufio.Writer
}

// Create opens a new file, which stays open until Commit or Discard.
func (s *Set) Create(path string) (io.WriteCloser, error) {
	if _, err := s.create(path, 0o666); err != nil {
		return nil, err
	}
	return s.files[len(s.files)-1], nil
}

// create is Create for a file with the permissions mode, as far as the umask allows.
func (s *Set) create(path string, mode os.FileMode) (io.Writer, error) {
	f := &file{path: path, temporary: temporaryName(path)}
	track(f.temporary)
	s.files = append(s.files, f)
	var err error
	if f.out, err = createNew(f.temporary, mode); err != nil {
		f.out = nil
		return nil, Nameless(err)
	}
	f.buffer = bufferOf(f.out)
	return f.buffer, nil
}

// Write adds a file and closes it.
func (s *Set) Write(path string, write func(io.Writer) error) error {
	return s.write(path, 0o666, write)
}

func (s *Set) write(path string, mode os.FileMode, write func(io.Writer) error) error {
	w, err := s.create(path, mode)
	if err == nil {
		err = write(w)
		err = cmp.Or(err, s.files[len(s.files)-1].close())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// close flushes the buffer and closes the file. It returns the first error
// only, so that a full disk is reported once.
func (f *file) close() error {
	if f.out == nil {
		return nil
	}
	err := cmp.Or(f.buffer.Flush(), Nameless(f.out.Close()))
	f.out = nil
	return err
}

func (s *Set) close() error {
	var err error
	for _, f := range s.files {
		err = cmp.Or(err, f.close())
	}
	return err
}

// Commit closes the files and renames them to their final names.
func (s *Set) Commit() error { return s.CommitIf(func() error { return nil }) }

// CommitIf is like Commit. It first calls check, which no signal can separate
// from the renaming. If check returns an error, CommitIf renames no file and
// returns that error.
func (s *Set) CommitIf(check func() error) error {
	if err := s.close(); err != nil {
		return err
	}
	return uninterrupted(func() error {
		if err := check(); err != nil {
			return err
		}
		for _, f := range s.files {
			if err := os.Rename(f.temporary, f.path); err != nil {
				return fmt.Errorf("write %s: %w", f.path, Nameless(err))
			}
			removeAbandoned(f.path)
		}
		return nil
	})
}

// Discard removes the files that Commit has not renamed. Callers must always
// call it, normally by defer.
func (s *Set) Discard() {
	for _, f := range s.files {
		if f.out != nil {
			f.out.Close()
		}
		discard(f.temporary)
	}
	s.files = nil
}

// Paths returns the final names of the files.
func (s *Set) Paths() []string {
	var paths []string
	for _, f := range s.files {
		paths = append(paths, f.path)
	}
	return paths
}

// WriteNew writes a file in a directory that WriteDirectory makes. It returns
// an error if the file exists. Errors do not contain the path, because it is
// temporary.
func WriteNew(path string, write func(io.Writer) error) error {
	out, err := createNew(path, 0o666)
	if err != nil {
		return Nameless(err)
	}
	f := file{out: out, buffer: bufferOf(out)}
	return cmp.Or(write(f.buffer), f.close())
}

// CreateNew opens a new file in a directory that WriteDirectory makes, or whose
// files are not trusted to be complete. It returns an error if the file exists.
func CreateNew(path string) (io.WriteCloser, error) {
	out, err := createNew(path, 0o666)
	if err != nil {
		return nil, Nameless(err)
	}
	return &file{out: out, buffer: bufferOf(out)}, nil
}

func (f *file) Write(p []byte) (int, error) { return f.buffer.Write(p) }

// Close flushes the buffer and closes the file.
func (f *file) Close() error { return f.close() }

// WriteTemporary writes a file in the directory for temporary files, with a name
// as of os.CreateTemp. The caller must call remove when the file is no longer
// needed. Errors do not contain the path.
func WriteTemporary(pattern string, write func(io.Writer) error) (path string, remove func(), err error) {
	out, err := os.CreateTemp("", pattern)
	if err != nil {
		return "", nil, err
	}
	path = out.Name()
	track(path)
	f := file{out: out, buffer: bufferOf(out)}
	if err := cmp.Or(write(f.buffer), f.close()); err != nil {
		discard(path)
		return "", nil, err
	}
	return path, func() { discard(path) }, nil
}

// MakeTemporary makes a directory as os.MkdirTemp does. It is removed by remove, or if a signal ends the
// program before.
func MakeTemporary(dir, pattern string) (path string, remove func(), err error) {
	if path, err = os.MkdirTemp(dir, pattern); err != nil {
		return "", nil, err
	}
	track(path)
	return path, func() { discard(path) }, nil
}

// Unnamed creates a temporary file in TMPDIR or, if that is not set, in dir, or else where the
// system has temporary files. The file has no name: it is gone when it is closed or when the
// program ends, by whatever cause.
func Unnamed(dir string) (*os.File, error) {
	if os.Getenv("TMPDIR") != "" {
		dir = ""
	}
	f, err := os.CreateTemp(dir, ".mpitrace-*")
	if err != nil && dir != "" { // it may be another user's
		f, err = os.CreateTemp("", ".mpitrace-*")
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func createNew(path string, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func bufferOf(f *os.File) *bufio.Writer { return bufio.NewWriterSize(nameless{f}, 64<<10) }

// Nameless returns the cause of an error without the names of files.
func Nameless(err error) error {
	var named *fs.PathError
	var renamed *os.LinkError
	switch {
	case errors.As(err, &named):
		return named.Err
	case errors.As(err, &renamed):
		return renamed.Err
	}
	return err
}

// nameless is a file whose errors do not contain its temporary name, which
// users do not know.
type nameless struct{ f *os.File }

func (n nameless) Write(p []byte) (int, error) {
	written, err := n.f.Write(p)
	return written, Nameless(err)
}
