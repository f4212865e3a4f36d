package interpose

import (
	"context"
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/calls"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// everyCompiler returns the compilers of Debian's MPIs at level quick. At level
// all it returns those of the MPIs that `make setup` installs below build.
func everyCompiler(t *testing.T) []string {
	t.Helper()
	var all []string
	if testenv.Runs(testenv.Quick) {
		all = slices.Clone(compilers)
	}
	if !testenv.Runs(testenv.All) {
		return all
	}
	for _, name := range []string{"openmpi5", "mpich5", "impi"} {
		cc, err := filepath.Abs(filepath.Join("..", "build", name, "bin", "mpicc"))
		testenv.NoError(t, err)
		all = append(all, cc)
	}
	return all
}

func withEveryCompiler(t *testing.T, f func(t *testing.T, cc string)) {
	for _, cc := range everyCompiler(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(cc)))+filepath.Base(cc), func(t *testing.T) {
			testenv.Need(t, cc)
			t.Setenv("I_MPI_ROOT", filepath.Dir(filepath.Dir(cc))) // Intel's mpicc finds its files there
			f(t, cc)
		})
	}
}

// TestCoverage checks that the library intercepts every function that mpi.h
// declares, or that the tables have a reason why it does not.
func TestCoverage(t *testing.T) {
	withEveryCompiler(t, func(t *testing.T, cc string) {
		standard, all, err := BuildOptions{CC: cc}.Coverage(context.Background(), build(t, cc))
		testenv.NoError(t, err)
		recorded := 0
		for _, c := range all {
			_, missing := missingCalls[tableName(c.Symbol)]
			switch {
			case c.Call != "":
				recorded++
			case c.Lost && !missing:
				t.Errorf("%s is in mpi.h, is not intercepted, and has no reason", c.Symbol)
			}
		}
		if standard == "" || recorded < 300 {
			t.Errorf("MPI %q: %d functions recorded, want the hundreds that any MPI has", standard, recorded)
		}
	})
}

// TestExportedFunctionsHaveAStand checks that every function that the MPI's
// libraries export is in calls.Standard: programs compiled with other headers
// may call it.
func TestExportedFunctionsHaveAStand(t *testing.T) {
	known := map[string]bool{}
	for _, p := range calls.Standard {
		known[p.Name] = true
	}
	withEveryCompiler(t, func(t *testing.T, cc string) {
		found := 0
		for _, library := range librariesOf(t, cc) {
			f, err := elf.Open(library)
			testenv.NoError(t, err)
			symbols, err := f.DynamicSymbols()
			f.Close()
			testenv.NoError(t, err)
			for _, s := range symbols {
				if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) != elf.STT_FUNC || !regexp.MustCompile(`^MPIX?_`).MatchString(s.Name) {
					continue
				}
				found++
				if !known[tableName(s.Name)] {
					t.Errorf("%s is exported by %s, and is in no table", s.Name, filepath.Base(library))
				}
			}
		}
		if found < 400 {
			t.Errorf("%d functions in the libraries of %s, want all of MPI's", found, cc)
		}
	})
}

// librariesOf compiles a program, and returns the MPI libraries that the loader
// finds for it.
func librariesOf(t *testing.T, cc string) []string {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	text := "#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n"
	testenv.WriteFile(t, source, text)
	if out, err := exec.Command(cc, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("ldd", program).Output()
	testenv.NoError(t, err)
	var found []string
	for _, line := range strings.Split(string(out), "\n") {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[0], "libmpi") {
			found = append(found, f[2])
		}
	}
	return found
}

var (
	attribute = regexp.MustCompile(`__attribute__ *\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)`)
	prototype = regexp.MustCompile(`\bint\s+(MPIX?_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)`)
)

// TestHandlesAreThoseOfTheHeaders compares the third column of standard.txt, on
// which the rule about handles depends, with the headers.
func TestHandlesAreThoseOfTheHeaders(t *testing.T) {
	types := map[string]*regexp.Regexp{
		"comm": regexp.MustCompile(`\bMPI_Comm\b`), "win": regexp.MustCompile(`\bMPI_Win\b`),
		"file": regexp.MustCompile(`\bMPI_File\b`), "request": regexp.MustCompile(`\bMPI_Request\b`),
	}
	listed := map[string][]string{}
	for _, p := range calls.Standard {
		listed[p.Name] = p.Handles
	}
	withEveryCompiler(t, func(t *testing.T, cc string) {
		o, source := BuildOptions{CC: cc}, filepath.Join(t.TempDir(), "probe.c")
		testenv.WriteFile(t, source, probe)
		text, err := o.run(context.Background(), "-E", "-P", source)
		testenv.NoError(t, err)
		checked := 0
		for _, m := range prototype.FindAllStringSubmatch(attribute.ReplaceAllString(string(text), ""), -1) {
			checked++
			for handle, kind := range types {
				if has := kind.MatchString(m[2]); has != slices.Contains(listed[tableName(m[1])], handle) {
					t.Errorf("%s(%s): standard.txt has its handles as %v", m[1], m[2], listed[tableName(m[1])])
				}
			}
		}
		if checked < 350 {
			t.Errorf("%d prototypes, want all of MPI's", checked)
		}
	})
}
