package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// changesRights reports whether a program runs with other privileges than its
// user's, by set-user-ID, set-group-ID or file capabilities. The loader then
// ignores LD_PRELOAD, for security.
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

// mountedWithoutRights reports whether the system ignores such privileges for
// the file: by the file system's mount option nosuid or the process's
// no_new_privs.
func mountedWithoutRights(f *os.File) bool {
	var fs unix.Statfs_t
	none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil && none == 1 || unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Flags&unix.ST_NOSUID != 0
}
