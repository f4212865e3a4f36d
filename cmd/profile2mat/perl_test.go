package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// script returns the path of the Perl script profile2mat of Open MPI. Our
// program of the same name may hide it in PATH.
func script(t *testing.T) string { return perlScript(t, "profile2mat") }

func perlScript(t *testing.T, name string) string {
	t.Helper()
	testenv.Need(t, "perl")
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "#!/usr/bin/perl") {
			return path
		}
	}
	testenv.Skip(t, "needs the script "+name+" of openmpi-bin, which is not on PATH")
	return ""
}

// byScript runs the script on a copy of a .prof file and returns the files that
// it writes, by name.
func byScript(t *testing.T, script, name, prof string) map[string]string {
	t.Helper()
	path := put(t, filepath.Join(t.TempDir(), name), prof)
	if out, err := exec.Command("perl", script, path).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	written, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.mat"))
	testenv.NoError(t, err)
	files := map[string]string{}
	for _, w := range written {
		text := testenv.ReadFile(t, w)
		files[filepath.Base(w)] = string(text)
	}
	return files
}

func compareWithScript(t *testing.T, script, name, prof string) {
	t.Helper()
	ours, _ := mustRun(t, "--symmetric", put(t, filepath.Join(t.TempDir(), name), prof))
	if diff := cmp.Diff(byScript(t, script, name, prof), ours); diff != "" {
		t.Errorf("%s (-Perl +ours):\n%s", name, diff)
	}
}

// TestScriptAgrees requires the same file names and contents as the script's,
// for files that cover its rules.
func TestScriptAgrees(t *testing.T) {
	perl := script(t)
	line := func(kind byte, from, to int, bytes, messages uint64) string {
		return fmt.Sprintf("%c\t%d\t%d\t%d bytes\t%d msgs sent\n", kind, from, to, bytes, messages)
	}
	for name, text := range map[string]string{
		"one.0.prof":    rankFile(0, 5),
		"all.prof":      rankFile(0, 3) + rankFile(1, 3) + rankFile(2, 3),
		"halves.prof":   line('E', 0, 1, 1, 1) + line('E', 1, 2, 3, 3) + line('E', 2, 3, 5, 5) + line('E', 3, 3, 7, 2),
		"no_p2p.prof":   line('C', 0, 1, 10, 1) + line('S', 0, 2, 9, 1) + line('I', 1, 0, 8, 1),
		"classes.prof":  line('E', 0, 1, 10, 3) + line('C', 0, 6, 10, 3) + line('S', 0, 2, 9, 4) + line('R', 0, 2, 3, 1) + line('I', 3, 4, 8, 3),
		"large.prof":    line('E', 0, 1, 1<<53-1, 3) + line('E', 1, 2, 1<<52-1, 1<<20) + line('E', 2, 0, 7881299347898367, 5),
		"messages.prof": line('E', 0, 1, 0, 1<<53-1) + line('E', 1, 2, 3, 1<<40),
		"silent.prof":   "# POINT TO POINT\n# OSC\n# COLLECTIVES\nD\tMPI_COMM_WORLD\tprocs: 0\nA2A\t0\t0 bytes\t0 msgs sent\n",
		"twice.prof":    line('E', 0, 1, 10, 3) + line('E', 0, 1, 11, 2) + line('E', 1, 0, 2, 2),
	} {
		compareWithScript(t, perl, name, text)
	}
}

// TestPhasesAsScripts requires the same file names and contents as Open MPI's
// two scripts together, for phases that they handle correctly.
func TestPhasesAsScripts(t *testing.T) {
	aggregate, perl := perlScript(t, "aggregate_profile"), script(t)
	const ranks, phases = 5, 9
	dir, theirs := t.TempDir(), t.TempDir()
	for phase := range phases {
		for r := range ranks {
			text := rankFile(r, ranks)
			switch {
			case phase == 1 && r == 3:
				text = "# POINT TO POINT\n# OSC\n# COLLECTIVES\n"
			case phase == 2: // collectives only
				text = fmt.Sprintf("C\t%d\t%d\t%d bytes\t3 msgs sent\n", r, (r+1)%ranks, 7*r)
			case phase == 3: // all kinds
				text += fmt.Sprintf("I\t%d\t0\t5 bytes\t2 msgs sent\t1,0,0,1\nS\t%d\t1\t13 bytes\t1 msgs sent\nR\t%d\t2\t3 bytes\t1 msgs sent\nC\t%d\t0\t9 bytes\t2 msgs sent\n", r, r, r, r)
			}
			name := fmt.Sprintf("phase_%d.%d.prof", phase+1, r)
			put(t, filepath.Join(dir, name), text)
			put(t, filepath.Join(theirs, name), text)
		}
	}
	t.Chdir(theirs)
	script := func(args ...string) {
		if out, err := exec.Command("perl", args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	script(aggregate, "phase")
	want := map[string]string{}
	for phase := range phases {
		script(perl, fmt.Sprintf("phase_%d.prof", phase+1))
	}
	written, _ := filepath.Glob("*.mat")
	for _, name := range written {
		text := testenv.ReadFile(t, name)
		want[name] = string(text)
	}
	ours, stderr := mustRun(t, "--symmetric", filepath.Join(dir, "phase"))
	if diff := cmp.Diff(want, ours); diff != "" || len(want) != 6*(phases-2)+3+15 {
		t.Errorf("%d files (-Perl +ours):\n%s", len(want), diff)
	}
	if stderr != "" { // a rank that sent nothing must not count as missing
		t.Errorf("said %q", stderr)
	}
}

// TestOpenMPI runs a program under Open MPI's own monitoring. It compares the
// matrices of the files that this writes with arithmetic and with the script.
func TestOpenMPI(t *testing.T) {
	const n = 4
	testenv.Need(t, "mpicc.openmpi", "mpirun.openmpi")
	paths := monitored(t, n)
	perl := script(t)
	all := ""
	for _, path := range paths {
		text := testenv.ReadFile(t, path)
		compareWithScript(t, perl, filepath.Base(path), string(text))
		all += string(text)
	}
	compareWithScript(t, perl, "all.prof", all)

	files, stderr := mustRun(t, append(paths, "--no-self")...)
	var size, msg, osc strings.Builder
	for r := range n {
		for to := range n {
			switch to {
			case (r + 1) % n: // Sendrecv and Put
				fmt.Fprintf(&size, "%d ", 24+3*r)
				msg.WriteString("3 ")
				osc.WriteString("13 ")
			case (r + 2) % n: // r+2 gets from r
				osc.WriteString("17 ")
				size.WriteString("0 ")
				msg.WriteString("0 ")
			default:
				osc.WriteString("0 ")
				size.WriteString("0 ")
				msg.WriteString("0 ")
			}
		}
		size.WriteString("\n")
		msg.WriteString("\n")
		osc.WriteString("\n")
	}
	for name, want := range map[string]string{
		"mix.no-self_size_external.mat": size.String(), "mix.no-self_msg_external.mat": msg.String(), "mix.no-self_size_osc.mat": osc.String(),
	} {
		if diff := cmp.Diff(want, files[name]); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if stderr != "" {
		t.Errorf("said %q", stderr)
	}
}

// monitored runs testdata/mix.c on n ranks and returns the .prof files.
func monitored(t *testing.T, n int) []string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	program, prefix := filepath.Join(dir, "mix"), filepath.Join(dir, "mix")
	command(ctx, t, "mpicc.openmpi", "-O1", "-o", program, "testdata/mix.c")
	command(ctx, t, "mpirun.openmpi", "--oversubscribe", "-n", fmt.Sprint(n),
		"--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3",
		"--mca", "pml_monitoring_filename", prefix, program)
	paths := make([]string, n)
	for r := range paths {
		paths[r] = fmt.Sprintf("%s.%d.prof", prefix, r)
	}
	return paths
}

func command(ctx context.Context, t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}
