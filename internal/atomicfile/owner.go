package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// statThroughLinks returns what os.Stat does. But it returns an error if path, or its directory, is
// a symbolic link of one user that leads to a file of another user. Links of root are allowed.
func statThroughLinks(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	for _, place := range []string{path, filepath.Dir(path)} {
		link, err := os.Lstat(place)
		if err != nil {
			return nil, err
		}
		owner := OwnerOf(link)
		if link.Mode()&os.ModeSymlink != 0 && owner != 0 && owner != os.Geteuid() && owner != OwnerOf(info) {
			return nil, fmt.Errorf("%s is a symbolic link of another user (%d) to a file that is not that user's", place, owner)
		}
	}
	return info, nil
}

// OwnerOf returns the id of the user that a file belongs to; -1 if it is not known.
func OwnerOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// CheckOwnDirectory returns an error unless path is a directory of this user
// that nobody else can write to, and not a symbolic link.
func CheckOwnDirectory(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || OwnerOf(info) != os.Geteuid() {
		return fmt.Errorf("%s is not a private directory of this user", path)
	}
	return nil
}
