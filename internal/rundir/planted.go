package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// checkPlanted is an error if somebody else may have put a directory there, or
// a symbolic link to one, to be written into: it lies in a directory that all
// users can write to, as /tmp is, and belongs to neither this user nor root. The
// library has the same rule (place.c).
func checkPlanted(dir string) error {
	const allWrite = 0o002
	above, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && above.Mode().Perm()&allWrite != 0 && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (%d), in a directory that all can write to: name another with -o", dir, st.Uid)
	}
	return nil
}
