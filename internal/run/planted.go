package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

// ownedBy reports whether a file belongs to a user.
func ownedBy(info os.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}

// checkOwner returns an error if another user could have put the file at path.
// info describes the file.
func checkOwner(path string, info os.FileInfo) error {
	const allWrite = 0o002
	above, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && above.Mode().Perm()&allWrite != 0 && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d) and is in a directory that all users can write to: choose another directory with -o", path, st.Uid)
	}
	return nil
}
