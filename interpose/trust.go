package interpose

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CheckLibrary is an error unless the file at path can be preloaded, and nobody
// can put another in its place: it and the directories above it belong to this
// user, root, or whoever installed this program, and no others can write to
// them.
func CheckLibrary(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file that can be loaded", path)
	}
	if i := strings.IndexAny(path, separators); i >= 0 {
		return fmt.Errorf("the library's path %q has a %q in it, which LD_PRELOAD takes for a separator: set MPITRACE_CACHE or XDG_CACHE_HOME to a directory without, or move the installation", path, path[i])
	}
	return checkPlace(path)
}

// separators are what the loader splits LD_PRELOAD at; it has no way to quote.
const separators = " \t\n:"

// checkPlace walks up from a file or directory, and up from where symbolic links
// lead.
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
		entry := true // what is loaded, or built in: even a sticky one is no place
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

// checkEntry looks at one directory or file. In a directory that is sticky, as
// /tmp is, nobody can replace what is another's.
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
	if others == 0o020 && st.Gid == st.Uid { // many systems give each user a group alone
		others = 0
	}
	if others != 0 {
		return fmt.Errorf("others can write to %s: chmod go-w it", path)
	}
	return nil
}

// trusts tells of users whose files this process runs anyway.
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

// isUnmapped tells whether a container without root hides who a user is: there
// the host's root, who owns / and /home, looks like everybody else.
func isUnmapped(uid uint32) bool {
	const nobody = 65534
	m, err := os.ReadFile("/proc/self/uid_map")
	words := strings.Fields(string(m))
	return uid == nobody && err == nil && (len(words) != 3 || words[2] != "4294967295")
}
