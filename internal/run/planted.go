package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkPlanted is an error if somebody else may have put a directory there, or
// a symbolic link to one, to be written into: it lies in a directory that all
// users can write to, as /tmp is, and belongs to neither this user nor root. The
// library has the same rule (recording_path.c).
func checkPlanted(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return checkOwner(dir, info)
}

// checkLinks returns an error if an element of the path is a symbolic link that
// checkPlanted would refuse. Directories of other users are passed through: the
// path may lie in one that they share. What does not exist yet is not checked.
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

// checkOwner returns an error if info is of something that another user may have
// put at path.
func checkOwner(path string, info os.FileInfo) error {
	const allWrite = 0o002
	above, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && above.Mode().Perm()&allWrite != 0 && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d), in a directory that all can write to: name another with -o", path, st.Uid)
	}
	return nil
}
