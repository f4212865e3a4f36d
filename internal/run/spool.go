package run

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
	"github.com/mpitrace/mpitrace/internal/atomicfile"
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
	dir := filepath.Join(parent, spoolPrefix()+hex.EncodeToString(random[:]))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make spool: %w", err)
	}
	return &Spool{dir}, nil
}

func spoolPrefix() string { return fmt.Sprintf("mpitrace-%d-", os.Getuid()) }

// OpenSpool is the spool that an earlier process made.
func OpenSpool(dir string) (*Spool, error) {
	if !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), spoolPrefix()) {
		return nil, fmt.Errorf("%s is no spool of this user", dir)
	}
	return &Spool{dir}, OwnDirectory(dir)
}

// room is the free space of a file system, in bytes.
func room(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// OwnDirectory checks that dir is a directory of this user that no other can
// write to, and no symbolic link.
func OwnDirectory(dir string) error {
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

// OrphanWait is how long Collect waits, if it may, for processes that a
// launcher leaves behind, as when it is killed.
const OrphanWait = 3 * time.Second

// Collect moves the recordings into dst and removes the spool. Those of
// processes that still run after a wait are copied as they are at that moment,
// and stay. It goes on after an error. left are the paths of what is still in
// the spool: what is still written to, and what could not be moved, for which
// there is an error; or the spool's own path if its recordings are not known.
func (s *Spool) Collect(dst string, wait time.Duration) (left []string, err error) {
	if err := OwnDirectory(s.Dir); os.IsNotExist(err) {
		return nil, fmt.Errorf("collect recordings: %s: %w", s.Dir, fs.ErrNotExist)
	} else if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	s.awaitWriters(time.Now().Add(wait))
	if err := bringWrongMPI(s.Dir, dst); err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	writers := Writers()
	if left, err = s.each(func(path string) (bool, error) { return Fetch(path, dst, writers) }); err != nil || len(left) > 0 {
		return left, err
	}
	return s.remove()
}

// remove deletes the spool, with all but recordings: a process may have begun
// to record after the others were brought home. Somebody else may have deleted it.
func (s *Spool) remove() (left []string, err error) {
	entries, err := os.ReadDir(s.Dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("remove spool: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(s.Dir, e.Name())
		if isRecording(e) {
			left = append(left, path)
		} else if err := os.RemoveAll(path); err != nil {
			return []string{s.Dir}, fmt.Errorf("remove spool: %w", err)
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	if err := os.Remove(s.Dir); err != nil && !os.IsNotExist(err) {
		return []string{s.Dir}, fmt.Errorf("remove spool: %w", err)
	}
	return nil, nil
}

// Copy copies the recordings into dst as they are at this moment, while the job
// goes on. left and err are as in Collect.
func (s *Spool) Copy(dst string) (left []string, err error) {
	return s.each(func(path string) (bool, error) {
		return true, bring(path, dst)
	})
}

// each brings the recordings home, and gives the paths of those that stay here.
func (s *Spool) each(bring func(path string) (stays bool, err error)) (left []string, err error) {
	names, err := s.recordings()
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	var errs []error
	for _, name := range names {
		path := filepath.Join(s.Dir, name)
		stays, err := bring(path)
		if err != nil {
			errs = append(errs, err)
		}
		if err != nil || stays {
			left = append(left, path)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return left, fmt.Errorf("collect recordings: %w\nwhat is missing is still in %s", err, s.Dir)
	}
	return left, nil
}

// recordings are the names of the recordings in the spool.
func (s *Spool) recordings() (names []string, err error) {
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		if isRecording(e) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func isRecording(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasSuffix(e.Name(), recordingSuffix)
}

// Fetch moves a recording of this node into dst, packed. One that has a writer
// (Writers) is copied, and stays. What is no recording of this user is left
// alone.
func Fetch(path, dst string, writers map[string]int) (stays bool, err error) {
	name := filepath.Base(path)
	if info, err := os.Lstat(path); err != nil {
		return false, err
	} else if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Getuid() || writer(name) == 0 {
		return false, fmt.Errorf("%s is no recording of this user", path)
	}
	_, stays = writers[name]
	if err := bring(path, dst); err != nil || stays {
		return stays, err
	}
	return false, errors.Join(recording.RemoveEvents(path), os.Remove(path))
}

// bring copies a recording, and before it the events beside it: what these speak
// of is in a recording that is later.
func bring(path, dst string) error {
	for _, file := range append(recording.EventFiles(path), path) {
		if err := packFile(file, filepath.Join(dst, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}

// awaitWriters gives processes that still run a moment to end.
func (s *Spool) awaitWriters(deadline time.Time) {
	names, _ := s.recordings() // what cannot be read is said when they are brought home
	for _, name := range names {
		for pid := writer(name); hasMapped(pid, name) && time.Now().Before(deadline); {
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

// hasMapped tells whether a process is seen to have a recording mapped.
func hasMapped(pid int, name string) bool {
	is, _ := Maps(pid, name)
	return is
}

// packFile packs a recording so that dst exists whole or not at all. The new
// file's mode follows the user's umask.
func packFile(src, dst string) error {
	in, err := atomicfile.OpenNoFollow(src, atomicfile.AnySize)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	var files atomicfile.Set
	defer files.Discard()
	files.Check = func() error {
		_, err := os.Lstat(src) // without it, whoever moved it meanwhile has brought a newer one
		return err
	}
	err = files.Write(dst, func(w io.Writer) error { return recording.Pack(w, in, info.Size()) })
	if err == nil {
		err = files.Commit()
	}
	if err != nil {
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
	f, err := atomicfile.OpenNoFollow(path, atomicfile.AnySize)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, layout.HeaderSize)
	n, _ := io.ReadFull(f, head)
	return recording.CanPack(head[:n])
}
