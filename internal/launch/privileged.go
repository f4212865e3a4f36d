package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// changesRights tells whether a program runs with other rights than those of
// who starts it: set-user-ID, set-group-ID or file capabilities. The loader
// then takes no library from LD_PRELOAD, and this is as it should be.
func changesRights(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || mountedWithoutRights(f) {
		return false
	}
	var capabilities [64]byte
	n, err := unix.Fgetxattr(int(f.Fd()), "security.capability", capabilities[:])
	return info.Mode()&os.ModeSetuid != 0 && int(st.Uid) != os.Getuid() ||
		info.Mode()&os.ModeSetgid != 0 && int(st.Gid) != os.Getgid() ||
		err == nil && n > 0 && os.Getuid() != 0
}

// mountedWithoutRights tells whether the system passes over such marks there.
func mountedWithoutRights(f *os.File) bool {
	var fs unix.Statfs_t
	none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil && none == 1 || unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Flags&unix.ST_NOSUID != 0
}
