package interpose

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CheckLibrary returns an error unless the file at path can be preloaded and no
// other user can replace it. The file and the directories above it must belong
// to this user, to root, or to the user who installed this program, and others
// must not be able to write to them.
func CheckLibrary(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file that can be loaded", path)
	}
	if i := strings.IndexAny(path, separators); i >= 0 {
		return fmt.Errorf("the library's path %q has a %q in it, which LD_PRELOAD takes for a separator: set MPITRACE_CACHE or XDG_CACHE_HOME to a directory without, or move the installation", path, path[i])
	}
	return checkPlace(path)
}

// separators are the characters at which the loader splits LD_PRELOAD. They
// cannot be quoted.
const separators = " \t\n:"

// checkPlace checks a file or directory and all directories above it, both
// along the given path and along the path without symbolic links.
func checkPlace(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return err
	}
	for _, start := range []string{abs, real} {
		entry := true // the file or directory itself: here the sticky bit does not help
		for at := start; ; at = filepath.Dir(at) {
			if err := checkEntry(at, entry); err != nil {
				return fmt.Errorf("%s cannot be trusted: %w", path, err)
			}
			entry = false
			if at == "/" {
				break
			}
		}
	}
	return nil
}

// checkEntry checks one directory or file. entry is true for the file or
// directory itself. A directory above it may be writable by others if it is
// sticky, such as /tmp: there nobody can replace the files of another user.
func checkEntry(path string, entry bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s has no owner", path)
	}
	if !trusts(st.Uid) && (entry || !isUnmapped(st.Uid)) {
		return fmt.Errorf("%s belongs to another user (%d)", path, st.Uid)
	}
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 || mode&fs.ModeSticky != 0 && !entry {
		return nil
	}
	others := mode.Perm() & 0o022
	if others == 0o020 && st.Gid == st.Uid { // many systems give each user a group of their own
		others = 0
	}
	if others != 0 {
		return fmt.Errorf("others can write to %s: chmod go-w it", path)
	}
	return nil
}

// trusts reports whether this process runs files of the user anyway.
func trusts(uid uint32) bool {
	if uid == 0 || int(uid) == os.Geteuid() {
		return true
	}
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == uid && !isUnmapped(uid)
}

// isUnmapped reports whether a rootless container hides who the user is. There,
// the host's root, who owns / and /home, has the same id as all other users.
func isUnmapped(uid uint32) bool {
	const nobody = 65534
	m, err := os.ReadFile("/proc/self/uid_map")
	words := strings.Fields(string(m))
	return uid == nobody && err == nil && (len(words) != 3 || words[2] != "4294967295")
}
