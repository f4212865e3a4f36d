package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// takeMerged returns the content of the merged tables, and removes them. No
// directory of a merge may be left.
func takeMerged(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"profile.arrow", "comms.arrow", "ranks.arrow"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "merge.*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	return files
}

func checkMerged(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if want[name] != got[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// TestMergeLaunched merges the run of a job whose ranks recorded themselves by
// processes of the MPI's own launcher. Only one of them reports it. The tables
// do not depend on the number of processes.
func TestMergeLaunched(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		succeed(t, nil, m.inRanks(2, dir, []string{"--trace"}, m.compile(t, "sends"))...)
		succeed(t, nil, mpitrace, "merge", dir)
		takeMerged(t, dir) // the recordings are packed now, without the events: they are read from other files
		succeed(t, nil, mpitrace, "merge", dir)
		want := takeMerged(t, dir)
		traces, err := filepath.Glob(filepath.Join(dir, "trace.*.arrow"))
		if err != nil || len(traces) != 2 {
			t.Errorf("traces %q, %v", traces, err)
		}
		for _, n := range []int{1, 2, 4} {
			out := execute(t, nil, m.launch(n, mpitrace, "merge", dir)...)
			if out.code != 0 || strings.Count(out.stderr, "merged 2 processes of 1 job into") != 1 {
				t.Errorf("%d processes: status %d, stderr %s", n, out.code, out.stderr)
			}
			checkMerged(t, fmt.Sprintf("%d processes", n), want, takeMerged(t, dir))
		}
		succeed(t, nil, mpitrace, "report", "--full", dir)
		checkMerged(t, "report", want, takeMerged(t, dir))
	})
}

// syntheticRun makes a run directory with the recordings of a job of this many
// ranks.
func syntheticRun(t *testing.T, ranks int) string {
	t.Helper()
	dir, err := rundir.Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	j := synth.NewStencil(ranks)
	for rank := range ranks {
		if err := recordingtest.WriteFile(filepath.Join(dir.Recordings(), fmt.Sprintf("node-%d-1.rec", rank+1)), j.Profile(rank)); err != nil {
			t.Fatal(err)
		}
	}
	return string(dir)
}

// TestMergeKilled kills processes that merge a run, at any time, until one ends
// the merge. The tables are those of a merge that nobody disturbs.
func TestMergeKilled(t *testing.T) {
	dir := syntheticRun(t, 1000) // four units
	began := time.Now()
	succeed(t, nil, mpitrace, "merge", dir)
	took := time.Since(began)
	want := takeMerged(t, dir)
	rounds, killed := 0, 0
	for killed < 20 && rounds < 100 {
		rounds++
		var merging []*exec.Cmd
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		for part := range 2 {
			cmd := exec.CommandContext(ctx, mpitrace, "merge", "--part", fmt.Sprintf("%d/2", part), dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			merging = append(merging, cmd)
		}
		for _, cmd := range merging {
			time.Sleep(time.Duration(rand.Int64N(int64(took) / 2)))
			cmd.Process.Kill()
		}
		ended := false
		for _, cmd := range merging {
			var failed *exec.ExitError
			switch err := cmd.Wait(); {
			case err == nil:
				ended = true
			case !errors.As(err, &failed) || failed.Exited():
				t.Fatalf("round %d: %v", rounds, err)
			default:
				killed++
			}
		}
		cancel()
		if ended {
			checkMerged(t, fmt.Sprintf("round %d", rounds), want, takeMerged(t, dir))
		}
	}
	succeed(t, nil, mpitrace, "merge", dir) // with what the last ones left
	checkMerged(t, "at last", want, takeMerged(t, dir))
	t.Logf("%d processes killed in %d rounds", killed, rounds)
}
