package launch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/interpose/layout"
)

// recordingSuffix ends the name of each recording.
const recordingSuffix = ".rec"

// Spool is a private directory, normally on tmpfs, in which the processes of
// this node map their recordings: no disk or network is in the path of a
// store. Its name is random, so that a process on another node, which may have
// a directory of that name only by being given this one, knows that it is not
// here. It lives until Collect.
type Spool struct{ Dir string }

// sharedMemory is the usual tmpfs.
const sharedMemory = "/dev/shm"

// SpoolRoom is the space in bytes that a tmpfs must have for --spool auto to use it:
// containers often get 64 MB, and may have filled them.
const SpoolRoom = 32 << 20

// NewSpool makes the spool that --spool asks for: "auto" (shared memory if it
// has room), "shm", "run" (none, recordings are mapped in the run directory)
// or a directory to make it in. It is nil where there is to be none.
func NewSpool(choice string) (*Spool, error) {
	switch choice {
	case "run":
		return nil, nil
	case "auto", "":
		if free, err := room(sharedMemory); err != nil || free < SpoolRoom {
			return nil, nil
		}
		s, err := makeSpool(sharedMemory)
		if err != nil {
			return nil, nil // no place to write: the run directory will do
		}
		return s, nil
	case "shm":
		return makeSpool(sharedMemory)
	}
	return makeSpool(choice)
}

func makeSpool(parent string) (*Spool, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	dir := filepath.Join(parent, fmt.Sprintf("mpitrace-%d-%s", os.Getuid(), hex.EncodeToString(random[:])))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make spool: %w", err)
	}
	return &Spool{dir}, nil
}

// room is the free space of a file system, in bytes.
func room(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// ownDirectory checks that dir is a directory of this user that no other can
// write to, and no symbolic link.
func ownDirectory(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a private directory of this user", dir)
	}
	return nil
}

// orphanWait is how long Collect waits for processes that a launcher leaves
// behind, as when it is killed.
const orphanWait = 3 * time.Second

// Collect moves the recordings into dst and removes the spool. It goes on
// after an error; what could not be moved stays in the spool, and the error
// says where that is. n is the number of recordings moved.
func (s *Spool) Collect(dst string) (n int, err error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return 0, fmt.Errorf("collect recordings: %w", err)
	}
	s.awaitWriters(entries)
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), recordingSuffix) {
			continue
		}
		if err := s.move(e.Name(), dst); err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	if len(errs) == 0 {
		return n, os.RemoveAll(s.Dir)
	}
	return n, fmt.Errorf("collect recordings: %w\nwhat is missing is still in %s", errors.Join(errs...), s.Dir)
}

// move copies a recording, packed, and deletes it here. One that is still
// written to stays.
func (s *Spool) move(name, dst string) error {
	src := filepath.Join(s.Dir, name)
	if pid := writer(name); mapped(pid, src) {
		return fmt.Errorf("%s: process %d still runs", name, pid)
	}
	if err := packFile(src, filepath.Join(dst, name)); err != nil {
		return err
	}
	return os.Remove(src)
}

// awaitWriters gives processes that still run a moment to end.
func (s *Spool) awaitWriters(entries []fs.DirEntry) {
	deadline := time.Now().Add(orphanWait)
	for _, e := range entries {
		for pid := writer(e.Name()); mapped(pid, filepath.Join(s.Dir, e.Name())) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// writer is the process that a recording's name, <host>-<pid>-<start>.rec,
// speaks of; 0 if it does not.
func writer(name string) int {
	parts := strings.Split(strings.TrimSuffix(name, recordingSuffix), "-")
	if len(parts) < 3 {
		return 0
	}
	pid, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		return 0
	}
	return pid
}

// mapped tells whether a process has a file mapped.
func mapped(pid int, path string) bool {
	if pid <= 0 {
		return false
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && strings.Contains(string(maps), path+"\n")
}

// packFile packs a recording so that dst exists whole or not at all. The new
// file's mode follows the user's umask.
func packFile(src, dst string) error {
	in, err := os.OpenFile(src, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	part := dst + ".part"
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	if err = errors.Join(recording.Pack(out, in, info.Size()), out.Close()); err == nil {
		err = os.Rename(part, dst)
	}
	if err != nil {
		os.Remove(part)
		return fmt.Errorf("copy %s: %w", src, err)
	}
	return nil
}

// PackAll packs the recordings that were made in dir itself, by processes of
// other nodes or for want of a spool. Only of processes that ended: the others,
// and what cannot be packed, stay as they are.
func PackAll(dir string) {
	entries, _ := os.ReadDir(dir) // of none there is nothing to pack
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), recordingSuffix) && canPack(path) {
			_ = packFile(path, path) // it is whole without
		}
	}
}

func canPack(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, layout.HeaderSize)
	n, _ := io.ReadFull(f, head)
	return recording.CanPack(head[:n])
}
