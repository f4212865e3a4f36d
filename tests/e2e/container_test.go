package e2e

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// inRanks returns the command line that records a program in rank mode: each
// rank of the launcher is an `mpitrace run`.
func (m implementation) inRanks(n int, dir string, flags []string, program ...string) []string {
	return m.launch(n, slices.Concat([]string{mpitrace, "run", "-o", dir}, flags, []string{"--"}, program)...)
}

// filesOf returns the names in the directory of recordings.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "recordings"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// recordingsIn returns the paths of the recordings in a directory, those in
// containers too. It leaves out containers that cannot be read.
func recordingsIn(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.rec"))
	containers, _ := filepath.Glob(filepath.Join(dir, "*"+recording.ContainerSuffix))
	for _, path := range containers {
		members, _ := recording.Members(path)
		paths = append(paths, members...)
	}
	return paths
}

// checkOneContainer requires that the recordings of n processes are in one file,
// and complete.
func checkOneContainer(t *testing.T, dir string, n int) []*profile.Profile {
	t.Helper()
	if names := filesOf(t, dir); len(names) != 1 || !strings.HasSuffix(names[0], recording.ContainerSuffix) {
		t.Errorf("files %q, want one container", names)
	}
	ranks := readRecordings(t, dir)
	if len(ranks) != n {
		t.Fatalf("%d recordings, want %d", len(ranks), n)
	}
	for _, p := range ranks {
		if p.State != profile.Finalized || p.Losses.Any() || len(p.Problems) > 0 || p.Alone != "" {
			t.Errorf("rank %d: %v, lost %+v, problems %q, alone %q", p.Rank, p.State, p.Losses, p.Problems, p.Alone)
		}
	}
	return ranks
}

// TestContainer requires that a rank records the same in a container as in a
// file of its own in the spool, also if it needs many extents.
func TestContainer(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		for _, c := range []struct {
			name  string
			ranks int
			args  []string
		}{{"sends", 2, nil}, {"threads", 2, nil}, {"keys", 2, []string{"50"}}, {"answer", 1, nil}} {
			t.Run(c.name, func(t *testing.T) {
				program := append([]string{m.compile(t, c.name)}, c.args...)
				want := record(t, nil, m.launch(c.ranks, program...)...)
				dir := filepath.Join(t.TempDir(), "run")
				succeed(t, nil, m.inRanks(c.ranks, dir, nil, program...)...)
				for i, p := range checkOneContainer(t, dir, c.ranks) {
					if got, want := fingerprint(p), fingerprint(want.ranks[i]); got != want {
						t.Errorf("rank %d: %q instead of %q", p.Rank, missing(want, got), missing(got, want))
					}
				}
				if report := succeed(t, nil, mpitrace, "report", "--full", dir).stdout; !strings.Contains(report, "complete: finalized, nothing lost") {
					t.Errorf("the report is\n%s", report)
				}
			})
		}
	})
}

// TestContainerTraced traces more events than fit into the mapped chunks, and
// the last ones alone. The rank makes 100,002 calls.
func TestContainerTraced(t *testing.T) {
	const sends, calls = 100_000, 100_002
	const room = 4 // number of chunks in 1 MiB
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "events")
		for _, c := range []struct {
			name        string
			flags       []string
			least, most int
			first, last int32
		}{
			{"all", []string{"--trace-buffer", "1M"}, calls, calls, 1, sends},
			{"the last", []string{"--trace-buffer", "1M", "--keep", "last"}, (room-1)*layout.ChunkEvents + 1, room * layout.ChunkEvents, 0, sends},
		} {
			t.Run(c.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				succeed(t, nil, m.inRanks(1, dir, append([]string{"--trace"}, c.flags...), program, strconv.Itoa(sends))...)
				if names := filesOf(t, dir); len(names) != 1 {
					t.Errorf("files %q, want one container", names)
				}
				succeed(t, nil, mpitrace, "report", "--full", dir)
				src, err := tracefile.Open(filepath.Join(dir, "trace.0.arrow"))
				if err != nil {
					t.Fatal(err)
				}
				at, tags := src.Trace(), calledOf(t, src, "Send", tagOf)
				if n := int(at.Events); n < c.least || n > c.most || n+int(at.Dropped) != calls {
					t.Errorf("%+v, want %d to %d events", at, c.least, c.most)
				}
				if first, last := tags[0], tags[len(tags)-1]; last != c.last || c.first != 0 && first != c.first || int(last-first)+1 != len(tags) {
					t.Errorf("%d sends from %d to %d", len(tags), first, last)
				}
			})
		}
	})
}

// TestContainerUntraced traces one of two ranks. The other has no events in the
// container, and does not keep the space that was reserved for them.
func TestContainerUntraced(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		succeed(t, nil, m.inRanks(2, dir, []string{"--trace", "--ranks", "1"}, m.compile(t, "sends"))...)
		paths := recordingsIn(filepath.Join(dir, "recordings"))
		for _, path := range paths {
			p, err := recording.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(recording.EventFiles(path)); got != p.Rank {
				t.Errorf("rank %d has %d files of events", p.Rank, got)
			}
		}
		if len(paths) != 2 {
			t.Errorf("%d recordings", len(paths))
		}
	})
}

// A refusedContainer is a reason why a process cannot use the container of its node.
type refusedContainer struct {
	name   string
	spoil  func(t *testing.T, container string) // changes a container that has a recording
	prefix []string                             // of the command
	says   string                               // in the report

}

func truncateTo(size int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
}

// changeAt returns a function that changes a byte of a file.
func changeAt(at int64, change func(byte) byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var b [1]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		b[0] = change(b[0])
		if _, err := f.WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
}

// claimedAt, hostAt and bootAt are offsets in layout.ContainerHeader.
const claimedAt, bootAt, hostAt = 40, 48, 88

func flip(b byte) byte { return b ^ 1 }

var refusedContainers = []refusedContainer{
	{name: "sealed", spoil: changeAt(claimedAt+7, func(b byte) byte { return b | 0x80 }), says: "the container is sealed"},
	{name: "of another format", spoil: changeAt(0, flip), says: "the container has an unknown format"},
	{name: "of another boot", spoil: changeAt(bootAt, flip), says: "the container belongs to another node"},
	{name: "of another host", spoil: changeAt(hostAt, flip), says: "the container belongs to another node"},
	{name: "truncated", spoil: truncateTo(100), says: "the container is truncated"},
	{name: "world-writable", spoil: func(t *testing.T, path string) { os.Chmod(path, 0o646) }, says: "other users can write to the container"},
	{name: "of another user", spoil: func(t *testing.T, path string) {
		if os.Lchown(path, 12345, 12345) != nil {
			testenv.Skip(t, "changing owners needs root")
		}
	}, says: "the container belongs to another user"},
	{name: "a symbolic link", spoil: func(t *testing.T, path string) {
		if err := os.Rename(path, path+".real"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path+".real", path); err != nil {
			t.Fatal(err)
		}
	}, says: "Too many levels of symbolic links"},
	{name: "a directory", spoil: func(t *testing.T, path string) {
		os.Remove(path)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}, says: "Is a directory"},
	{name: "a fifo", spoil: func(t *testing.T, path string) {
		os.Remove(path)
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}, says: "the container is not a regular file"},
	// 1 GiB of the container is in use, the limit is 1,000,000 KiB. A file of its own fits.
	{name: "a file size limit", spoil: changeAt(claimedAt+1, func(b byte) byte { return b | 0x40 }), prefix: []string{"bash", "-c", `ulimit -f 1000000; exec "$0" "$@"`}, says: "File too large"},
}

// oneJob makes processes without a launcher processes of one job: this is the
// name that a launcher would give it.
var oneJob = append([]string{"PALS_APID=job"}, alone...)

// TestContainerRefused changes a container before another process of the job
// starts. That process must leave it alone, record into a file of its own, and
// the report must say why.
func TestContainerRefused(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "answer")
		for _, r := range refusedContainers {
			t.Run(r.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				command := preload(m.library(t), []string{"MPITRACE_DIR=" + dir}, program)
				want := succeed(t, oneJob, command...)
				first := fingerprint(checkOneContainer(t, dir, 1)[0])
				container := filepath.Join(dir, "recordings", filesOf(t, dir)[0])
				r.spoil(t, container)
				before, _ := os.Lstat(container)
				out := succeed(t, oneJob, append(slices.Clone(r.prefix), command...)...)
				if out.stdout != want.stdout || out.stderr != "" {
					t.Errorf("it printed %q and %q, without a container %q", out.stdout, out.stderr, want.stdout)
				}
				if after, _ := os.Lstat(container); after.Size() != before.Size() || after.ModTime() != before.ModTime() {
					t.Errorf("the container was changed")
				}
				single, _ := filepath.Glob(filepath.Join(dir, "recordings", "*.rec"))
				if len(single) != 1 {
					t.Fatalf("files %q, want one recording of its own", filesOf(t, dir))
				}
				p, err := recording.ReadFile(single[0])
				if err != nil || fingerprint(p) != first || p.Alone != r.says {
					t.Errorf("%v; alone because %q, want %q", err, p.Alone, r.says)
				}
				if report := execute(t, nil, mpitrace, "report", "--full", dir).stdout; !strings.Contains(report, r.says) {
					t.Errorf("the report does not say %q:\n%s", r.says, report)
				}
			})
		}
	})
}

// TestContainerWithoutLink records where the file system has no hard links, or
// cannot reserve space: with a file for each process.
func TestContainerWithoutLink(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, call := range []string{"link", "fallocate"} {
			t.Run(call, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				command := preload(m.faultyLibrary(t), []string{"MPITRACE_DIR=" + dir, "FAULTS=" + call + ":1+"}, m.compile(t, "sends"))
				succeed(t, nil, m.launch(2, command...)...)
				names := filesOf(t, dir)
				if len(names) != 2 || slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".rec") }) {
					t.Errorf("files %q, want two recordings", names)
				}
				if report := succeed(t, nil, mpitrace, "report", "--full", dir).stdout; !strings.Contains(report, "files of their own: 2 processes: ") {
					t.Errorf("the report is\n%s", report)
				}
			})
		}
	})
}

// TestContainerGone removes the container after a process has ended, as packing
// does. The next process makes another one.
func TestContainerGone(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		command := preload(m.library(t), []string{"MPITRACE_DIR=" + dir}, m.compile(t, "answer"))
		succeed(t, oneJob, command...)
		first := filesOf(t, dir)[0]
		if err := os.Rename(filepath.Join(dir, "recordings", first), filepath.Join(dir, "packed.node")); err != nil {
			t.Fatal(err)
		}
		succeed(t, oneJob, command...)
		checkOneContainer(t, dir, 1)
		if second := filesOf(t, dir)[0]; second != first {
			t.Errorf("%s was made after %s", second, first)
		}
	})
}

// extents returns the extents of a container, in order, and the number of granules
// in use that have none.
func extents(t *testing.T, path string) (all []layout.Extent, without int) {
	t.Helper()
	raw := readAll(t, path)
	claimed := int(binary.NativeEndian.Uint64(raw[claimedAt:]) &^ layout.ContainerSealed)
	for g := 1; g < claimed; {
		var e layout.Extent
		if (g+1)*layout.Granule <= len(raw) {
			binary.Decode(raw[g*layout.Granule:], binary.NativeEndian, &e)
		}
		if e.Magic != layout.ExtentMagic {
			without++
			g++
			continue
		}
		if e.Offset != uint64(g)*layout.Granule || e.Granules == 0 {
			t.Fatalf("granule %d has the extent %+v", g, e)
		}
		all = append(all, e)
		g += int(e.Granules)
	}
	return all, without
}

// TestContainerCreation starts processes at the same time. They must agree on one
// container, whose extents do not overlap.
func TestContainerCreation(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir, program := filepath.Join(t.TempDir(), "run"), m.compile(t, "answer")
		const n = 8
		var started []*exec.Cmd
		var outputs [n]bytes.Buffer
		for i := range n {
			command := preload(m.library(t), []string{"MPITRACE_DIR=" + dir}, program)
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Env = slices.Concat(environ(t), oneJob)
			cmd.Stderr = &outputs[i]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			started = append(started, cmd)
		}
		for i, cmd := range started {
			if err := cmd.Wait(); err != nil || outputs[i].Len() > 0 {
				t.Errorf("%v: %s", err, &outputs[i])
			}
		}
		checkOneContainer(t, dir, n)
		all, without := extents(t, filepath.Join(dir, "recordings", filesOf(t, dir)[0]))
		owners := map[uint32]uint32{} // process -> number of extents
		for _, e := range all {
			if e.Sequence != owners[e.Pid] {
				t.Errorf("process %d has extent %d after %d", e.Pid, e.Sequence, owners[e.Pid])
			}
			owners[e.Pid]++
		}
		if len(owners) != n || without > 0 {
			t.Errorf("%d owners of extents, %d granules without", len(owners), without)
		}
	})
}

// TestContainerChaos kills the ranks of jobs in rank mode and the launcher in
// random order at random times. Each recording must have what the rank announced.
func TestContainerChaos(t *testing.T) {
	// With three ranks and two MPIs these are 12, 24 or 204 kills of ranks.
	killJobs(t, map[testenv.Level]int{testenv.Quick: 2, testenv.All: 4, testenv.Sweep: 34}, true)
}

// TestContainerRemoved removes the container while its process runs. An `mpitrace` on another
// node may do so, because it does not see the process. The process then leaves a file of its own.
func TestContainerRemoved(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		end := m.startCounters(t, dir, oneJob)
		if err := os.Remove(filepath.Join(dir, "recordings", filesOf(t, dir)[0])); err != nil {
			t.Fatal(err)
		}
		end()
		names, ranks := filesOf(t, dir), readRecordings(t, dir)
		if len(names) != 1 || !strings.HasSuffix(names[0], ".rec") || len(ranks) != 1 {
			t.Fatalf("files %q with %d recordings, want one recording", names, len(ranks))
		}
		// Three messages before the container was removed, two after it.
		p := ranks[0]
		i := slices.IndexFunc(p.Rows, func(r profile.Row) bool { return r.Call == "Sendrecv" && r.Direction == profile.Send })
		if i < 0 || p.Rows[i].Calls != 5 || p.State != profile.Finalized || p.Losses.Any() || len(p.Problems) > 0 {
			t.Errorf("%v, problems %q, row %d of %+v", p.State, p.Problems, i, p.Rows)
		}
		raw := readAll(t, p.Source)
		var h layout.Header
		if _, err := binary.Decode(raw, binary.NativeEndian, &h); err != nil || h.Checksum == 0 || h.End != uint64(len(raw)) {
			t.Errorf("%v; %d bytes with the header %+v", err, len(raw), h)
		}
	})
}
