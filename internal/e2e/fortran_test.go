package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/testenv"
)

// A binding is one of the ways to MPI from Fortran.
type binding struct {
	name  string
	flags []string
}

// bindings are all of them; interpose/testdata/forms.inc tells what FORM is.
// Neither the calls of mpif.h nor all of MPICH's mpi module have an interface, so
// that gfortran mistrusts a program that passes buffers of several types.
func bindings() []binding {
	unchecked := []string{"-fallow-argument-mismatch", "-w"}
	return []binding{
		{"mpif.h", append([]string{"-DFORM=1"}, unchecked...)},
		{"mpi", append([]string{"-DFORM=2"}, unchecked...)},
		{"mpi_f08", []string{"-DFORM=3", "-Wall", "-Werror"}},
	}
}

// hasFortran is what of the MPIs here comes with Fortran: the wheels have none.
func hasFortran(m implementation) bool { return debian(m) }

// withEachBinding runs f as a subtest for each MPI and binding.
func withEachBinding(t *testing.T, f func(*testing.T, implementation, binding)) {
	withEach(t, hasFortran, func(t *testing.T, m implementation) {
		for _, b := range bindings() {
			t.Run(b.name, func(t *testing.T) { f(t, m, b) })
		}
	})
}

// compileFortran makes a program of interpose/testdata with a binding.
func (m implementation) compileFortran(t *testing.T, b binding, name string, flags ...string) string {
	t.Helper()
	return m.compileFortranFile(t, b, filepath.Join(root, "interpose", "testdata", name+".F90"), flags...)
}

func (m implementation) compileFortranFile(t *testing.T, b binding, source string, flags ...string) string {
	t.Helper()
	compiler := strings.Replace(m.cc, "mpicc", "mpif90", 1)
	testenv.Need(t, compiler)
	dir := filepath.Join(scratch, m.name, b.name+strings.ReplaceAll(strings.Join(flags, ""), "=", "-"))
	program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-cpp", "-O1", "-g", "-J" + dir, "-o", program, source}, b.flags...)
	if out, err := exec.Command(compiler, append(args, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, out)
	}
	return program
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?([eE][+-]\d+)?`)

// values are the numbers that a program printed, first lines lines.
func values(t *testing.T, text string, lines int) []float64 {
	t.Helper()
	var out []float64
	for _, line := range strings.SplitAfter(text, "\n")[:lines] {
		for _, s := range number.FindAllString(line, -1) {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
	}
	return out
}

// The example in C and in all of Fortran's ways is one and the same to MPI: the
// same matrices, the same calls, and the same results.
func TestFortranHalo(t *testing.T) {
	for _, p := range []plate{
		{rows: 31, cols: 25, steps: 20, down: 2, across: 2},
		{rows: 31, cols: 25, steps: 20, down: 3, across: 2},
	} {
		t.Run(strconv.Itoa(p.down*p.across)+" ranks", func(t *testing.T) {
			withEach(t, hasFortran, func(t *testing.T, m implementation) {
				inC := p.run(t, m)
				for _, b := range bindings() {
					t.Run(b.name, func(t *testing.T) {
						source := filepath.Join(root, "interpose", "testdata", "halo.F90")
						if b.name == "mpi_f08" {
							source = filepath.Join(root, "examples", "halo_f08", "halo.f90")
						}
						j := m.run(t, p.down*p.across, m.compileFortranFile(t, b, source),
							strconv.Itoa(p.rows), strconv.Itoa(p.cols), strconv.Itoa(p.steps))
						p.checkMatrices(t, j)
						checkReceived(t, j.ranks)
						diff(t, "calls as in C", callsBy(inC.ranks), callsBy(j.ranks))
						diff(t, "results as in C", values(t, inC.stdout, 2), values(t, j.stdout, 2))
					})
				}
			})
		})
	}
}
