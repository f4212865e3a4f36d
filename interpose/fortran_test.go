package interpose

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/calls"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Names of files with Fortran bindings, and of those among them that call C.
var (
	ofFortran = regexp.MustCompile(`^lib(mpi_mpifh|mpi_usempi\w*|mpichfort|mpifort)\.so\.\d+$`)
	layers    = regexp.MustCompile(`^lib(mpi_mpifh|mpichfort|mpifort)\.so`)
)

// bindingFiles returns the MPI's files of Fortran bindings: those that a
// program is linked with, and those in the same directories.
func bindingFiles(t *testing.T, cc string) []string {
	t.Helper()
	fc := strings.Replace(cc, "mpicc", "mpif90", 1)
	testenv.Need(t, fc, "ldd")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "p.f90"), filepath.Join(dir, "p")
	text := "program p\nuse mpi\ninteger :: i\ncall MPI_Init(i)\nend program\n"
	testenv.WriteFile(t, source, text)
	if out, err := exec.Command(fc, "-J"+dir, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("ldd", program).Output()
	testenv.NoError(t, err)
	linked := regexp.MustCompile(`=> (\S+/lib(?:mpi_mpifh|mpichfort|mpifort)\.so\S*)`).FindSubmatch(out)
	if linked == nil {
		t.Fatalf("no Fortran bindings among\n%s", out)
	}
	entries, err := os.ReadDir(filepath.Dir(string(linked[1])))
	testenv.NoError(t, err)
	var files []string
	for _, e := range entries {
		ours := strings.Contains(e.Name(), "fort") == strings.Contains(string(linked[1]), "fort")
		if ofFortran.MatchString(e.Name()) && ours {
			files = append(files, filepath.Join(filepath.Dir(string(linked[1])), e.Name()))
		}
	}
	return files
}

// openLibrary returns a shared library and its symbols.
func openLibrary(t *testing.T, file string) (*elf.File, []elf.Symbol) {
	t.Helper()
	f, err := elf.Open(file)
	testenv.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	symbols, err := f.DynamicSymbols()
	testenv.NoError(t, err)
	return f, symbols
}

// dynamicSymbols returns the names of a library's symbols, and whether it
// defines them.
func dynamicSymbols(t *testing.T, file string) map[string]bool {
	t.Helper()
	_, symbols := openLibrary(t, file)
	out := map[string]bool{}
	for _, s := range symbols {
		out[s.Name] = s.Section != elf.SHN_UNDEF
	}
	return out
}

// TestFortranNames checks that the library exports every name, in any spelling,
// under which the Fortran bindings export a wrapped call, and the C functions
// that they call.
func TestFortranNames(t *testing.T) {
	testenv.At(t, testenv.Quick)
	wrapped := map[string]string{}
	for _, c := range calls.Table {
		wrapped[strings.ToLower(c.Name)] = c.Name
	}
	name := regexp.MustCompile(`^(mpi_[a-z0-9_]+|MPI_[A-Z0-9_]+)$`)
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) {
			library := dynamicSymbols(t, build(t, cc))
			for _, file := range bindingFiles(t, cc) {
				found := map[string]bool{}
				symbols := dynamicSymbols(t, file)
				for symbol, defined := range symbols {
					if !defined || !name.MatchString(symbol) {
						continue
					}
					call, ok := wrapped[decoration.ReplaceAllString(strings.ToLower(symbol)[len("mpi_"):], "")]
					if !ok {
						continue
					}
					if c := calls.Symbol(call); !library[c] {
						continue // removed from C, but still in the Fortran bindings
					}
					found[call] = true
					if !library[symbol] {
						t.Errorf("%s has %s, which the library has not", filepath.Base(file), symbol)
					}
				}
				checkReachesC(t, file, symbols, found)
			}
		})
	}
}

// bypasses lists the calls for which a Fortran layer calls internal functions
// of the MPI. No wrapper in C sees them: they are counted and reported as
// untimed. These are attributes in all MPIs, since they are integers in Fortran
// and pointers in C, and callbacks in Open MPI, which has to call them in
// Fortran.
var bypasses = map[string]string{
	"libmpichfort": "Comm_set_attr Win_set_attr Type_set_attr Attr_put",
	"libmpi_mpifh": "Comm_set_attr Win_set_attr Type_set_attr Attr_put Comm_create_keyval Win_create_keyval " +
		"Type_create_keyval Keyval_create Comm_create_errhandler Win_create_errhandler File_create_errhandler " +
		"Errhandler_create Type_match_size",
}

// checkReachesC checks that a layer calls the C functions of its names by their
// names.
func checkReachesC(t *testing.T, file string, symbols, found map[string]bool) {
	t.Helper()
	if !layers.MatchString(filepath.Base(file)) {
		return
	}
	if len(found) < 150 {
		t.Errorf("%s: only %d of the wrapped calls", file, len(found))
	}
	library, _, _ := strings.Cut(filepath.Base(file), ".so")
	for call := range found {
		reaches := false
		for _, c := range []string{"MPI_" + call, "PMPI_" + call} {
			defined, ok := symbols[c]
			reaches = reaches || ok && !defined
		}
		if reaches == slices.Contains(strings.Fields(bypasses[library]), call) {
			t.Errorf("%s: calls %s of C: %v", filepath.Base(file), call, reaches)
		}
	}
}

// TestUnrecordedInFortran checks that Unrecorded returns only those functions
// that the library does not export and that are not left alone on purpose.
func TestUnrecordedInFortran(t *testing.T) {
	testenv.At(t, testenv.Quick)
	const text = `program p
use %s
use, intrinsic :: iso_c_binding
integer :: x(2) = 0, rank, ierr
integer(kind=MPI_ADDRESS_KIND) :: bytes = 8
double precision :: t
type(c_ptr) :: memory
external :: MPI_Unheard_of
call MPI_Init(ierr)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
t = MPI_Wtime()
call MPI_Alloc_mem(bytes, MPI_INFO_NULL, memory, ierr)
call MPI_Send(x, 2, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierr)
call MPI_Comm_free_keyval(x(1), ierr)
call MPI_Unheard_of(ierr)
call MPI_Finalize(ierr)
end program
`
	for _, cc := range compilers {
		lib := build(t, cc)
		for _, module := range []string{"mpi", "mpi_f08"} {
			t.Run(cc+", "+module, func(t *testing.T) {
				fc := strings.Replace(cc, "mpicc", "mpif90", 1)
				testenv.Need(t, fc)
				dir := t.TempDir()
				source, program := filepath.Join(dir, "p.f90"), filepath.Join(dir, "p")
				testenv.WriteFile(t, source, fmt.Appendf(nil, text, module))
				stub := filepath.Join(dir, "libstub.so")
				for _, command := range [][]string{
					{"gcc", "-shared", "-o", stub, "-x", "c", "../tests/programs/unheard_of.c"},
					{fc, "-J" + dir, "-w", "-o", program, source, stub},
				} {
					if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
				}
				got, err := Unrecorded(lib, []string{program})
				if err != nil || !slices.Equal(got, []string{"mpi_unheard_of_"}) {
					t.Errorf("got %v, %v; want mpi_unheard_of_ alone", got, err)
				}
			})
		}
	}
}
