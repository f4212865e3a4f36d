package e2e

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// account is a second user of this machine, with a directory that all users can
// read.
type account struct {
	uid, gid int
	home     string
	shared   string // belongs to root: programs and commands that the account can run
}

// newAccount makes an account, and removes it at the end of the test.
func newAccount(t *testing.T) *account {
	t.Helper()
	needRoot(t)
	shared, err := os.MkdirTemp("", "mpitrace-users-") // t.TempDir is below a directory that only root can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(shared) })
	name := fmt.Sprintf("mpitrace-%d", os.Getpid())
	if text, err := exec.Command("useradd", "--no-create-home", "--no-log-init", "--shell", "/bin/sh", name).CombinedOutput(); err != nil {
		t.Fatalf("make an account: %v: %s", err, text)
	}
	t.Cleanup(func() {
		if text, err := exec.Command("userdel", "--force", name).CombinedOutput(); err != nil {
			t.Errorf("remove the account: %v: %s", err, text)
		}
	})
	found, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	a := &account{home: filepath.Join(shared, "home"), shared: shared}
	a.uid, _ = strconv.Atoi(found.Uid) // a number on Unix
	a.gid, _ = strconv.Atoi(found.Gid)
	if err := errors.Join(os.Chmod(shared, 0o755), os.Mkdir(a.home, 0o755), os.Chown(a.home, a.uid, a.gid)); err != nil {
		t.Fatal(err)
	}
	return a
}

// as returns the command line that runs a command as the account, which gets
// root's environment apart from where its files are.
func (a *account) as(command ...string) []string {
	return slices.Concat([]string{"setpriv", "--reuid", strconv.Itoa(a.uid), "--regid", strconv.Itoa(a.gid), "--clear-groups",
		"env", "--chdir=" + a.home, "HOME=" + a.home, "TMPDIR=/tmp", "XDG_CONFIG_HOME=" + a.home, "MPITRACE_CACHE=" + filepath.Join(a.home, "cache")}, command)
}

// own gives everything in a directory to the account.
func (a *account) own(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, a.uid, a.gid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fileWatch reports what happens to the files below a directory.
type fileWatch struct {
	fd   int
	dirs map[int]string
	mask uint32
}

// What a fileWatch waits for.
const (
	changes = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE | unix.IN_MOVE | unix.IN_CLOSE_WRITE
	reads   = changes | unix.IN_OPEN | unix.IN_ACCESS
)

func watchFiles(t *testing.T, dir string, mask uint32) *fileWatch {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	w := &fileWatch{fd: fd, dirs: map[int]string{}, mask: mask}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		watched, err := unix.InotifyAddWatch(fd, path, mask)
		w.dirs[watched] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.seen(t) // what this walk did
	return w
}

// seen returns what has happened since the last call.
func (w *fileWatch) seen(t *testing.T) (events []string) {
	t.Helper()
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buffer)
		if errors.Is(err, unix.EAGAIN) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < n; {
			watched, mask := int(binary.NativeEndian.Uint32(buffer[at:])), binary.NativeEndian.Uint32(buffer[at+4:])
			length := int(binary.NativeEndian.Uint32(buffer[at+12:]))
			name := string(bytes.TrimRight(buffer[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+length], "\x00"))
			if mask&w.mask != 0 {
				events = append(events, fmt.Sprintf("%s (inotify event %#x)", filepath.Join(w.dirs[watched], name), mask))
			}
			at += unix.SizeofInotifyEvent + length
		}
	}
}

// commandNames returns the names of all commands of mpitrace.
func commandNames(t *testing.T) []string {
	t.Helper()
	names := []string{"manual", "rank"} // are hidden; TestHelp requires that no others are
	for line := range strings.Lines(succeed(t, nil, mpitrace, "__complete", "").stdout) {
		if name, _, command := strings.Cut(line, "\t"); command {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
