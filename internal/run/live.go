package run

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// LiveSource adds the present state of processes to the profiles of another
// source. It sets Exit.Alive or Exit.Gone for processes of this node that did not
// finalize and whose end was not recorded.
type LiveSource struct {
	Of profile.Source
	// Read is a time before the recordings were read. It becomes Exit.Alive of
	// processes that are still running.
	Read time.Time

	writers func() map[string]int
}

// Each implements profile.Source.
func (s LiveSource) Each(f func(*profile.Profile) error) error {
	host, _ := os.Hostname()
	s.writers = sync.OnceValue(RecordingWriters)
	return s.Of.Each(func(p *profile.Profile) error {
		if p.State != profile.Finalized && p.Exit == (profile.Exit{}) && p.Host == host && host != "" {
			s.setState(p)
		}
		return f(p)
	})
}

// setState finds the process of a recording by the recording's file name, which
// contains the process id and the start time. It does not use the path, because
// the file may have been copied.
func (s LiveSource) setState(p *profile.Profile) {
	name := filepath.Base(p.Source)
	writes, err := mapsRecording(p.Pid, name)
	pid := p.Pid
	if !writes {
		pid, writes = s.writers()[name]
	}
	switch {
	case writes:
		p.Exit.Alive, p.Exit.Stopped = s.Read.UnixNano(), stopped(pid)
	case err == nil || errors.Is(err, fs.ErrNotExist):
		p.Exit.Gone = true
	} // otherwise it belongs to another user
}

// mapsRecording reports whether a process has mapped a recording with this file
// name, in any directory.
func mapsRecording(pid int, name string) (bool, error) {
	files, err := mapped(pid)
	return slices.ContainsFunc(files, func(f mappedFile) bool { return filepath.Base(f.path) == name }), err
}

// RecordingWriters returns the processes that have mapped recordings, by the
// recordings' file names, as far as this user may read them. It looks at all
// processes, because the process id in a file name may be that of a container's
// own pid namespace.
func RecordingWriters() map[string]int {
	out := map[string]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		files, _ := mapped(pid) // fails if the process has ended or belongs to another user
		for _, f := range files {
			out[filepath.Base(f.path)] = pid
		}
	}
	return out
}

// mappedFile is a file that a process has mapped.
type mappedFile struct {
	path  string // in the process's mount namespace
	inode uint64
}

// mapped returns the recordings that a process has mapped; none if it has
// ended.
func mapped(pid int) ([]mappedFile, error) {
	in, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out []mappedFile
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := strings.TrimSuffix(lines.Text(), " (deleted)")
		at := strings.IndexByte(line, '/')
		if at < 0 || !strings.HasSuffix(line, recordingSuffix) {
			continue
		}
		fields := strings.Fields(line[:at]) // address, permissions, offset, device, inode
		if len(fields) != 5 {
			continue
		}
		inode, err := strconv.ParseUint(fields[4], 10, 64)
		if err != nil || len(out) > 0 && out[len(out)-1].inode == inode {
			continue
		}
		out = append(out, mappedFile{strings.ReplaceAll(line[at:], `\012`, "\n"), inode})
	}
	return out, nil
}

// ProcessStat returns the fields of /proc/PID/stat from the third on: the state
// ("S"), the parent's process ID, and so on. It returns none if there is no such
// process.
func ProcessStat(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name in parentheses may contain any characters
}

// stopped reports whether a process is stopped by a signal or a debugger.
func stopped(pid int) bool {
	stat := ProcessStat(pid)
	return len(stat) > 0 && strings.ToLower(stat[0]) == "t"
}

// NodeProfiles reads the recordings of all of this user's processes on this
// node, of any job. It returns an error for each recording that cannot be read.
func NodeProfiles() (profile.List, []error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, []error{err}
	}
	var found profile.List
	var errs []error
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !ownProcess(e) {
			continue
		}
		files, _ := mapped(pid) // fails if the process has ended
		for _, f := range files {
			p, err := readMapped(pid, f)
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("process %d: %w", pid, err))
			case p != nil && p.Pid == pid: // not a forked child, which records nothing
				found = append(found, p)
			}
		}
	}
	return found, errs
}

func ownProcess(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && ownedBy(info, os.Getuid())
}

// readMapped reads a recording through the root directory of its process, which
// may be in a container. It returns an error if the file at that path is not
// the mapped one, and nil if it is not a recording.
func readMapped(pid int, f mappedFile) (*profile.Profile, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "root", f.path)
	in, err := atomicfile.OpenNoFollow(path, atomicfile.AnySize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	now := time.Now()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Ino != f.inode {
		return nil, fmt.Errorf("%q is not the file that is mapped", f.path)
	}
	head := make([]byte, len(layout.Magic))
	if n, _ := in.ReadAt(head, 0); !recording.Is(head[:n]) {
		return nil, nil
	}
	p, err := recording.Read(in, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%q: %w", f.path, err)
	}
	p.Source, p.Exit.Alive, p.Exit.Stopped = f.path, now.UnixNano(), stopped(pid)
	return p, nil
}
