package collect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A recording that a process has open for writing is not moved, even if that
// process is not visible.
func TestWrittenStays(t *testing.T) {
	spool, dst := runs.NewSpool(t).Dir, t.TempDir()
	path := filepath.Join(spool, "n-1-1.rec")
	p := jobs.Rank("a", 0, 1)
	p.State = profile.Running
	recordingtest.Record(t, path, p)
	open, err := os.OpenFile(path, os.O_RDWR, 0)
	testenv.NoError(t, err)
	for _, running := range []bool{true, false} {
		if !running {
			open.Close()
		}
		if got := fetch([]string{path}, dst, nil); got[0].err != nil || got[0].stays != running || rundir.Exists(path) != running {
			t.Errorf("open: %v; got %+v, the original exists: %v", running, got, rundir.Exists(path))
		}
	}
}

// node describes the container of a test.
type node struct {
	here   bool // of this node
	states []profile.State
	events bool // whether rank 0 has events
	damage bool
}

const liveName = "job-host-01234567" + recording.ContainerSuffix

// write writes the container of processes that have the given process ids into a
// directory, and returns its path.
func (n node) write(t *testing.T, dir string, pids ...int) string {
	t.Helper()
	host, _ := os.Hostname()
	if !n.here {
		host = "elsewhere"
	}
	c := recordingtest.NewContainer(host)
	c.SetBootID(rundir.BootID())
	var ps []*profile.Profile
	for rank, state := range n.states {
		p := &profile.Profile{Rank: rank, Size: len(n.states), State: state, Threads: 1, Run: "job", Host: host, Pid: 1<<22 + rank, Start: 1_000}
		if rank < len(pids) {
			p.Pid = pids[rank]
		}
		ps = append(ps, p)
	}
	testenv.NoError(t, c.Add(ps...))
	if n.events {
		c.Extend(layout.Extent{Kind: layout.ExtentEvents, Owner: 1_000, Pid: uint32(ps[0].Pid)}, make([]byte, 100))
	}
	raw := c.Bytes()
	if n.damage {
		raw[layout.Granule+4] = 7 // the kind of the first extent
	}
	path := filepath.Join(dir, liveName)
	testenv.WriteFile(t, path, raw)
	return path
}

// ranksIn returns the ranks of recordings, in ascending order.
func ranksIn(t *testing.T, files []string) (ranks []int) {
	t.Helper()
	for _, file := range files {
		p, err := recording.ReadFile(file)
		testenv.NoError(t, err)
		ranks = append(ranks, p.Rank)
	}
	slices.Sort(ranks)
	return ranks
}

// A container is packed when none of its processes writes any more and no event
// is lost by it; otherwise it stays, and processes may go on to use it.
func TestPackContainer(t *testing.T) {
	const ended, killed = profile.Finalized, profile.Running
	for name, c := range map[string]struct {
		node
		mapped bool
		packed bool
	}{
		"of this node":                           {node{here: true, states: []profile.State{ended, killed}}, false, true},
		"with a running process":                 {node{here: true, states: []profile.State{ended, killed}}, true, false},
		"of another node":                        {node{states: []profile.State{ended, ended}}, false, true},
		"of another node, with one that may run": {node{states: []profile.State{ended, killed}}, false, false},
		"with events":                            {node{here: true, states: []profile.State{ended}, events: true}, false, false},
		"damaged":                                {node{here: true, states: []profile.State{ended, ended}, damage: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := c.write(t, dir)
			before := testenv.ReadFile(t, path)
			if c.mapped {
				defer mapFirst(t, path)()
			}
			want := ranksIn(t, rundir.Contained(dir))
			PackAll(dir)
			PackAll(dir)
			names := filesIn(t, dir)
			if len(names) != 1 || (names[0] != liveName) != c.packed {
				t.Fatalf("%q are left; packed wanted: %v", names, c.packed)
			}
			if got := ranksIn(t, rundir.Contained(dir)); !slices.Equal(got, want) {
				t.Errorf("ranks %v, before %v", got, want)
			}
			if after, _ := os.ReadFile(path); !c.packed && string(after) != string(before) {
				t.Error("the container was changed")
			}
		})
	}
}

// The temporary file of a process that was killed while it made a container is
// deleted, and no other file.
func TestPackUnfinished(t *testing.T) {
	dir := t.TempDir()
	others := []string{"." + liveName, "." + liveName + ".12", "." + liveName + ".12.x", liveName + ".12.34", ".job.rec.12.34"}
	for _, name := range append(others, "."+liveName+".12.34") {
		testenv.WriteFile(t, filepath.Join(dir, name), "")
	}
	PackAll(dir)
	slices.Sort(others)
	if left := filesIn(t, dir); !slices.Equal(left, others) {
		t.Errorf("%q are left, want %q", left, others)
	}
}

// What another user put there, or a link, is left alone.
func TestPackForeign(t *testing.T) {
	ended := node{here: true, states: []profile.State{profile.Finalized}}
	outside := ended.write(t, t.TempDir())
	for what, put := range map[string]func(path string) error{
		"a link": func(path string) error { return errors.Join(os.Remove(path), os.Symlink(outside, path)) },
		"a pipe": func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
		"of another user": func(path string) error {
			if os.Getuid() != 0 {
				return os.Remove(path) // only root can give files away
			}
			return os.Chown(path, 12345, 12345)
		},
	} {
		dir := t.TempDir()
		testenv.NoError(t, put(ended.write(t, dir)))
		before := filesIn(t, dir)
		PackAll(dir)
		if after := filesIn(t, dir); !slices.Equal(after, before) {
			t.Errorf("%s: %q", what, after)
		}
	}
	if !rundir.Exists(outside) {
		t.Error("the file behind the link is gone")
	}
}

// The kernel tells whether a process has mapped a file, wherever the process is.
func TestIsWritten(t *testing.T) {
	path := node{here: true, states: []profile.State{profile.Running}}.write(t, t.TempDir())
	before, known := rundir.IsWritten(path)
	if !known {
		testenv.Skip(t, "the file system has no leases")
	}
	unmap := mapFirst(t, path)
	during, _ := rundir.IsWritten(path)
	unmap()
	if after, _ := rundir.IsWritten(path); before || !during || after {
		t.Errorf("before %v, while it is mapped %v, after %v", before, during, after)
	}
}

// mapFirst maps the first extent of a container, as its process does.
func mapFirst(t *testing.T, path string) (unmap func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	testenv.NoError(t, err)
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), layout.Granule, layout.Granule, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	testenv.NoError(t, err)
	return func() { syscall.Munmap(mem) }
}

// mpitrace may be killed between writing the packed container and deleting the
// other: nothing is lost, nothing counted twice, and the next call ends the work.
func TestPackInterrupted(t *testing.T) {
	dir := t.TempDir()
	n := node{here: true, states: []profile.State{profile.Finalized, profile.Running, profile.Finalized}}
	n.write(t, dir)
	PackAll(dir)
	packed := filesIn(t, dir)
	n.events = true // which were converted, or it would not have been packed
	n.write(t, dir)
	if got := ranksIn(t, rundir.Contained(dir)); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("with both files: ranks %v", got)
	}
	PackAll(dir)
	if names := filesIn(t, dir); !slices.Equal(names, packed) {
		t.Errorf("%q, want %q", names, packed)
	}
}

// The processes of a container are the writers of those recordings whose extents
// they have mapped, whatever the process id in the name is.
func TestContainerWriters(t *testing.T) {
	d := runs.New(t)
	path := node{here: true, states: []profile.State{profile.Running, profile.Running}}.write(t, d.Recordings(), os.Getpid())
	names := []string{}
	for _, file := range rundir.Contained(d.Recordings()) {
		names = append(names, filepath.Base(file))
	}
	mine := slices.IndexFunc(names, func(name string) bool { return rundir.Writer(name) == os.Getpid() })
	if len(names) != 2 || mine < 0 {
		t.Fatalf("%q", names)
	}
	name, other := names[mine], names[1-mine]
	unmap := mapFirst(t, path)
	if writers := rundir.RecordingWriters(); writers[name] != os.Getpid() || writers[other] != 0 {
		t.Errorf("%s: %d, %s: %d; want this process, %d, and none", name, writers[name], other, writers[other], os.Getpid())
	}
	found, _ := source.NodeProfiles() // of other processes on this node as well, which may end meanwhile
	if !slices.ContainsFunc(found, func(p *profile.Profile) bool { return p.Source == filepath.Join(path, name) && p.Exit.Alive > 0 }) {
		t.Errorf("%s is not among %d processes", name, len(found))
	}
	unmap()
	if rundir.HasMapped(os.Getpid(), name) {
		t.Error("it is not mapped any more")
	}
}

// A container that cannot be read is reported, and does not hide others.
func TestContainerUnreadable(t *testing.T) {
	d := runs.New(t)
	node{here: true, states: []profile.State{profile.Finalized}}.write(t, d.Recordings())
	bad := filepath.Join(d.Recordings(), "bad"+recording.ContainerSuffix)
	for what, make := range map[string]func() error{
		"no container": func() error { return os.WriteFile(bad, []byte("something else"), 0o600) },
		"a directory":  func() error { return os.Mkdir(bad, 0o700) },
		"a pipe":       func() error { return syscall.Mkfifo(bad, 0o600) },
		"a loop":       func() error { return os.Symlink(bad, bad) },
		"all damaged": func() error {
			dir := t.TempDir()
			path := node{here: true, states: []profile.State{profile.Finalized}, damage: true}.write(t, dir)
			return os.Rename(path, bad)
		},
	} {
		t.Run(what, func(t *testing.T) {
			os.RemoveAll(bad)
			testenv.NoError(t, make())
			for _, depth := range []source.Depth{source.Heads, source.Whole} {
				run, err := source.Open([]string{string(d)}, source.Options{Depth: depth})
				testenv.NoError(t, err)
				if len(run.Jobs) != 1 || run.Jobs[0].Processes != 1 || len(run.Damage()) != 1 || !strings.Contains(fmt.Sprint(run.Damage()), "bad"+recording.ContainerSuffix) {
					t.Errorf("%d jobs, damaged %v", len(run.Jobs), run.Damage())
				}
			}
		})
	}
}

// Damage of a container that belongs to no recording is reported, and the other
// recordings are used.
func TestContainerDamaged(t *testing.T) {
	d := runs.New(t)
	path := node{here: true, states: []profile.State{profile.Finalized, profile.Finalized}, damage: true}.write(t, d.Recordings())
	for _, depth := range []source.Depth{source.Heads, source.Whole} {
		run, err := source.Open([]string{string(d)}, source.Options{Depth: depth})
		testenv.NoError(t, err)
		want := fmt.Sprintf("%s is damaged: byte %d: damaged extent", path, layout.Granule)
		if len(run.Jobs) != 1 || run.Jobs[0].Processes != 1 || len(run.Damage()) != 1 || run.Damage()[0].Error() != want {
			t.Errorf("%d jobs, damaged %v, want %s", len(run.Jobs), run.Damage(), want)
		}
	}
}
