package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestMain(m *testing.M) {
	// The user's cache must not decide what the tests know of an MPI.
	dir, err := os.MkdirTemp("", "mpitrace-launch-")
	if err != nil {
		panic(err)
	}
	os.Setenv("MPITRACE_CACHE", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const mpiProgram = `#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }
`

const plainProgram = `int main(void) { return 0; }
`

// compile compiles C source into an executable. It skips the test, and names
// the compiler, if the compiler is missing.
func compile(t *testing.T, cc, source string, flags ...string) string {
	t.Helper()
	testenv.Need(t, "gcc", cc)
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "prog.c"), filepath.Join(dir, "prog")
	testenv.WriteFile(t, src, source)
	if out, err := exec.Command(cc, append([]string{src, "-o", bin}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	return bin
}

func inspect(t *testing.T, path string) *Program {
	t.Helper()
	p, err := Inspect(path)
	testenv.NoError(t, err)
	return p
}

func TestInspectMPI(t *testing.T) {
	for cc, want := range map[string]rundir.Flavour{"mpicc.openmpi": rundir.OpenMPI, "mpicc.mpich": rundir.MPICH} {
		t.Run(cc, func(t *testing.T) {
			p := inspect(t, compile(t, cc, mpiProgram))
			if p.Kind != UsesMPI || p.Flavour != want || p.Err() != nil {
				t.Errorf("got %+v, want a program of %s", p, want)
			}
			if !filepath.IsAbs(p.Library) || realPath(p.Library) != p.Library {
				t.Errorf("library %q is not a resolved path", p.Library)
			}
		})
	}
}

func TestInspectOthers(t *testing.T) {
	script := filepath.Join(t.TempDir(), "job.sh")
	testenv.WriteProgram(t, script, "#!/bin/sh\nmpirun ./app\n")
	fakeMPI := plainProgram + "int PMPI_Init(void) { return 0; }\n"
	for _, test := range []struct {
		name, path string
		want       ProgramKind
		advice     string
	}{
		{"script", script, Script, "--mpi"},
		{"no MPI", compile(t, "cc", plainProgram), NoMPI, "not linked to an MPI library"},
		{"static", compile(t, "cc", plainProgram, "-static"), Static, "without -static"},
		{"static position-independent", compile(t, "cc", plainProgram, "-static-pie"), Static, "without -static"},
		{"MPI inside", compile(t, "cc", fakeMPI), StaticMPI, "libmpi.a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := inspect(t, test.path)
			if p.Kind != test.want {
				t.Fatalf("kind %d, want %d", p.Kind, test.want)
			}
			var typed *ProgramError
			if err := p.Err(); !errors.As(err, &typed) || !strings.Contains(err.Error(), test.advice) {
				t.Errorf("error %v, want %q in it", err, test.advice)
			}
		})
	}
}

func TestInspectMissingLibrary(t *testing.T) {
	testenv.Need(t, "gcc", "cc")
	dir := t.TempDir()
	lib := filepath.Join(dir, "libmpi.so.99")
	link := exec.Command("cc", "-shared", "-x", "c", "-", "-o", lib, "-Wl,-soname,libmpi.so.99")
	link.Stdin = strings.NewReader("int PMPI_Init(void) { return 0; }\n")
	if out, err := link.CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	prog := compile(t, "cc", "int PMPI_Init(void); int main(void) { return PMPI_Init(); }\n", lib)
	if p := inspect(t, prog); p.Kind != MissingMPI || p.Soname != "libmpi.so.99" {
		t.Errorf("got %+v, want a missing libmpi.so.99", p)
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
	if p := inspect(t, prog); p.Kind != UsesMPI || p.Library != lib || p.Flavour != rundir.Unknown {
		t.Errorf("with LD_LIBRARY_PATH: got %+v", p)
	}
}

func TestFindCompiler(t *testing.T) {
	for cc, want := range map[string]string{"mpicc.openmpi": "Open MPI ", "mpicc.mpich": "MPICH "} {
		p := inspect(t, compile(t, cc, mpiProgram))
		mpi, err := FindCompiler(p.Library, p.Flavour)
		testenv.NoError(t, err)
		if mpi.Library != p.Library || !strings.HasPrefix(mpi.String(), want) || mpi.Version == "" {
			t.Errorf("%s: got %+v", cc, mpi)
		}
		if again := inspect(t, compile(t, mpi.CC, mpiProgram)); again.Library != p.Library {
			t.Errorf("%s links %s, want %s", mpi.CC, again.Library, p.Library)
		}
	}
}

func TestDetect(t *testing.T) {
	open, mpich := compile(t, "mpicc.openmpi", mpiProgram), compile(t, "mpicc.mpich", mpiProgram)
	plain := compile(t, "cc", plainProgram)
	library := inspect(t, mpich).Library
	for _, test := range []struct {
		name, command, mpi, cc string
		want                   rundir.Flavour
		note                   string
	}{
		{"program decides", "mpiexec.mpich -n 2 " + mpich, "auto", "", rundir.MPICH, ""},
		{"first MPI program decides", "mpirun.openmpi -n 1 " + plain + " : -n 1 " + mpich, "auto", "", rundir.MPICH, "Open MPI's launcher"},
		{"launcher of another MPI", "mpiexec.mpich -n 2 " + open, "auto", "", rundir.OpenMPI, "MPICH's launcher"},
		{"launcher decides", "mpiexec.mpich -n 2 " + plain, "auto", "", rundir.MPICH, "not linked to an MPI"},
		{"other launcher decides", "mpirun.openmpi -n 2 " + plain, "auto", "", rundir.OpenMPI, "not linked to an MPI"},
		{"library", "mpirun.openmpi -n 2 " + plain, library, "", rundir.MPICH, "not linked"},
		{"prefix", mpich, "/usr", "", rundir.MPICH, ""},
		{"other program below the prefix", open, "/usr", "", rundir.OpenMPI, ""},
		{"compiler", "mpirun.openmpi " + plain, "auto", "mpicc.mpich", rundir.MPICH, "not linked"},
		{"no launcher", plain, "auto", "mpicc.mpich", rundir.MPICH, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, strings.Fields(test.command))
			mpi, note, err := Detect(c, test.mpi, test.cc)
			testenv.NoError(t, err)
			if test.want != "" && mpi.Flavour != test.want {
				t.Errorf("got %v, want %s", mpi, test.want)
			}
			if !strings.Contains(note, test.note) || test.note == "" && test.want != "" && note != "" {
				t.Errorf("note %q, want %q", note, test.note)
			}
		})
	}
}

func TestDetectErrors(t *testing.T) {
	static := compile(t, "cc", plainProgram, "-static")
	open := compile(t, "mpicc.openmpi", mpiProgram)
	for _, test := range []struct{ name, command, mpi, cc, path, want string }{
		{"static", "mpirun.openmpi " + static, "auto", "", "", "linked statically"},
		{"name of another MPI", "mpirun.openmpi -n 2 " + open, "mpich", "", "", "is linked to Open MPI"},
		{"compiler of another MPI", "mpirun.openmpi -n 2 " + open, "auto", "mpicc.mpich", "", "cannot record it"},
		{"unknown name", "mpirun.openmpi " + open, "lam", "", "", "neither auto, a path, nor one of openmpi, mpich"},
		{"no such path", "mpirun.openmpi " + open, "/no/such", "", "", "no such file"},
		{"no MPI library", "mpirun.openmpi " + open, open, "", "", "no PMPI_Init"},
		{"compiler without MPI", "mpirun.openmpi " + open, "auto", "false", "", "cannot compile an MPI program"},
		{"no such compiler", "mpirun.openmpi " + open, "auto", "no-such-cc", "", "no-such-cc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse(strings.Fields(test.command))
			testenv.NoError(t, err)
			if _, _, err = Detect(c, test.mpi, test.cc); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var missing *NoCompilerError
	_, err := FindCompiler("/no/such/libmpi.so.40.30.4", rundir.OpenMPI)
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "libopenmpi-dev") {
		t.Errorf("got %v, want a NoCompilerError that says what to install", err)
	}
}

func TestKnown(t *testing.T) {
	t.Setenv("MPITRACE_CACHE", t.TempDir())
	p := inspect(t, compile(t, "mpicc.mpich", mpiProgram))
	if mpi := Known(p.Library); mpi != nil {
		t.Fatalf("an empty cache knows %v", mpi)
	}
	found, err := FindCompiler(p.Library, p.Flavour)
	testenv.NoError(t, err)
	if mpi := Known(p.Library); mpi == nil || *mpi != *found {
		t.Errorf("got %v, want %v", mpi, found)
	}
	for _, test := range []struct {
		mpi, cc string
		want    int
	}{
		{"mpich", "", 1}, {"openmpi", "", 0}, {p.Library, "", 1}, {"/usr", "", 1}, {"/opt", "", 0}, {"auto", found.CC, 1}, {"auto", "cc", 0},
	} {
		if got := Recall(test.mpi, test.cc); len(got) != test.want {
			t.Errorf("--mpi %q --cc %q: %d known, want %d", test.mpi, test.cc, len(got), test.want)
		}
	}
}

func TestKnownForgetsReplacedCompiler(t *testing.T) {
	t.Setenv("MPITRACE_CACHE", t.TempDir())
	dir := t.TempDir()
	lib, cc := filepath.Join(dir, "libmpi.so.1"), filepath.Join(dir, "mpicc")
	for _, file := range []string{lib, cc} {
		testenv.WriteProgram(t, file, "")
	}
	Remember(&MPI{Flavour: rundir.MPICH, Library: lib, CC: cc})
	if Known(lib) == nil {
		t.Fatal("not remembered")
	}
	testenv.WriteProgram(t, cc, "another")
	if mpi := Known(lib); mpi != nil {
		t.Errorf("still knows %v", mpi)
	}
}

// Open MPI looks for a bare name in the working directory too; Hydra does not.
func TestBareNameInWorkingDirectory(t *testing.T) {
	testenv.Need(t, "mpirun.openmpi", "mpiexec.mpich")
	prog := compile(t, "mpicc.openmpi", mpiProgram)
	for launcher, want := range map[string]bool{"mpirun.openmpi": true, "mpiexec.mpich": false} {
		c := parsed(t, []string{launcher, "-n", "2", "-wdir", filepath.Dir(prog), filepath.Base(prog)})
		p, err := c.program()
		if err != nil || (p != nil && p.Path == prog) != want {
			t.Errorf("%s: found %+v, %v; want found %v", launcher, p, err, want)
		}
	}
}
