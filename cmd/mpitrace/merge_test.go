package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// recordedRing makes a run directory with the recordings of a job.
func recordedRing(t *testing.T, ranks int) rundir.Dir {
	t.Helper()
	dir := runs.New(t)
	j := synth.NewRing(ranks)
	for rank := range ranks {
		path := filepath.Join(dir.Recordings(), fmt.Sprintf("node-%d-1.rec", rank+1))
		recordingtest.Record(t, path, j.Profile(rank))
	}
	return dir
}

func TestMerge(t *testing.T) {
	dir := recordedRing(t, 3)
	got := call("merge", string(dir))
	want := "mpitrace: merged 3 processes of 1 job into profile.arrow, comms.arrow, ranks.arrow in " + string(dir)
	if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, want) {
		t.Errorf("got %+v", got)
	}
	if info, err := dir.ReadInfo(); err != nil || info.Version == "" || len(info.Jobs) != 1 || info.Jobs[0].Recorded != 3 {
		t.Errorf("run.json: %+v, %v", info, err)
	}
	if got := call("merge", string(dir)); got.code != 0 || !strings.Contains(got.stderr, "up to date") {
		t.Errorf("again: %+v", got)
	}
	if got := call("merge", "--part", "1/2", string(dir)); got.code != 0 || got.stderr != "" {
		t.Errorf("as one of two: %+v", got)
	}
}

func TestMergeUsage(t *testing.T) {
	dir := string(recordedRing(t, 1))
	for _, part := range []string{"3/2", "2/2", "0/0", "x", "1", "/", "-1/2", "1/x", "0/1/2", "1.5/2"} {
		got := call("merge", "--part="+part, dir)
		if got.code != exitUsage || !strings.Contains(got.stderr, "--part "+part+": ") {
			t.Errorf("--part %s: %+v", part, got)
		}
	}
	for _, args := range [][]string{{"merge"}, {"merge", dir, dir}, {"merge", filepath.Join(dir, "none")}, {"merge", t.TempDir()}} {
		if got := call(args...); got.code != exitUsage || got.stderr == "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if _, err := os.Stat(rundir.Dir(dir).Profile()); err == nil {
		t.Error("something was merged")
	}
}

// The part is taken from the launcher's environment.
func TestMergePart(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMI_ID", "SLURM_PROCID", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK", "PALS_RANKID", "PMIX_RANK"} {
		t.Setenv(name, "")
	}
	for _, c := range []struct {
		env  string
		want string
	}{
		{"", "{0 1}"},
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=5 PMIX_RANK=2", "{2 5}"},
		{"PMI_RANK=1 PMI_SIZE=3", "{1 3}"},
		{"SLURM_PROCID=7 SLURM_STEP_NUM_TASKS=8", "{7 8}"},
		{"FLUX_TASK_RANK=0 FLUX_JOB_SIZE=2", "{0 2}"},
		{"PMIX_RANK=4", "{4 5}"}, // the number is not known
		{"PMI_RANK=x", "{0 1}"},
	} {
		t.Run(c.env, func(t *testing.T) {
			for _, v := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			if share, err := shareOf(""); err != nil || fmt.Sprint(share) != c.want {
				t.Errorf("%v, %v, want %s", share, err, c.want)
			}
		})
	}
	if share, err := shareOf("3/4"); err != nil || fmt.Sprint(share) != "{3 4}" {
		t.Errorf("--part 3/4: %v, %v", share, err)
	}
}
