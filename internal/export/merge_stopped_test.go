package export

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// beforeEnd does all tasks of a merge but the last, and returns the directory of tasks.
func beforeEnd(t *testing.T, d rundir.Dir) string {
	t.Helper()
	stop := errors.New("stop")
	left := -1
	afterTask = func(string) error {
		if left--; left == 0 {
			return stop
		}
		return nil
	}
	defer func() { afterTask = func(string) error { return nil } }()
	files, err := d.RecordingFiles()
	testenv.NoError(t, err)
	left = (len(files) - 2 + onePart - 1) / onePart // two cannot be read
	if _, err := mergeAs(d, tasks.All); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(string(d), taskDirectories)) // the pattern is well formed
	if len(found) != 1 {
		t.Fatalf("directories of tasks: %q", found)
	}
	return found[0]
}

// If a merge was killed after it had moved some tables to their place, the next merge moves
// the others. A table whose content was lost in a crash of the node is written again.
func TestMergeEndInterrupted(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	inParts(t, 9)
	d := mixed(t)
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	want := mergedFiles(t, d)
	m := &merger{dir: d, path: beforeEnd(t, d)}
	parts := func(table string) (files []partFile) {
		for name, text := range want {
			if top(name) == table {
				files = append(files, partFile{name, crc32.Checksum([]byte(text), castagnoli)})
			}
		}
		return files
	}
	late := m.written("profile/part-1.arrow") // of a process that takes its time
	err := errors.Join(m.moveParts("profile", parts("profile")), os.WriteFile(late, []byte(want["profile/part-1.arrow"]), 0o666))
	testenv.NoError(t, err)
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	checkSame(t, "one table moved", want, mergedFiles(t, d))

	m.path = beforeEnd(t, d)
	half := filepath.Join(m.path, "profile")
	err = errors.Join(os.Mkdir(half, 0o777), os.Rename(m.written("profile/part-1.arrow"), filepath.Join(half, "part-1.arrow")))
	testenv.NoError(t, err)
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	checkSame(t, "half a table moved", want, mergedFiles(t, d))

	m.path = beforeEnd(t, d)
	damaged := m.written("ranks/part-3.arrow")
	testenv.NoError(t, os.Truncate(damaged, 100))
	if _, err := mergeAs(d, tasks.All); err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("error %v, want one that names %s", err, damaged)
	}
	if _, err := mergeAs(d, tasks.All); err != nil {
		t.Fatal(err)
	}
	checkSame(t, "one table damaged", want, mergedFiles(t, d))
}

// Files of the user in the place of a table are left alone.
func TestMergeKeepsOthersFiles(t *testing.T) {
	d := mixed(t)
	other := filepath.Join(string(d), "ranks", "notes.txt")
	testenv.NoError(t, errors.Join(os.Mkdir(filepath.Dir(other), 0o777), os.WriteFile(other, nil, 0o666)))
	if _, err := mergeAs(d, tasks.All); err == nil || !strings.Contains(err.Error(), "notes.txt") || !rundir.Exists(other) {
		t.Errorf("error %v, want one that names the file", err)
	}
}

// mergeShare names, in the environment of this test, a run and a share of its merge.
const mergeShare = "MPITRACE_TEST_MERGE"

// TestMergeProcess is a process of TestMergeKilled.
func TestMergeProcess(t *testing.T) {
	share, dir, asked := strings.Cut(os.Getenv(mergeShare), " ")
	if !asked {
		return
	}
	inParts(t, 50)
	part, err := strconv.Atoi(share)
	if err == nil {
		_, err = mergeAs(rundir.Dir(dir), tasks.Share{Part: part, Of: 2})
	}
	testenv.NoError(t, err)
}

// TestMergeKilled kills processes that merge a run in parts, at any time, until some have
// ended the merge. The tables are those of a merge that nobody disturbs.
func TestMergeKilled(t *testing.T) {
	testenv.At(t, testenv.Quick)
	d := runs.New(t)
	j := synth.NewStencil(400)
	for rank := range j.Ranks {
		recordingtest.Record(t, filepath.Join(d.Recordings(), fmt.Sprintf("node-%d-1.rec", rank+1)), j.Profile(rank))
	}
	merge := func(ctx context.Context, part int) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestMergeProcess$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", mergeShare, part, d))
		return cmd
	}
	began := time.Now()
	if out, err := merge(t.Context(), 0).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(began)
	want := tablesOf(t, d)
	if len(want) != 8+8+1 {
		t.Errorf("%d files", len(want))
	}
	killed := 0
	for range 20 {
		var merging []*exec.Cmd
		for part := range 2 {
			cmd := merge(t.Context(), part)
			testenv.NoError(t, cmd.Start())
			merging = append(merging, cmd)
		}
		ended := false
		for _, cmd := range merging {
			time.Sleep(time.Duration(rand.Int64N(int64(took))))
			cmd.Process.Kill()
			err := cmd.Wait()
			if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() {
				t.Fatal(err)
			}
			if err != nil {
				killed++
			}
			ended = ended || err == nil
		}
		if ended {
			checkSame(t, fmt.Sprintf("%s killed", text.CountOf(killed, "process")), want, tablesOf(t, d))
		}
	}
	if out, err := merge(t.Context(), 0).CombinedOutput(); err != nil { // with what the last ones left
		t.Fatalf("%v: %s", err, out)
	}
	checkSame(t, "at last", want, tablesOf(t, d))
	if killed == 0 {
		t.Error("no process was killed")
	}
	t.Logf("%d processes killed", killed)
}

// tablesOf returns the tables of a run without readings, as mergedFiles does.
func tablesOf(t *testing.T, d rundir.Dir) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range []string{d.Profile(), d.Ranks(), d.Comms()} {
		entries, err := os.ReadDir(dir)
		testenv.NoError(t, err)
		for _, entry := range entries {
			in := testenv.ReadFile(t, filepath.Join(dir, entry.Name()))
			files[filepath.Join(filepath.Base(dir), entry.Name())] = string(in)
		}
		testenv.NoError(t, os.RemoveAll(dir))
	}
	return files
}
