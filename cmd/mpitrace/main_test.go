package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Variables set by TestMain.
var (
	scratch string // directory of programs that several tests use
	binary  string // path of mpitrace, which ranks have to execute
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "mpitrace-cmd-"); err == nil {
		defer os.RemoveAll(scratch)
		binary = filepath.Join(scratch, "mpitrace")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build mpitrace:", err)
		return 1
	}
	// Build the library from these sources, whatever is in the user's cache.
	testenv.SharedCache(filepath.Join(scratch, "cache"), func() bool { _, err := interpose.CacheDir(); return err == nil })
	// Ignore the settings of the user and the site.
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(scratch, "config"))
	os.Setenv("MPITRACE_SITE_CONFIG", "")
	// Containers run as root, which Open MPI allows only with both variables.
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	return m.Run()
}

// mpi is an MPI of a Debian package.
type mpi struct{ name, cc, launcher string }

var mpis = []mpi{{"openmpi", "mpicc.openmpi", "mpirun.openmpi --oversubscribe"}, {"mpich", "mpicc.mpich", "mpiexec.mpich"}}

// withEach runs a test under each MPI.
func withEach(t *testing.T, f func(*testing.T, mpi)) {
	for _, m := range mpis {
		t.Run(m.name, func(t *testing.T) {
			testenv.Need(t, "gcc", m.cc, strings.Fields(m.launcher)[0])
			f(t, m)
		})
	}
}

// compile compiles a C source, once per MPI, and returns the program's path.
func (m mpi) compile(t *testing.T, source string) string {
	t.Helper()
	testenv.Need(t, "gcc", m.cc)
	program := filepath.Join(scratch, strings.TrimSuffix(filepath.Base(source), ".c")+"-"+m.name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.Command(m.cc, "-O1", source, "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, out)
	}
	return program
}

func (m mpi) ring(t *testing.T) string { return m.compile(t, "testdata/ring.c") }

// output is the output and exit status of a command.
type output struct {
	stdout, stderr string
	code           int
}

// sh runs a shell command in dir and waits for its end; $mpitrace is the
// binary.
func sh(t *testing.T, dir, command string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "mpitrace="+binary)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// On a timeout, signal the whole group, so that the launcher ends its
	// ranks.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, &stdout, &stderr)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// loaded is a job with its profiles in memory.
type loaded struct {
	*aggregate.Job
	Profiles []*profile.Profile
}

// load reads the jobs of a run directory.
func load(t *testing.T, dir string) []loaded {
	t.Helper()
	opened, err := source.Open([]string{dir}, source.Options{Depth: source.Whole})
	if err != nil || len(opened.Damage()) > 0 {
		t.Fatalf("load %s: %v %v", dir, err, opened.Damage())
	}
	var jobs []loaded
	for _, src := range opened.Jobs {
		job := loaded{Job: aggregate.NewJob(aggregate.Options{MustAgree: settingsThatAgree()})}
		err := src.Each(func(p *profile.Profile) error {
			job.Add(p)
			job.Profiles = append(job.Profiles, p)
			return nil
		})
		testenv.NoError(t, err)
		jobs = append(jobs, job)
	}
	return jobs
}

// checkRing requires that a job is a complete recording of ring.c on n ranks
// with messages of the given size in bytes.
func checkRing(t *testing.T, j loaded, n int, bytes uint64) {
	t.Helper()
	if problems := j.Problems(); len(problems) > 0 || len(j.Recorded()) != n || j.Size() != n {
		t.Errorf("%d ranks of %d recorded, want %d; problems: %q", len(j.Recorded()), j.Size(), n, problems)
	}
	m := j.Matrices()[matrix.External]
	for from := range n {
		for to := range n {
			var want matrix.Volume
			if to == (from+1)%n {
				want = matrix.Volume{Bytes: uint64(from+1) * bytes, Messages: uint64(from + 1)}
			}
			if got := m.At(from, to); got != want {
				t.Errorf("%d to %d: %+v, want %+v", from, to, got, want)
			}
		}
	}
}

// call runs a command line in this process.
func call(args ...string) output {
	var stdout, stderr bytes.Buffer
	code := execute(args, strings.NewReader(""), &stdout, &stderr)
	return output{stdout.String(), stderr.String(), code}
}

func TestWrongUse(t *testing.T) {
	static := filepath.Join(t.TempDir(), "static")
	testenv.Need(t, "gcc", "mpirun.openmpi")
	gcc := exec.Command("gcc", "-static", "-x", "c", "-", "-o", static)
	gcc.Stdin = strings.NewReader("int main(void) { return 0; }\n")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	holds := t.TempDir()
	testenv.WriteFile(t, filepath.Join(holds, "run.json"), "{}")
	empty := t.TempDir()
	t.Chdir(t.TempDir())
	for _, test := range []struct{ name, args, want string }{
		{"unknown command", "rport", "there is no command"},
		{"unknown flag", "run --bad -- true", "unknown flag"},
		{"nothing to run", "run", "requires at least 1 arg"},
		{"a stack of one", "run --stack 1 -- true", "give auto, 0 for none, or a number from 2 to"},
		{"a limit without %", "diff --fail-if-worse 10 a b", `"10" is not a percentage: give 10%`},
		{"a limit of one measure without %", "diff --fail-if-worse bytes=10 a b", `"10" is not a percentage`},
		{"dump nothing", "dump none", "no such file"},
		{"report of a file", "report " + filepath.Join(holds, "run.json"), "unknown format: give recordings"},
		{"export a file of another kind", "export --format csv -o x.csv " + filepath.Join(holds, "run.json"), "unknown format: give recordings"},
		{"unknown format", "run --format csv -- true", "it can be prof, arrow"},
		{"unknown MPI", "run --mpi lam -- true", "openmpi, mpich"},
		{"an interval of nothing", "run --pvar-interval 5ms -- true", "--pvar-interval needs --pvar"},
		{"no such compiler", "run --cc no-such-cc -- true", "no-such-cc"},
		{"static program", "run -- mpirun.openmpi " + static, "linked statically"},
		{"a run is there", "run -o " + holds + " -- true", "already holds a run"},
		{"only queued", "run -- sbatch job.sh", "job script"},
		{"report of nothing", "report none", "no such file"},
		{"report of an empty directory", "report " + empty, "holds no recording"},
		{"matrix of nothing", "matrix", "see mpitrace matrix --help"},
		{"matrix of an empty directory", "matrix " + empty, "holds no recording"},
		{"report of two", "report a b", "accepts at most 1 arg"},
		{"report of no rank", "report --rank -5 " + holds, "ranks count from 0"},
		{"analyze nothing", "analyze " + empty, "holds no recording"},
		{"analyze no directory", "analyze none", "no such file"},
		{"frames as text", "analyze --interval 1s " + empty, "--json"},
		{"analyze fewer than no places", "analyze --top -1 " + empty, `"--top" flag`},
		{"frames of no time", "analyze --interval -1s " + empty, "--interval -1s"},
		{"unknown timing", "run --timing some -- true", `--timing "some": it can be exact, sampled, off`},
		{"timing without a word", "run --timing= -- true", `--timing ""`},
		{"unknown receives", "run --receives no -- true", `--receives "no": it can be on, off`},
		{"unknown spool", "run --spool /no/such -- true", "make spool"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := call(strings.Fields(test.args)...)
			if got.code != exitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
				t.Errorf("status %d, want 2; stderr %q, want %q in it; stdout %q", got.code, got.stderr, test.want, got.stdout)
			}
		})
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	for _, cmd := range append(newRoot().Commands(), newRoot()) {
		if !strings.HasPrefix(cmd.Example, "  ") || cmd.Short == "" {
			t.Errorf("%s: no example or no description", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s: no description", cmd.Name(), f.Name)
			}
		})
	}
}

// The commands must accept the examples in their help.
func TestExamplesParse(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		for line := range strings.Lines(cmd.Example) {
			_, after, found := strings.Cut(strings.TrimSpace(line), "mpitrace ")
			words := strings.Fields(after)
			if !found || len(words) == 0 {
				t.Errorf("%s: example %q", cmd.Name(), line)
				continue
			}
			checkExample(t, words)
		}
	}
}

func checkExample(t *testing.T, words []string) {
	t.Helper()
	cmd, rest, err := newRoot().Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("mpitrace %s: %v", strings.Join(words, " "), err)
	}
}

func TestVersion(t *testing.T) {
	if got := call("version"); got.code != 0 || !strings.HasPrefix(got.stdout, "mpitrace 0.") || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
	if strings.Contains(versionString(), "\n") {
		t.Errorf("run.json would have several lines as the version: %q", versionString())
	}
	if flag, command := call("--version"), call("version"); flag != command {
		t.Errorf("--version: got %+v, want %+v", flag, command)
	}
}

func TestHelp(t *testing.T) {
	got := call("run", "--help")
	if got.code != 0 || !strings.Contains(got.stdout, "mpirun -n 4 ./app") {
		t.Errorf("got %+v", got)
	}
	var names, hidden []string
	for _, cmd := range newRoot().Commands() {
		if cmd.Hidden {
			hidden = append(hidden, cmd.Name())
		} else {
			names = append(names, cmd.Name())
		}
	}
	// TestTwoUsers finds the others by completion, and names these.
	if want := []string{"manual", "rank"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden commands %q, want %q", hidden, want)
	}
	want := []string{"analyze", "build", "collect", "config", "diff", "doctor", "dump", "export", "history", "list", "matrix", "merge", "preload", "reorder", "report", "run", "status", "timeline", "vars", "version", "view"}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("commands %q, want %q", names, want)
	}
}
