package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A hydra is a launcher of MPICH or Intel MPI.
type hydra struct {
	name    string
	path    string
	flavour rundir.Flavour
	level   testenv.Level
}

func hydras() []hydra {
	wheel := func(mpi, command string) string { return filepath.Join(root, "build", mpi, "bin", command) }
	return []hydra{
		{"mpich", "mpiexec.mpich", rundir.MPICH, testenv.Quick},
		{"mpich5", wheel("mpich5", "mpiexec"), rundir.MPICH, testenv.All},
		{"Intel MPI", wheel("impi", "mpiexec.hydra"), rundir.IntelMPI, testenv.All},
		{"Intel MPI's script", wheel("impi", "mpirun"), rundir.IntelMPI, testenv.All},
	}
}

// showRank prints what a launcher gives to a rank: its number, directory,
// arguments, and the names of its variables; then what is preloaded.
const showRank = `#!/bin/sh
names=$(env | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p' | grep -v '^LD_PRELOAD$\|^ASAN_OPTIONS$\|^MPITRACE_DIR$' | sort | tr '\n' ' ')
echo "rank $PMI_RANK of $PMI_SIZE in $PWD: $# $* A=$A B=$B variables $names| $LD_PRELOAD"
`

// A launchForm is a form of the command line. PROG stands for the program. The
// file c1 has two sections, with one and two ranks.
type launchForm struct {
	words string
	ranks int
	intel bool // only Intel MPI has it
}

var launchForms = []launchForm{
	{"-n 2 PROG a b", 2, false},
	{"-np 1 PROG a : -n 2 PROG b", 3, false},
	{"-genv A 1 -n 1 PROG : -env B 2 -n 1 PROG", 2, false},
	{"-genv A=1 -n 1 PROG : -env B=2 -n 1 PROG", 2, false},
	{"-genv=A 1 -n 2 PROG", 2, false},
	{"-genvnone -genv A 1 -n 2 PROG", 2, false},
	{"-genvall -n 1 PROG : -envnone -n 1 PROG", 2, false},
	{"-genvlist HOME,B -n 1 PROG : -envlist PATH -n 1 PROG", 2, false},
	{"-wdir d -n 1 PROG : -n 1 PROG", 2, false},
	{"-prepend-rank -ppn 1 -print-all-exitcodes -n 2 PROG", 2, false},
	{"-launcher fork -n 1 PROG : -n 1 PROG", 2, false},
	{"-configfile c1", 3, false},
	{"-genv B 7 --configfile c1", 3, false},
	{"-bootstrap fork -np 2 PROG", 2, true},
	{"-gwdir d -gpath / -n 2 PROG", 2, true},
	{"-silent-abort -s all -n 2 PROG", 2, true},
	{"-print-rank-map -tune nothing -n 2 PROG", 2, true},
	{"-genvexcl HOME -n 1 PROG : -envexcl PATH -n 1 PROG", 2, true},
	{"-configfile quoted", 2, true},
}

// TestLaunchForms runs each form of the command line with and without the
// recorder, and requires that each rank gets the same.
func TestLaunchForms(t *testing.T) {
	for _, h := range hydras() {
		t.Run(h.name, func(t *testing.T) {
			testenv.At(t, h.level)
			testenv.Need(t, "gcc", h.path)
			if h.flavour == rundir.IntelMPI {
				setIntelMPI(t)
			}
			dir, library := launchFiles(t)
			t.Chdir(dir)
			for _, form := range launchForms {
				if !form.intel || h.flavour == rundir.IntelMPI {
					checkForm(t, h, form, library)
				}
			}
		})
	}
}

// setIntelMPI sets the variables that the wheels of Intel MPI need.
func setIntelMPI(t *testing.T) {
	t.Helper()
	prefix := filepath.Join(root, "build", "impi")
	t.Setenv("PATH", filepath.Join(prefix, "bin")+":"+os.Getenv("PATH")) // mpirun looks for mpiexec.hydra
	t.Setenv("I_MPI_ROOT", prefix)
	t.Setenv("I_MPI_FABRICS", "shm")
}

func intelMPI() implementation {
	bin := filepath.Join(root, "build", "impi", "bin")
	return implementation{name: "impi", cc: filepath.Join(bin, "mpicc"), launcher: []string{filepath.Join(bin, "mpirun")},
		mpi4: true, large: true, environment: setIntelMPI}
}

// TestIntelNodes starts ranks of Intel MPI on two nodes by ssh, which a script
// replaces: both nodes are this one. The ranks have different parents, and are one
// job.
func TestIntelNodes(t *testing.T) {
	testenv.At(t, testenv.All)
	m := intelMPI()
	testenv.Need(t, m.cc, m.launcher[0])
	m.environment(t)
	program := m.compile(t, "sendrecv")
	ssh := writeScript(t, `while [ "${1#-}" != "$1" ]; do shift; done`, "shift", `exec sh -c "$*"`)
	nodes := []string{"-bootstrap", "ssh", "-bootstrap-exec", ssh, "-hosts", "node1,node2", "-ppn", "2"}
	j := record(t, []string{"--strict"}, slices.Concat(m.launcher, nodes, []string{"-n", "3", program})...)
	if j.code != 0 || len(j.ranks) != 3 {
		t.Fatalf("exit status %d, %d recordings, want 0 and 3\n%s%s", j.code, len(j.ranks), j.stdout, j.stderr)
	}
	for _, p := range j.ranks {
		if p.Run != j.ranks[0].Run {
			t.Errorf("rank %d is of job %q, rank 0 of %q", p.Rank, p.Run, j.ranks[0].Run)
		}
	}
}

// launchFiles makes a directory with the files of the forms, and a library that
// is preloaded instead of mpitrace's.
func launchFiles(t *testing.T) (dir, library string) {
	t.Helper()
	dir = t.TempDir()
	prog := filepath.Join(dir, "show")
	for name, text := range map[string]string{
		"show":   showRank,
		"c1":     "# comment\n\n-n 1 PROG x\n\t-n 2 -env A 3 PROG y z\n",
		"quoted": "-n 1 -env A \"x y\" PROG \"a b\" c\n-n 1 \"PROG\"",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "PROG", prog)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	library = filepath.Join(dir, "libmpitrace-none.so")
	if out, err := exec.Command("gcc", "-shared", "-x", "c", "/dev/null", "-o", library).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, library
}

func checkForm(t *testing.T, h hydra, form launchForm, library string) {
	t.Helper()
	dir := filepath.Dir(library)
	argv := append([]string{h.path}, strings.Fields(strings.ReplaceAll(form.words, "PROG", filepath.Join(dir, "show")))...)
	c, err := launch.Parse(argv)
	if err != nil || c.Reason != "" {
		t.Errorf("%s: %q, %v; want the programs", form.words, c.Reason, err)
		return
	}
	r := launch.Recorder{Library: library, Flavour: h.flavour, Dir: filepath.Join(dir, "run")}
	copied := filepath.Join(dir, "copy")
	recorded, text, err := c.Rewrite(append([]string{mpitrace, "rank"}, r.Words()...), copied)
	if err == nil {
		err = os.WriteFile(copied, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, got := rankLines(t, dir, argv), rankLines(t, dir, recorded)
	if len(want) != form.ranks || len(got) != form.ranks {
		t.Errorf("%s: %d ranks, %d recorded; want %d", form.words, len(want), len(got), form.ranks)
		return
	}
	for i := range want {
		if got[i] != want[i]+library {
			t.Errorf("%s:\n got %s\nwant %s%s", form.words, got[i], want[i], library)
		}
	}
}

// rankLines runs a command and returns what showRank prints, sorted.
func rankLines(t *testing.T, dir string, argv []string) []string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", fmt.Sprint(argv), err, out)
	}
	lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool {
		return !strings.Contains(line, "rank ") || !strings.Contains(line, "variables")
	})
	slices.Sort(lines)
	return lines
}

// TestConfigFile records a job whose programs are in a file.
func TestConfigFile(t *testing.T) {
	withEach(t, func(m implementation) bool { return !openMPI(m) }, func(t *testing.T, m implementation) {
		program := m.compile(t, "sendrecv")
		file := filepath.Join(t.TempDir(), "file")
		text := fmt.Sprintf("# two sections\n-n 1 %s\n-n 2 %s\n", program, program)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j := record(t, nil, append(slices.Clone(m.launcher), "-configfile", file)...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		checkWhole(t, 3, j)
		if now, err := os.ReadFile(file); err != nil || string(now) != text {
			t.Errorf("the file is now %q, %v; want it unchanged", now, err)
		}
	})
}

// TestIntelFortran records examples/halo in Fortran under Intel MPI, which calls
// its own Fortran library. Its wheel has no mpi_f08 for gfortran.
func TestIntelFortran(t *testing.T) {
	testenv.At(t, testenv.All)
	m := intelMPI()
	testenv.Need(t, "gfortran", m.cc, m.launcher[0])
	setIntelMPI(t)
	version, _, _ := strings.Cut(succeed(t, nil, "gfortran", "-dumpversion").stdout, "\n")
	modules, err := filepath.Glob(filepath.Join(root, "build", "impi", "include", "mpi", "gfortran", version+".*"))
	if err != nil || len(modules) != 1 {
		t.Fatalf("Intel MPI has the modules %v (%v) of gfortran %s, want one", modules, err, version)
	}
	p := plate{rows: 31, cols: 25, steps: 20, down: 2, across: 2}
	inC := p.run(t, m)
	for _, b := range bindings() {
		if b.name == "mpi_f08" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			source := filepath.Join(root, "tests", "programs", "halo.F90")
			j := m.run(t, p.down*p.across, m.compileFortranFile(t, b, source, "-I"+modules[0]),
				strconv.Itoa(p.rows), strconv.Itoa(p.cols), strconv.Itoa(p.steps))
			p.checkMatrices(t, j)
			checkReceived(t, j.ranks)
			diff(t, "calls as in C", callsBy(inC.ranks), callsBy(j.ranks))
		})
	}
}
