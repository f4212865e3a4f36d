package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
	"github.com/mpitrace/mpitrace/tests/testenv"
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

// TestDecodedOnceUnkept checks how often commands decode a recording of a run whose profiles do
// not fit into memory. If a command decodes it twice, the comment of source.Open gives the reason.
func TestDecodedOnceUnkept(t *testing.T) {
	const ranks = 200 // more than those whose call sites are looked up before the jobs are read
	before := source.KeptMemory
	source.KeptMemory = 0
	defer func() { source.KeptMemory = before }()
	auto, out := syntheticRun(t, ranks, "aa"), t.TempDir()
	plain, again, other := stackless(t, ranks, "aa"), stackless(t, ranks, "aa"), stackless(t, ranks, "bb")
	for _, test := range []struct {
		name string
		want int64
		args []string
	}{
		{"report", ranks, []string{"report", plain}},
		{"report, files of ranks", ranks, []string{"report", "--format", "prof,arrow", plain}},
		{"report, page", ranks, []string{"report", "--html", filepath.Join(out, "report.html"), plain}},
		{"status", ranks, []string{"status", plain}},
		{"export, to stdout", ranks, []string{"export", "--format", "csv", "-o", "-", plain}},
		{"export, Parquet to stdout", ranks, []string{"export", "--format", "parquet", "-o", "-", plain}},
		{"export, Arrow to stdout", ranks, []string{"export", "--format", "arrow", "-o", "-", plain}},
		{"export, ranks", ranks, []string{"export", "--format", "prof", "-o", filepath.Join(out, "prof"), plain}},
		{"export, Arrow tables", ranks, []string{"export", "--format", "arrow", "--tables", "all", "-o", filepath.Join(out, "arrow"), plain}},
		{"export, Parquet tables", ranks, []string{"export", "--format", "parquet", "--partition", "7", "--tables", "all", "-o", filepath.Join(out, "tables"), plain}},
		{"merge, which adds names", ranks, []string{"merge", plain}},
		{"reorder", ranks, []string{"reorder", "--effort", "fast", plain}},
		{"history", 2 * ranks, []string{"history", plain, again}},
		{"history, compared", 4 * ranks, []string{"history", plain, other}},
		{"report of stacks", 2 * ranks, []string{"report", auto}},
	} {
		before := recording.Decodes()
		got := call(test.args...)
		if n := recording.Decodes() - before; n != test.want || got.code != 0 {
			t.Errorf("%s: %d recordings were decoded, want %d; status %d\n%s", test.name, n, test.want, got.code, got.stderr)
		}
	}
	for _, path := range rundir.Dir(plain).Containers() {
		if c, err := recording.OpenContainer(path); err != nil || len(c.Symbols()) == 0 {
			t.Errorf("%s has no names of call sites (%v)", path, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(plain, "prof", "app.*.prof")); len(files) != ranks {
		t.Errorf("%d .prof files", len(files))
	}
}

// stackless makes a run without --stack auto, of a program with a function at all call sites.
func stackless(t *testing.T, ranks int, build string) string {
	testenv.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "app")
	gcc := exec.Command("gcc", "-no-pie", "-Wl,--build-id=0x"+build, "-x", "c", "-", "-o", program)
	gcc.Stdin = strings.NewReader(`__asm__(".type solve,@function; solve: .skip 0x20000; .size solve, .-solve"); int main(void) { return 0; }`)
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err == nil {
		job := synth.NewStencil(ranks)
		job.PerNode = 20
		err = container.WriteAll(dir.Recordings(), job, func(p *profile.Profile) {
			for i := range p.Modules {
				p.Program, p.Modules[i].Path, p.Modules[i].BuildID = program, program, build
			}
		})
	}
	testenv.NoError(t, err)
	return string(dir)
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
	testenv.NoError(t, err)
	return string(dir)
}
