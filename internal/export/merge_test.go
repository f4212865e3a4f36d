package export

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// mixed writes a run of several jobs: one in containers and with a missing rank,
// two of the same name, one without a name, one that was killed, one with folded
// communicators and one with readings of variables. Two files are damaged.
func mixed(t *testing.T) rundir.Dir {
	t.Helper()
	d := runs.New(t)
	write := func(name string, p *profile.Profile) {
		recordingtest.Record(t, filepath.Join(d.Recordings(), name), p)
	}
	writeContainers(t, d, synth.NewStencil(27), 8, 5)
	for i, run := range []string{"twice", "twice", ""} {
		ring := synth.NewRing(6)
		for rank := range 6 {
			p := ring.Profile(rank)
			p.Run, p.Program, p.Start = run, fmt.Sprintf("/bin/ring%d", i), p.Start+int64(i)*int64(time.Hour)
			write(fmt.Sprintf("z%d-%d-1.rec", (rank*5)%6, i), p) // names in another order than ranks
		}
	}
	fold := strings.Repeat("f", 32)
	for i := range 2 {
		p := jobs.Rank("folds", i, 10)
		p.State = profile.Finalized
		p.Comms = []profile.Comm{{ID: strings.Repeat(strconv.Itoa(i+1), 32), Fold: fold, Folded: uint64(i), Parent: -1, Members: profile.Group{Stride: 1, N: 2}, Rank: i}}
		p.Threads = 1
		p.Rows = []profile.Row{{Call: "Barrier", Class: profile.AllToAll, Peer: profile.PeerNone, Calls: uint64(i + 1)}}
		write(fmt.Sprintf("folds-%d-1.rec", i), p)
	}
	killed := jobs.Rank("killed", 0, 20)
	killed.State, killed.Host, killed.Pid = profile.Running, "node", 77
	write("node-77-1.rec", killed)
	for _, p := range jobs.Readings("readings") {
		p.Rows, p.Vectors, p.Abnormal = nil, nil, nil // not all of the fixture's are what recordings hold
		write(fmt.Sprintf("readings-%d-1.rec", p.Rank), p)
	}
	cut, err := os.ReadFile(filepath.Join(d.Recordings(), "z0-0-1.rec"))
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(d.Recordings(), "cut-1-1.rec"), cut[:100], 0o666),
			os.WriteFile(filepath.Join(d.Recordings(), "none-1-1.rec"), []byte("no recording"), 0o666))
	}
	status := profile.Exit{At: 30, Known: true, Signal: 9}
	err = errors.Join(err, d.WriteInfo(&rundir.Info{Version: "test", Processes: []rundir.Process{{Host: "node", Pid: 77, Recording: "node-77-1.rec", Exit: status}}}))
	testenv.NoError(t, err)
	return d
}

// writeContainers writes a job as packed containers of perNode ranks, without
// one rank.
func writeContainers(t *testing.T, d rundir.Dir, j *synth.Job, perNode, missing int) {
	t.Helper()
	for first := 0; first < j.Ranks; first += perNode {
		var file bytes.Buffer
		w := recording.NewContainerWriter(&file, nil)
		for r := first; r < min(first+perNode, j.Ranks); r++ {
			raw, err := recordingtest.Append(nil, j.Profile(r))
			if err == nil && r != missing {
				err = w.Add(fmt.Sprintf("node%d-%d-1.rec", first/perNode, r), bytes.NewReader(raw), int64(len(raw)))
			}
			testenv.NoError(t, err)
		}
		err := w.Close()
		if err == nil {
			err = os.WriteFile(filepath.Join(d.Recordings(), fmt.Sprintf("node%d%s", first/perNode, recording.ContainerSuffix)), file.Bytes(), 0o666)
		}
		testenv.NoError(t, err)
	}
}

// mergedFiles returns the content of the merged files, by their names in the run
// directory, and removes them.
func mergedFiles(t *testing.T, d rundir.Dir) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, top := range []string{d.Profile(), d.Comms(), d.Ranks(), d.Pvars(), d.Info()} {
		err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			name, _ := filepath.Rel(string(d), path)
			files[name] = string(text)
			return err
		})
		if err == nil && top != d.Info() {
			err = os.RemoveAll(top)
		}
		testenv.NoError(t, err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(d), taskDirectories)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	return files
}

func checkSame(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: there is a file %s", what, name)
		}
	}
}

func mergeAs(d rundir.Dir, share tasks.Share) (*Merged, error) {
	return MergeShare(d, share, nil, d.ReadInfo, trace.EstimateClocks)
}

// inParts makes parts of n processes until the end of the test.
func inParts(t *testing.T, n int) {
	before := [...]int{onePart, minPart, maxPart}
	onePart, minPart, maxPart = n, n, n
	t.Cleanup(func() { onePart, minPart, maxPart = before[0], before[1], before[2] })
}

// rowsOf returns the rows of Arrow files, one after the other.
func rowsOf(t *testing.T, files ...string) (rows []string) {
	t.Helper()
	for _, file := range files {
		data := testenv.ReadFile(t, file)
		rows = append(rows, tabletest.ArrowRows(t, data)...)
	}
	return rows
}

// The parts together have the rows of one file, in the same order; each part of a table has
// the processes that the other tables' part of this number has.
func TestMergedInParts(t *testing.T) {
	d := mixed(t)
	tables := []string{"profile", "ranks", "comms", "pvars"}
	whole := map[string][]string{}
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		whole[name] = rowsOf(t, filepath.Join(string(d), name+".arrow"))
	}
	testenv.NoError(t, os.Remove(d.MergedFrom()))
	inParts(t, 5)
	merged, err := mergeAs(d, tasks.All)
	testenv.NoError(t, err)
	if merged.Processes != 26+3*6+2+1+len(jobs.Readings("")) || len(merged.Jobs) != 7 ||
		strings.Count(strings.Join(merged.Problems, "\n"), "read recording") != 2 {
		t.Errorf("%d processes, %d jobs, problems %q", merged.Processes, len(merged.Jobs), merged.Problems)
	}
	if want := tables; !slices.Equal(slices.Sorted(slices.Values(merged.Tables)), slices.Sorted(slices.Values(want))) {
		t.Errorf("tables %v, want directories %v", merged.Tables, want)
	}
	for _, name := range tables {
		if rundir.Exists(filepath.Join(string(d), name+".arrow")) {
			t.Errorf("%s.arrow of the earlier merge is left", name)
		}
		parts, _ := filepath.Glob(filepath.Join(string(d), name, "part-*.arrow")) // the pattern is well formed
		if n := (merged.Processes + 4) / 5; name != "comms" && name != "pvars" && len(parts) != n {
			t.Errorf("%s has %d parts, want %d", name, len(parts), n)
		}
		if diff := cmp.Diff(whole[name], rowsOf(t, parts...)); diff != "" {
			t.Errorf("%s (-one file +parts):\n%s", name, diff)
		}
	}
}

// A run of up to source.MostMerged processes is read once, in the order of jobs and
// ranks; what a reader would call is compared with the rows of the recordings.
func TestMergedIsRecorded(t *testing.T) {
	d := mixed(t)
	opened, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
	testenv.NoError(t, err)
	var direct bytes.Buffer
	testenv.NoError(t, table.WriteProfile(&direct, opened))
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	merged, err := os.ReadFile(d.Profile())
	if err != nil || !bytes.Equal(direct.Bytes(), merged) {
		t.Errorf("profile.arrow differs from what mpitrace export writes, %v", err)
	}
}

// The files do not depend on how many processes merge, nor on who comes late or
// never.
func TestMergeShares(t *testing.T) {
	inParts(t, 5)
	d := mixed(t)
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	want := mergedFiles(t, d)
	for _, c := range []struct {
		parts []int
		of    int
	}{{[]int{0, 1}, 2}, {[]int{0, 1, 2, 3}, 4}, {[]int{2}, 4}, {[]int{0, 0, 0}, 1}} {
		what := fmt.Sprintf("parts %v of %d", c.parts, c.of)
		var work sync.WaitGroup
		var ended sync.Map
		for i, part := range c.parts {
			work.Go(func() {
				merged, err := mergeAs(d, tasks.Share{Part: part, Of: c.of})
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if merged != nil {
					ended.Store(i, true)
				}
			})
		}
		work.Wait()
		n := 0
		ended.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%s: %d processes ended the merge", what, n)
		}
		checkSame(t, what, want, mergedFiles(t, d))
	}
	opened, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
	if err == nil {
		err = Merge(d, opened, nil, &rundir.Info{Version: "test", ExitStatus: new(int)}, trace.EstimateClocks)
	}
	testenv.NoError(t, err)
	got := mergedFiles(t, d)
	delete(want, filepath.Base(d.Info())) // has been overwritten with less
	delete(got, filepath.Base(d.Info()))
	checkSame(t, "Dir.Merge", want, got)
}

// TestMergeBegunLate has a process that read the run before another one merged it, and comes
// to the directory of tasks when this is removed.
func TestMergeBegunLate(t *testing.T) {
	d := mixed(t)
	files, err := mergeable(d)
	testenv.NoError(t, err)
	state := d.State(files)
	run, err := source.Open([]string{string(d)}, source.Options{Depth: source.Once, RunOnly: true})
	testenv.NoError(t, err)
	run.State = state
	if merged, err := mergeAs(d, tasks.Share{Part: 0, Of: 2}); merged == nil || err != nil {
		t.Fatalf("the first process: %v, %v", merged, err)
	}
	m := newMerger(d, run, tasks.Share{Part: 1, Of: 2})
	m.stale = d.Stale
	done, err := m.work(func([]string, []*partNote) error {
		t.Error("the second process merged again")
		return nil
	})
	if done || err != nil {
		t.Errorf("the second process: done %v, %v", done, err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(d), taskDirectories)); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A merge that is stopped after any task is continued by the next one.
func TestMergeContinued(t *testing.T) {
	inParts(t, 9)
	d := mixed(t)
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	want := mergedFiles(t, d)
	stop := errors.New("stop")
	t.Cleanup(func() { afterTask = func(string) error { return nil } })
	for n := 1; ; n++ {
		var done []string
		var mutex sync.Mutex
		afterTask = func(name string) error {
			mutex.Lock()
			defer mutex.Unlock()
			done = append(done, name)
			if len(done) >= n {
				return stop
			}
			return nil
		}
		_, err := mergeAs(d, tasks.All)
		if err == nil {
			if n < 7 {
				t.Errorf("only %d tasks", n-1)
			}
			break
		}
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		before := done
		afterTask = func(name string) error {
			mutex.Lock()
			defer mutex.Unlock()
			for _, earlier := range before {
				if name == earlier {
					t.Errorf("stopped after %d tasks: %s was done again", n, name)
				}
			}
			return nil
		}
		if _, err := mergeAs(d, tasks.All); err != nil {
			t.Fatalf("stopped after %d tasks: %v", n, err)
		}
		if before[len(before)-1] != "end" { // then there was nothing more to do
			checkSame(t, fmt.Sprintf("stopped after %v", before), want, mergedFiles(t, d))
		}
	}
}

// Tasks of an earlier state of the recordings are not used, even if the files
// have the same names and sizes.
func TestMergeOfEarlierState(t *testing.T) {
	late := jobs.Rank("late", 1, 99)
	late.State = profile.Finalized
	for name, c := range map[string]struct {
		change func(t *testing.T, recording string)
		jobs   int
	}{
		"one more": {func(t *testing.T, recording string) {
			recordingtest.Record(t, filepath.Join(filepath.Dir(recording), "late-1-1.rec"), late)
		}, 8},
		"written again": {func(t *testing.T, recording string) {
			testenv.NoError(t, os.Chtimes(recording, time.Time{}, time.Now().Add(time.Hour)))
		}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			inParts(t, 9)
			d := mixed(t)
			stop := errors.New("stop")
			var mutex sync.Mutex
			var first, again []string
			t.Cleanup(func() { afterTask = func(string) error { return nil } })
			afterTask = func(name string) error {
				mutex.Lock()
				defer mutex.Unlock()
				if first = append(first, name); strings.HasPrefix(name, "part") {
					return stop
				}
				return nil
			}
			if _, err := mergeAs(d, tasks.All); !errors.Is(err, stop) {
				t.Fatal(err)
			}
			afterTask = func(name string) error {
				mutex.Lock()
				defer mutex.Unlock()
				again = append(again, name)
				return nil
			}
			singles, _ := filepath.Glob(filepath.Join(d.Recordings(), "*.rec")) // the pattern is well formed
			c.change(t, singles[0])
			merged, err := mergeAs(d, tasks.All)
			testenv.NoError(t, err)
			if last := merged.Jobs[len(merged.Jobs)-1]; len(merged.Jobs) != c.jobs {
				t.Errorf("%d jobs, the last is %s", len(merged.Jobs), last.Run)
			}
			for _, name := range first {
				if !slices.Contains(again, name) {
					t.Errorf("%s was not done again", name)
				}
			}
			mergedFiles(t, d) // checks that no directory is left
		})
	}
}

// Stores to a mapped container change neither its size nor its time. The merged files of
// what it held before are stale all the same, and so are those whose recordings are not
// known, as earlier versions wrote them.
func TestMergedOfMappedContainer(t *testing.T) {
	d, err := rundir.Share(t.TempDir())
	testenv.NoError(t, err)
	path := filepath.Join(d.Recordings(), "job-node7-01234567.node")
	past := time.Now().Add(-time.Hour)
	write := func(calls uint64) {
		p := jobs.Rank("job", 0, 1)
		p.Host, p.State, p.Threads = "node7", profile.Running, 1
		p.Rows = []profile.Row{{Call: "Init", Class: profile.Other, Comm: -1, Peer: -1, Calls: calls}}
		c := recordingtest.NewContainer("node7")
		testenv.NoError(t, errors.Join(c.Add(p), os.WriteFile(path, c.Bytes(), 0o666), os.Chtimes(path, past, past)))
	}
	merge := func(info *rundir.Info) error {
		opened, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
		testenv.NoError(t, err)
		return Merge(d, opened, nil, info, trace.EstimateClocks)
	}
	write(1)
	if err := merge(new(rundir.Info)); err == nil || rundir.Exists(d.Profile()) {
		t.Errorf("merged although the process may still run on its node: %v", err)
	}
	ended := &rundir.Info{ExitStatus: new(int)}
	if err := merge(ended); err != nil || d.Stale() {
		t.Fatalf("%v, stale %t", err, d.Stale())
	}
	if write(2); !d.Stale() {
		t.Error("not stale after a store")
	}
	if err := merge(ended); err != nil || d.Stale() {
		t.Fatalf("%v, stale %t", err, d.Stale())
	}
	if os.Remove(d.MergedFrom()); !d.Stale() {
		t.Error("not stale although it is not known what was merged")
	}
}

// A merge that has nothing to do, or that cannot be done, says so.
func TestMergeRefused(t *testing.T) {
	d := mixed(t)
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	if merged, err := mergeAs(d, tasks.All); merged != nil || err != nil {
		t.Errorf("merged again: %v, %v", merged, err)
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T) rundir.Dir
		want    string
	}{
		"no directory": {func(t *testing.T) rundir.Dir { return rundir.Dir(filepath.Join(t.TempDir(), "none")) }, "no such file"},
		"empty":        {func(t *testing.T) rundir.Dir { return rundir.Dir(t.TempDir()) }, "holds no recording"},
		"not collected": {func(t *testing.T) rundir.Dir {
			d := mixed(t)
			spool := t.TempDir()
			testenv.NoError(t, d.WriteInfo(&rundir.Info{Host: "node", Spool: spool, Uncollected: []string{"node:" + spool}}))
			return d
		}, "mpitrace collect"},
		"a file in the way": {func(t *testing.T) rundir.Dir {
			d := mixed(t)
			files, err := d.RecordingFiles()
			testenv.NoError(t, err)
			run, err := source.Open([]string{string(d)}, source.Options{Depth: source.Once})
			testenv.NoError(t, err)
			run.State = d.State(files)
			path, _, err := newMerger(d, run, tasks.All).directory()
			if err == nil {
				err = errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o666))
			}
			testenv.NoError(t, err)
			return d
		}, "is not a private directory of this user"},
	} {
		merged, err := mergeAs(c.prepare(t), tasks.All)
		if merged != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, merged, err)
		}
	}
}
