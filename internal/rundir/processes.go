package rundir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// InSight reports whether process ids of a namespace are valid in this process, as far as known:
// the namespace is that of this process. Recordings of older versions do not name a namespace.
func InSight(namespace uint64) bool {
	own, err := os.Stat("/proc/self/ns/pid")
	return err != nil || namespace == 0 || namespace == InodeOf(own)
}

// MapsRecording reports whether a process has mapped a recording with this file
// name, in any directory or container.
func MapsRecording(pid int, name string) (bool, error) {
	files, err := Mapped(pid)
	return slices.ContainsFunc(files, func(f MappedFile) bool { return slices.Contains(f.Recordings(pid), name) }), err
}

// RecordingWriters returns the processes that have mapped recordings, by the
// recordings' file names, as far as this user may read them. It looks at all
// processes, because the process id in a file name may be that of a container's
// own pid namespace.
func RecordingWriters() map[string]int {
	out := map[string]int{}
	eachMapped(func(pid int, f MappedFile) {
		for _, name := range f.Recordings(pid) {
			out[name] = pid
		}
	})
	return out
}

// IsMapped reports whether a process of this node may write to a container. If the file system
// cannot tell, it checks only processes that are visible from here, which does not include those in
// another container of the node.
func IsMapped(path string) bool {
	if written, known := IsWritten(path); known {
		return written
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	mapped := false
	eachMapped(func(_ int, f MappedFile) {
		mapped = mapped || f.Inode == InodeOf(info) && filepath.Base(f.Path) == filepath.Base(path)
	})
	return mapped
}

// IsWritten reports whether a process of this node has a file open for writing,
// or mapped: then the kernel refuses a lease. known is false if the file system
// has no leases.
func IsWritten(path string) (written, known bool) {
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
func eachMapped(use func(pid int, f MappedFile)) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		files, _ := Mapped(pid) // fails if the process has ended or belongs to another user
		for _, f := range files {
			use(pid, f)
		}
	}
}

// MappedFile is a recording or a container that a process has mapped.
type MappedFile struct {
	Path  string // in the process's mount namespace
	Inode uint64
	parts []mappedPart // of a container
}

// mappedPart is a part of a file.
type mappedPart struct{ offset, size uint64 }

func (f *MappedFile) Container() bool { return strings.HasSuffix(f.Path, recording.ContainerSuffix) }

// Recordings returns the file names of the recordings that a process has mapped with this file. For
// a container, these are the recordings whose extents it has mapped.
func (f *MappedFile) Recordings(pid int) (names []string) {
	if !f.Container() {
		return []string{filepath.Base(f.Path)}
	}
	_ = recording.WithContainer(f.Here(pid), func(c *recording.Container) error {
		for _, part := range f.parts {
			names = append(names, c.MappedBy(part.offset, part.size)...)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Here returns the path by which this process reaches the file.
func (f *MappedFile) Here(pid int) string {
	if info, err := os.Stat(f.Path); err == nil && InodeOf(info) == f.Inode {
		return f.Path
	}
	return filepath.Join("/proc", strconv.Itoa(pid), "root", f.Path)
}

func InodeOf(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// Mapped returns the recordings and containers that a process has mapped; none
// if it has ended.
func Mapped(pid int) ([]MappedFile, error) {
	in, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out []MappedFile
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := strings.TrimSuffix(lines.Text(), " (deleted)")
		at := strings.IndexByte(line, '/')
		if at < 0 || !strings.HasSuffix(line, RecordingSuffix) && !strings.HasSuffix(line, recording.ContainerSuffix) {
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
		i := slices.IndexFunc(out, func(f MappedFile) bool { return f.Inode == inode })
		if i < 0 {
			i = len(out)
			out = append(out, MappedFile{Path: strings.ReplaceAll(line[at:], `\012`, "\n"), Inode: inode})
		}
		if part, ok := parsePart(fields[0], fields[2]); ok && out[i].Container() {
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

// BootID returns the id of the kernel's boot; "" if it is not known.
func BootID() string {
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

// Stopped reports whether a process is stopped by a signal or a debugger.
func Stopped(pid int) bool {
	stat := ProcessStat(pid)
	return len(stat) > 0 && strings.ToLower(stat[0]) == "t"
}

// HasMapped reports whether a process is known to have mapped a recording.
func HasMapped(pid int, name string) bool {
	is, _ := MapsRecording(pid, name)
	return is
}
