package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
)

// TestDecodedOnce requires that each command decodes each recording once: of packed
// containers, of processes that did not finalize, and with stacks that are to be understood.
func TestDecodedOnce(t *testing.T) {
	const ranks = 60
	merged, other, out := syntheticRun(t, ranks, "aa"), syntheticRun(t, ranks, "bb"), t.TempDir()
	if got := call("report", merged); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, test := range []struct {
		name string
		want int64
		args []string
	}{
		{"report, which merges", ranks, []string{"report", "--json", syntheticRun(t, ranks, "aa")}},
		{"report", ranks, []string{"report", merged}},
		{"report of a rank", ranks, []string{"report", "--rank", "3", merged}},
		{"report, page", ranks, []string{"report", "--html", filepath.Join(out, "report.html"), merged}},
		{"report, files of ranks", ranks, []string{"report", "--format", "prof,arrow", syntheticRun(t, ranks, "aa")}},
		{"status", ranks, []string{"status", merged}},
		{"diff", 2 * ranks, []string{"diff", merged, other}},
		{"history", 2 * ranks, []string{"history", merged, other}},
		{"export", ranks, []string{"export", "--format", "csv", "-o", filepath.Join(out, "x.csv"), merged}},
		{"export, ranks", ranks, []string{"export", "--format", "prof", "-o", filepath.Join(out, "prof"), merged}},
		{"export, tables", ranks, []string{"export", "--format", "parquet", "--partition", "7", "--tables", "all", "-o", filepath.Join(out, "tables"), merged}},
		{"reorder", ranks, []string{"reorder", "--effort", "fast", merged}},
	} {
		before := recording.Decodes()
		got := call(test.args...)
		if n := recording.Decodes() - before; n != test.want || got.code != 0 {
			t.Errorf("%s: %d recordings were decoded, want %d; status %d\n%s", test.name, n, test.want, got.code, got.stderr)
		}
	}
	unmerged := syntheticRun(t, ranks, "aa")
	for name, read := range map[string]func() error{
		"view": func() error {
			_, err := (&viewedRun{dir: rundir.Dir(merged), log: io.Discard}).report()
			return err
		},
		"run, after the command": func() error {
			j := job{RecordedCommand: launch.RecordedCommand{Dir: rundir.Dir(unmerged), Log: io.Discard, Info: &rundir.Info{ExitStatus: new(int)}}}
			opened, err := j.merge()
			if err == nil {
				opened.Jobs[0].Loaded()
				_, err = j.show(opened, nil)
			}
			return err
		},
	} {
		before := recording.Decodes()
		if err := read(); err != nil || recording.Decodes()-before != ranks {
			t.Errorf("%s: %d recordings were decoded, want %d; %v", name, recording.Decodes()-before, ranks, err)
		}
	}
}

// syntheticRun makes a run of a job, and returns its directory.
func syntheticRun(t *testing.T, ranks int, build string) string {
	dir, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err == nil {
		job := synth.NewStencil(ranks)
		job.PerNode = 20
		err = container.WriteAll(dir.Recordings(), job, func(p *profile.Profile) {
			p.Settings = map[string]string{"stack": profile.StackAuto}
			for i := range p.Modules {
				p.Modules[i].BuildID = build
			}
			if p.Rank == 33 {
				p.State = profile.Running
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(dir)
}
