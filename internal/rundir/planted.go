package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// checkPlanted returns an error if another user could have put the directory
// there, or a symbolic link to one: it is in a directory that all users can
// write to, such as /tmp, and belongs to neither this user nor root. The
// library has the same rule (recording_path.c).
func checkPlanted(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return checkOwner(dir, info)
}

// checkLinks returns an error if an element of the path is a symbolic link that
// checkPlanted would refuse. It accepts directories of other users, because
// users may share them. It does not check elements that do not exist yet.
func checkLinks(path string) error {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			err = checkOwner(at, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ForeignError means that a run belongs to another user. It is a permission
// error: nothing may be written into the run directory, whatever its mode is,
// because its owner decides what is at each name in it.
type ForeignError struct {
	Path string // what belongs to another user
	Uid  int    // that user
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s belongs to another user (%d): nothing is written into it", e.Path, e.Uid)
}

// Is makes errors.Is find fs.ErrPermission.
func (e *ForeignError) Is(target error) bool { return target == fs.ErrPermission }

// Foreign returns a *ForeignError if the run belongs to another user. This is so if the directory,
// its recordings or run.json belong to another user, or the files that these names link to. Foreign
// ignores files that do not exist.
func (d Dir) Foreign() error {
	for _, path := range []string{string(d), d.Recordings(), d.Info()} {
		if err := foreign(path); err != nil {
			return err
		}
	}
	return nil
}

// foreign returns an error if path belongs to another user, or is a symbolic link that belongs to
// another user. A link of root is trusted.
func foreign(path string) error {
	if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeSymlink != 0 {
		if owner := atomicfile.OwnerOf(link); owner != os.Geteuid() && owner != 0 {
			return &ForeignError{path, owner}
		}
	}
	if info, err := os.Stat(path); err == nil && atomicfile.OwnerOf(info) != os.Geteuid() {
		return &ForeignError{path, atomicfile.OwnerOf(info)}
	}
	return nil
}

// MakeInside makes a directory in a run directory, or uses an existing one of this user. It checks
// that the name is not a link, which another user with access to the run directory may have put
// there.
func MakeInside(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return foreign(dir)
}

// Writable returns an error if this user cannot, or must not, write into the
// run directory.
func (d Dir) Writable() error {
	if err := d.Foreign(); err != nil {
		return err
	}
	if err := unix.Access(string(d), unix.W_OK); err != nil {
		return &fs.PathError{Op: "write into", Path: string(d), Err: err}
	}
	return nil
}

// CheckDefaultOutput returns an error if a file that the user has not named would be written into
// another user's directory. Directories of root are trusted, such as /tmp and the directories of a
// project.
func CheckDefaultOutput(path string) error {
	var foreign *ForeignError
	if err := Dir(filepath.Dir(path)).Foreign(); errors.As(err, &foreign) && foreign.Uid != 0 {
		return &InputError{fmt.Errorf("%w: name the output with -o", err)}
	}
	return nil
}

// checkOwner returns an error if another user could have put the file at path.
// info describes the file.
func checkOwner(path string, info os.FileInfo) error {
	const allWrite = 0o002
	above, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if owner := atomicfile.OwnerOf(info); above.Mode().Perm()&allWrite != 0 && owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d) and is in a directory that all users can write to: choose another directory with -o", path, owner)
	}
	return nil
}
