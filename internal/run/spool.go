package run

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// Spool is a private directory, normally on tmpfs, in which the processes of
// this node map their recordings. No disk or network then delays a store. Its
// name is random, so that a process on another node does not take a directory
// of its own node for it. It exists until Collect.
type Spool struct{ Dir string }

// sharedMemory is the usual tmpfs directory.
const sharedMemory = "/dev/shm"

// SpoolRoom is the free space in bytes that a tmpfs must have for --spool auto
// to use it. In containers a tmpfs often has only 64 MB and may be full.
const SpoolRoom = 32 << 20

// NewSpool makes the spool for the value of --spool: "auto" (shared memory if
// it has room), "shm" (shared memory), "run" (no spool: recordings are mapped
// in the run directory), or a directory in which to make it. It returns nil if
// there is no spool.
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
			return nil, nil // not writable: use the run directory
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

// OpenSpool returns the spool that an earlier process made.
func OpenSpool(dir string) (*Spool, error) {
	if !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), spoolPrefix()) {
		return nil, fmt.Errorf("%s is not a spool of this user", dir)
	}
	return &Spool{dir}, atomicfile.CheckOwnDirectory(dir)
}

// room returns the free space of a file system in bytes.
func room(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// OrphanWait is the longest time that Collect waits for processes that a
// launcher left running, as when it was killed.
const OrphanWait = 3 * time.Second

// Collect moves the recordings into dst and removes the spool. If processes are
// still running after the wait, it copies their recordings and leaves them in
// the spool. It continues after an error. left has the paths of the recordings
// that are still in the spool, because their processes are running or because
// of an error. If the spool cannot be read, left has the spool's path.
func (s *Spool) Collect(dst string, wait time.Duration) (left []string, err error) {
	if err := atomicfile.CheckOwnDirectory(s.Dir); os.IsNotExist(err) {
		return nil, fmt.Errorf("collect recordings: %s: %w", s.Dir, fs.ErrNotExist)
	} else if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	s.awaitWriters(time.Now().Add(wait))
	if err := bringWrongMPI(s.Dir, dst); err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	names, err := s.recordings()
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	for i, name := range names {
		names[i] = filepath.Join(s.Dir, name)
	}
	if left, err = s.left(fetch(names, dst, RecordingWriters())); err != nil || len(left) > 0 {
		return left, err
	}
	return s.remove()
}

// remove deletes the spool and everything in it except recordings, because a
// process may have begun to record after the others were collected. It is no
// error if the spool does not exist.
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

// Copy copies the recordings into dst while the job is running. left and err
// are as in Collect.
func (s *Spool) Copy(dst string) (left []string, err error) {
	names, err := s.recordings()
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	var copied []fetched
	for _, name := range names {
		path := filepath.Join(s.Dir, name)
		copied = append(copied, fetched{path, true, bring(path, dst)})
	}
	return s.left(copied)
}

// left returns the paths of the recordings that stay in the spool, and the
// errors of all.
func (s *Spool) left(all []fetched) (left []string, err error) {
	var errs []error
	for _, f := range all {
		if f.err != nil {
			errs = append(errs, f.err)
		}
		if f.err != nil || f.stays {
			left = append(left, f.path)
		}
	}
	if err := sameOnce(errs); err != nil {
		return left, fmt.Errorf("collect recordings: %w\nthe missing recordings are still in %s", err, s.Dir)
	}
	return left, nil
}

// recordings returns the file names of the recordings in the spool.
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

// awaitWriters waits for running processes to end, until the deadline.
func (s *Spool) awaitWriters(deadline time.Time) {
	names, _ := s.recordings() // Collect reports the error
	for _, name := range names {
		for pid := writer(name); hasMapped(pid, name) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// writer returns the process id in a recording's file name,
// <host>-<pid>-<start>.rec; 0 if there is none.
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

// hasMapped reports whether a process is known to have mapped a recording.
func hasMapped(pid int, name string) bool {
	is, _ := mapsRecording(pid, name)
	return is
}
