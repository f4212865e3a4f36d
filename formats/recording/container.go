package recording

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// ContainerSuffix ends the name of a container: a file with the recordings of
// several processes, normally those of one node. A container is used like a
// directory: the path of a recording in it is the path of the container and the
// recording's name. Functions that take the path of a recording accept it.
const ContainerSuffix = ".node"

// Suffix ends the name of each recording.
const Suffix = ".rec"

// Head is what identifies a process and its job among those of a run, and how the process ended.
type Head struct {
	Name             string // of the recording
	Run, Host        string // as in profile.Profile
	Program, Library string // Profile.Name and Profile.LibraryLine
	Rank, Size, Pid  int
	Start            int64 // Unix ns
	Finalized        bool
	Readings         bool               // whether it has readings of the MPI's performance variables
	StackAuto        bool               // whether it was recorded with --stack auto
	Folds            []string           // what profile.Folds.Note adds
	Variables        []profile.Variable // only of rank 0
	Unreadable       bool               // ReadHead returns the error; only Name is known
}

func headOf(name string, p *profile.Profile) Head {
	h := Head{Name: name, Run: p.Run, Host: p.Host, Program: p.Name(), Library: p.LibraryLine(), Rank: p.Rank, Size: p.Size,
		Pid: p.Pid, Start: p.Start, Finalized: p.State == profile.Finalized, Readings: len(p.Readings) > 0,
		StackAuto: p.Settings["stack"] == profile.StackAuto}
	for i := range p.Comms {
		if c := &p.Comms[i]; c.Folded != 0 && c.Fold != "" && !slices.Contains(h.Folds, c.Fold) {
			h.Folds = append(h.Folds, c.Fold)
		}
	}
	if p.Rank == 0 {
		h.Variables = p.Variables
	}
	return h
}

// Container is an open container. Its methods may be called by several
// goroutines at the same time, except Close.
type Container struct {
	path string
	in   io.ReaderAt // an *os.File, except in a container with one recording
	size int64       // when it was opened
	live *extents    // nil if it is packed
	packedParts
	problems []string
	members  []member

	index   map[string]int // of members, by name
	ordered sync.Once      // sets the fields below
	heads   []Head
	order   []int // index of each head's member
}

// member is a recording in a container.
type member struct {
	name    string
	process process // of a live container
	frame   frame   // of a packed container
	checked bool    // whether the recording was packed as its process left it, according to its checksum
	head    *Head   // from the index
}

// OpenContainer opens a container. It returns an error only if the file is no
// container at all. Problems has the damage that belongs to no recording.
func OpenContainer(path string) (*Container, error) {
	in, size, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("read container: %w", err)
	}
	c := &Container{path: path, in: in, size: size}
	if err := c.open(); err != nil {
		in.Close()
		return nil, fmt.Errorf("read container %s: %w", path, err)
	}
	return c, nil
}

func (c *Container) open() (err error) {
	head := make([]byte, len(containerMagic))
	n, _ := c.in.ReadAt(head, 0)
	switch {
	case isPacked(head[:n]):
		c.old = bytes.HasPrefix(head, oldContainerMagic)
		c.readPacked()
	case bytes.HasPrefix(head[:n], layout.ContainerMagic[:]):
		in, ok := c.in.(*os.File)
		if !ok {
			return fmt.Errorf("it is a container that processes map: give its path")
		}
		if c.live, err = openExtents(in); err != nil {
			return err
		}
		c.problems = c.live.problems
		for _, p := range c.live.recorded() {
			c.members = append(c.members, member{name: c.live.name(p), process: p})
		}
	default:
		return fmt.Errorf("not a container: it starts with neither %q nor a packed one", layout.ContainerMagic[:])
	}
	c.dropDoubles()
	return nil
}

// dropDoubles leaves out members whose names are not valid. Of several members with one name it
// keeps the first.
func (c *Container) dropDoubles() {
	c.index = make(map[string]int, len(c.members))
	kept := c.members[:0]
	for _, m := range c.members {
		if _, met := c.index[m.name]; met || !recordingName(m.name) {
			c.problem(m.frame.at, "recording %q is left out: the name is not valid, or not unique", m.name)
			continue
		}
		c.index[m.name] = len(kept)
		kept = append(kept, m)
	}
	c.members = kept
}

// maxName is the largest length of a recording's name: a host, and two numbers.
const maxName = layout.MaxHost + 64

// recordingName reports whether a name from a file can be that of a recording.
func recordingName(name string) bool {
	return strings.HasSuffix(name, Suffix) && len(name) <= maxName && name[0] != '.' && !strings.ContainsAny(name, "/\x00")
}

func (c *Container) problem(at int64, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Sprintf("byte %d: ", at)+fmt.Sprintf(format, args...))
	}
}

// isContainer reports whether a file that starts with head is a container.
func isContainer(head []byte) bool {
	return isPacked(head) || bytes.HasPrefix(head, layout.ContainerMagic[:])
}

func isPacked(head []byte) bool {
	return bytes.HasPrefix(head, containerMagic) || bytes.HasPrefix(head, oldContainerMagic)
}

// Close closes the file.
func (c *Container) Close() error {
	if in, ok := c.in.(io.Closer); ok {
		return in.Close()
	}
	return nil
}

// Path returns the path of the container.
func (c *Container) Path() string { return c.path }

// Symbols returns the names of call sites that a packed container has.
func (c *Container) Symbols() profile.Symbols { return c.names }

// Packed reports whether the container is packed. Only a container that is not packed may be mapped
// by processes.
func (c *Container) Packed() bool { return c.live == nil }

// Problems describes the damage that belongs to no recording, each with its
// position.
func (c *Container) Problems() []string { return c.problems }

// Heads returns the heads of the recordings, ordered by rank, then by start and
// name. A packed container has them in its index.
func (c *Container) Heads() []Head {
	c.ordered.Do(func() {
		all := make([]Head, len(c.members))
		for i := range c.members {
			all[i] = c.head(&c.members[i])
			c.order = append(c.order, i)
		}
		slices.SortFunc(c.order, func(a, b int) int { return compareHeads(&all[a], &all[b]) })
		for _, i := range c.order {
			c.heads = append(c.heads, all[i])
		}
	})
	return c.heads
}

func compareHeads(a, b *Head) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Name, b.Name))
}

func (c *Container) head(m *member) Head {
	if m.head != nil {
		return *m.head
	}
	p, err := c.read(m, true)
	if err != nil {
		return Head{Name: m.name, Rank: -1, Unreadable: true}
	}
	return headOf(m.name, p)
}

// ReadHead reads the recording with the index i of Heads, without rows and vectors. Errors
// and Profile.Source have its path in the container.
func (c *Container) ReadHead(i int) (*profile.Profile, error) {
	c.Heads()
	return c.read(&c.members[c.order[i]], true)
}

// traced reports whether the events of a process are in the container.
func (c *Container) traced(m *member) bool {
	return c.live != nil && c.live.file(m.process, layout.ExtentEvents).length() > 0
}

func (c *Container) memberPath(m *member) string { return filepath.Join(c.path, m.name) }

func (c *Container) read(m *member, headOnly bool) (p *profile.Profile, err error) {
	ahead := wholeFile
	if headOnly {
		ahead = headOfFile
	}
	err = c.withFile(m, int64(ahead), func(f *file) error {
		p, err = f.read(c.memberPath(m), headOnly)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", c.memberPath(m), err)
	}
	return p, nil
}

// withFile calls use with a recording that is not opened yet. If it is not
// packed, its first bytes are read ahead.
func (c *Container) withFile(m *member, ahead int64, use func(*file) error) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer) // a profile keeps no reference to it
	if c.live == nil {
		inside := buffers.Get().(*[]byte)
		defer buffers.Put(inside)
		f, err := c.memberFile(&m.frame, buffer, inside)
		if err != nil {
			return err
		}
		f.checked = m.checked && f.damaged == 0 // zstd has a checksum as well
		return use(f)
	}
	in := c.live.file(m.process, layout.ExtentRecording)
	if in.after(0) > 0 {
		return fmt.Errorf("byte 0: the extent with its header is missing")
	}
	if err := readAhead(buffer, in, ahead); err != nil {
		return err
	}
	f := newFile(in, in.length()) // the size comes last, as the process may add extents
	f.ahead, f.extents = *buffer, in
	return use(f)
}

// inContainer divides the path of a recording or of a file of events in a
// container. info is nil if the path is not in one: a directory may have a name like that of a
// container.
func inContainer(path string) (container, name string, info os.FileInfo) {
	container, name = filepath.Split(path)
	container = strings.TrimRight(container, "/")
	if !strings.HasSuffix(container, ContainerSuffix) {
		return "", "", nil
	}
	info, err := os.Stat(container)
	if err != nil || !info.Mode().IsRegular() {
		return "", "", nil
	}
	return container, name, info
}
