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

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// LiveSource adds the present state of processes to the profiles of another
// source. It sets Exit.Alive or Exit.Gone for processes that did not finalize and
// whose end was not recorded: for those of this node, and if the command has ended,
// for all.
type LiveSource struct {
	Of profile.Source
	// Read is a time before the recordings were read. It becomes Exit.Alive of
	// processes that are still running.
	Read  time.Time
	Ended bool // see Run.Ended

	writers func() map[string]int
}

// Each implements profile.Source.
func (s LiveSource) Each(f func(*profile.Profile) error) error {
	setState := s.setter()
	return s.Of.Each(func(p *profile.Profile) error {
		setState(p)
		return f(p)
	})
}

// EachPart implements profile.Parts. If the other source does not, there is one part.
func (s LiveSource) EachPart(n int, f func(part int, p *profile.Profile) error) error {
	parts, ok := s.Of.(profile.Parts)
	if !ok {
		return s.Each(func(p *profile.Profile) error { return f(0, p) })
	}
	setState := s.setter()
	return parts.EachPart(n, func(part int, p *profile.Profile) error {
		setState(p)
		return f(part, p)
	})
}

// setter returns a function that sets the state of a process.
func (s LiveSource) setter() func(*profile.Profile) {
	host, _ := os.Hostname()
	s.writers = sync.OnceValue(RecordingWriters)
	return func(p *profile.Profile) {
		if p.State == profile.Finalized || p.Exit != (profile.Exit{}) {
			return
		}
		if p.Host == host && host != "" {
			s.setState(p)
		}
		p.Exit.Gone = p.Exit.Gone || s.Ended && p.Exit.Alive == 0
	}
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
	case (err == nil || errors.Is(err, fs.ErrNotExist)) && inSight(p.PidNamespace):
		p.Exit.Gone = true
	} // otherwise it belongs to another user, or may run where it is not visible from here
}

// inSight reports whether a process id of a namespace is visible here as it is,
// as far as known: it is that of this process. Recordings of older versions do
// not say in which namespace a process ran.
func inSight(namespace uint64) bool {
	own, err := os.Stat("/proc/self/ns/pid")
	return err != nil || namespace == 0 || namespace == inodeOf(own)
}

// mapsRecording reports whether a process has mapped a recording with this file
// name, in any directory or container.
func mapsRecording(pid int, name string) (bool, error) {
	files, err := mapped(pid)
	return slices.ContainsFunc(files, func(f mappedFile) bool { return slices.Contains(f.recordings(pid), name) }), err
}

// RecordingWriters returns the processes that have mapped recordings, by the
// recordings' file names, as far as this user may read them. It looks at all
// processes, because the process id in a file name may be that of a container's
// own pid namespace.
func RecordingWriters() map[string]int {
	out := map[string]int{}
	eachMapped(func(pid int, f mappedFile) {
		for _, name := range f.recordings(pid) {
			out[name] = pid
		}
	})
	return out
}

// isMapped reports whether a process of this node may write to a container. If
// the file system cannot tell, it looks at the processes that are visible: those
// of another container of the node may not be.
func isMapped(path string) bool {
	if written, known := isWritten(path); known {
		return written
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	mapped := false
	eachMapped(func(_ int, f mappedFile) {
		mapped = mapped || f.inode == inodeOf(info) && filepath.Base(f.path) == filepath.Base(path)
	})
	return mapped
}

// isWritten reports whether a process of this node has a file open for writing,
// or mapped: then the kernel refuses a lease. known is false if the file system
// has no leases.
func isWritten(path string) (written, known bool) {
	in, err := atomicfile.OpenNoFollow(path, atomicfile.AnySize)
	if err != nil {
		return false, false
	}
	defer in.Close()
	_, err = unix.FcntlInt(in.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, err = unix.FcntlInt(in.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, err == nil
	}
	return true, errors.Is(err, unix.EAGAIN)
}

// eachMapped calls use with the files that processes have mapped.
func eachMapped(use func(pid int, f mappedFile)) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		files, _ := mapped(pid) // fails if the process has ended or belongs to another user
		for _, f := range files {
			use(pid, f)
		}
	}
}

// mappedFile is a recording or a container that a process has mapped.
type mappedFile struct {
	path  string // in the process's mount namespace
	inode uint64
	parts []mappedPart // of a container
}

// mappedPart is a part of a file.
type mappedPart struct{ offset, size uint64 }

func (f *mappedFile) container() bool { return strings.HasSuffix(f.path, recording.ContainerSuffix) }

// recordings returns the file names of the recordings that a process has mapped
// with a file: of a container, those of the mapped extents.
func (f *mappedFile) recordings(pid int) (names []string) {
	if !f.container() {
		return []string{filepath.Base(f.path)}
	}
	_ = recording.WithContainer(f.here(pid), func(c *recording.Container) error {
		for _, part := range f.parts {
			names = append(names, c.MappedBy(part.offset, part.size)...)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// here returns the path by which this process reaches the file.
func (f *mappedFile) here(pid int) string {
	if info, err := os.Stat(f.path); err == nil && inodeOf(info) == f.inode {
		return f.path
	}
	return filepath.Join("/proc", strconv.Itoa(pid), "root", f.path)
}

func inodeOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// mapped returns the recordings and containers that a process has mapped; none
// if it has ended.
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
		if at < 0 || !strings.HasSuffix(line, recordingSuffix) && !strings.HasSuffix(line, recording.ContainerSuffix) {
			continue
		}
		fields := strings.Fields(line[:at]) // addresses, permissions, offset, device, inode
		if len(fields) != 5 {
			continue
		}
		inode, err := strconv.ParseUint(fields[4], 10, 64)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(out, func(f mappedFile) bool { return f.inode == inode })
		if i < 0 {
			i = len(out)
			out = append(out, mappedFile{path: strings.ReplaceAll(line[at:], `\012`, "\n"), inode: inode})
		}
		if part, ok := parsePart(fields[0], fields[2]); ok && out[i].container() {
			out[i].parts = append(out[i].parts, part)
		}
	}
	return out, nil
}

// parsePart parses the addresses and the offset of a line of /proc/PID/maps.
func parsePart(addresses, offset string) (mappedPart, bool) {
	first, last, _ := strings.Cut(addresses, "-")
	start, err := strconv.ParseUint(first, 16, 64)
	end, err2 := strconv.ParseUint(last, 16, 64)
	at, err3 := strconv.ParseUint(offset, 16, 64)
	return mappedPart{at, end - start}, errors.Join(err, err2, err3) == nil
}

// bootID returns the id of the kernel's boot; "" if it is not known.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
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
			ps, err := readMapped(pid, f)
			if err != nil {
				errs = append(errs, fmt.Errorf("process %d: %w", pid, err))
			}
			for _, p := range ps {
				if p.Pid == pid { // not a forked child, which records nothing
					found = append(found, p)
				}
			}
		}
	}
	return found, errs
}

func ownProcess(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && atomicfile.OwnerOf(info) == os.Getuid()
}

// readMapped reads a recording, or the mapped ones of a container, through the
// root directory of the process, which may be in a container of its own. It
// returns an error if the file at that path is not the mapped one, and nothing
// if it is not a recording.
func readMapped(pid int, f mappedFile) ([]*profile.Profile, error) {
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
	if inodeOf(info) != f.inode {
		return nil, fmt.Errorf("%q is not the file that is mapped", f.path)
	}
	var found []*profile.Profile
	var errs []error
	add := func(p *profile.Profile, source string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", source, err))
			return
		}
		p.Source, p.Exit.Alive, p.Exit.Stopped = source, now.UnixNano(), stopped(pid)
		found = append(found, p)
	}
	if f.container() {
		for _, name := range f.recordings(pid) {
			p, err := recording.ReadFile(filepath.Join(f.here(pid), name))
			add(p, filepath.Join(f.path, name), err)
		}
		return found, errors.Join(errs...)
	}
	head := make([]byte, len(layout.Magic))
	if n, _ := in.ReadAt(head, 0); !recording.Is(head[:n]) {
		return nil, nil
	}
	p, err := recording.Read(in, info.Size())
	add(p, f.path, err)
	return found, errors.Join(errs...)
}
