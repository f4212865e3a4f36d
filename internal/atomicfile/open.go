// Package atomicfile opens files that other users may have written, and writes
// files so that they are either complete or absent.
//
// Other users may be able to write to a run directory. A name in it may belong
// to a pipe without a writer, an endless device, a sparse file larger than
// memory, or a link to a file that only this user can read. Open and Read return
// an error for these and never block.
//
// A file is written under a temporary name in the same directory and then
// renamed. If a signal ends the program, the unfinished file is removed,
// because it may be gigabytes in a hidden file.
package atomicfile

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// AnySize is the limit for files whose reader reads in pieces and checks each
// length before it allocates memory.
const AnySize = 1<<63 - 1

// Open opens a regular file of at most limit bytes for reading. The file may
// still grow afterwards. If the file, or the directory that holds it, is a
// symbolic link of another user, the file must belong to that user, too.
func Open(path string, limit int64) (*os.File, error) {
	return openAs(path, limit, statThroughLinks, os.O_RDONLY)
}

// OpenModule is like Open, but follows all links. It is for programs and
// libraries: a recording may name any path, with or without a link.
func OpenModule(path string, limit int64) (*os.File, error) {
	return openAs(path, limit, os.Stat, os.O_RDONLY)
}

// OpenNoFollow is like Open, but the last element of path must not be a
// symbolic link.
func OpenNoFollow(path string, limit int64) (*os.File, error) {
	return openAs(path, limit, os.Lstat, os.O_RDONLY|syscall.O_NOFOLLOW)
}

// OpenToChange opens a regular file for reading and writing in place. The last
// element of path must not be a symbolic link.
func OpenToChange(path string) (*os.File, error) {
	return openAs(path, AnySize, os.Lstat, os.O_RDWR|syscall.O_NOFOLLOW)
}

// Sized returns what one of the functions above returned, and the size of the file in bytes.
func Sized(in *os.File, err error) (*os.File, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	in, err := Open(path, limit)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, limit))
	if err != nil {
		return nil, err
	}
	if err := ended(in, path, limit); err != nil {
		return nil, err
	}
	return text, nil
}

// ReadAt opens a regular file for read, which gets its size in bytes. Errors
// begin with doing, such as "read trace", and contain the path.
func ReadAt(path, doing string, read func(in io.ReaderAt, size int64) error) error {
	in, size, err := Sized(Open(path, AnySize))
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer in.Close()
	if err := read(in, size); err != nil {
		return fmt.Errorf("%s %s: %w", doing, path, err)
	}
	return nil
}

// ended returns an error if in has more to read, because the file has grown
// beyond limit.
func ended(in io.Reader, path string, limit int64) error {
	if n, _ := in.Read(make([]byte, 1)); n > 0 {
		return tooLarge(path, limit+1, limit)
	}
	return nil
}

// openAs checks the file before it opens it, because opening some devices has
// side effects. It checks again afterwards, because the file may have been
// replaced.
func openAs(path string, limit int64, stat func(string) (os.FileInfo, error), flag int) (*os.File, error) {
	info, err := stat(path)
	if err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		return nil, err
	}
	in, err := os.OpenFile(path, syscall.O_NONBLOCK|flag, 0)
	if err != nil {
		return nil, err
	}
	if info, err = in.Stat(); err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

func check(path string, info os.FileInfo, limit int64) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s, not a regular file", path, kind(info.Mode()))
	case info.Size() > limit:
		return tooLarge(path, info.Size(), limit)
	}
	return nil
}

func tooLarge(path string, size, limit int64) error {
	return fmt.Errorf("%s has %d bytes, more than the %d that such a file may have", path, size, limit)
}

func kind(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a device"
}
