package rundir

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

// Spool is a private directory, normally on tmpfs, in which the processes of this node map their
// recordings. So no disk or network delays a store. The directory's name is random, so that a
// process on another node does not find a directory with this name there. The spool exists until
// its recordings are collected.
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

// Recordings returns the file names of the recordings in the spool.
func (s *Spool) Recordings() (names []string, err error) {
	entries, err := os.ReadDir(s.Dir)
	for _, e := range entries {
		if IsRecording(e) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func IsRecording(e fs.DirEntry) bool {
	return e.Type().IsRegular() && strings.HasSuffix(e.Name(), RecordingSuffix)
}

// AwaitWriters waits for running processes to end, until the deadline. A killed process has its
// recording open for a moment after its mappings are gone.
func (s *Spool) AwaitWriters(deadline time.Time) {
	names, _ := s.Recordings() // Collect reports the error
	for _, name := range names {
		for pid := Writer(name); time.Now().Before(deadline); {
			if written, _ := IsWritten(filepath.Join(s.Dir, name)); !written && !HasMapped(pid, name) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// Writer returns the process id in a recording's file name,
// <host>-<pid>-<start>.rec; 0 if there is none.
func Writer(name string) int {
	parts := strings.Split(strings.TrimSuffix(name, RecordingSuffix), "-")
	if len(parts) < 3 {
		return 0
	}
	pid, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		return 0
	}
	return pid
}
