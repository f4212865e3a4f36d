package interpose

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sourceOf returns a file of the library's source.
func sourceOf(t *testing.T, name string) []byte {
	t.Helper()
	text, err := sources.ReadFile(name)
	testenv.NoError(t, err)
	return text
}

// TestABI compiles, with the mpi.h of each MPI, a table of what our header of
// its family says: the constants, and the size and the fields of each type.
func TestABI(t *testing.T) {
	withEveryCompiler(t, func(t *testing.T, cc string) {
		work := t.TempDir()
		header, err := BuildOptions{CC: cc}.readHeader(t.Context(), work)
		testenv.NoError(t, err)
		if header.family == "" {
			t.Fatalf("the mpi.h of %s is of no family", cc)
		}
		checkABI(t, strings.ToLower(header.family), cc)
	})
}

// TestStandardABI does the same with the headers of the standard ABI. gcc compiles
// them, because Intel MPI has no compiler wrapper for its one.
func TestStandardABI(t *testing.T) {
	testenv.At(t, testenv.All)
	for _, name := range []string{"mpich5", "impi"} {
		t.Run(name, func(t *testing.T) {
			prefix, err := filepath.Abs(filepath.Join("..", "build", name))
			testenv.NoError(t, err)
			testenv.Need(t, "gcc", filepath.Join(prefix, "bin", "mpicc"))
			cc := filepath.Join(t.TempDir(), "mpicc_abi")
			script := fmt.Sprintf("#!/bin/sh\nexec gcc -DMPI_ABI '-I%s' \"$@\"\n", filepath.Join(prefix, "include"))
			testenv.NoError(t, os.WriteFile(cc, []byte(script), 0o700))
			header, err := BuildOptions{CC: cc}.readHeader(t.Context(), t.TempDir())
			testenv.NoError(t, err)
			if header.family != "ABI" {
				t.Fatalf("the family is %q, want ABI", header.family)
			}
			checkABI(t, "abi", cc)
		})
	}
}

var (
	constantDefinition = regexp.MustCompile(`(?m)^#define (MPI_[A-Z0-9_]+) (.+)$`)
	typeDefinition     = regexp.MustCompile(`\b(MPI_\w+)[,;]`)
	handleCast         = regexp.MustCompile(`^\(\((MPI_\w+|void)( \*)?\)(.+)\)$`)
)

// checkABI compiles assertions about an mpi.h, and then checks that a wrong one
// does not compile.
func checkABI(t *testing.T, family, cc string) {
	t.Helper()
	header := sourceOf(t, "src/base/abi_"+family+".h")
	more := sourceOf(t, "mpit/abi_"+family+".h")
	header = append(header, more...)
	work := t.TempDir()
	o := BuildOptions{CC: cc}
	var table strings.Builder
	table.WriteString("#include <stddef.h>\n#include <mpi.h>\n")
	constants := 0
	for _, m := range constantDefinition.FindAllSubmatch(header, -1) {
		name, value := string(m[1]), string(m[2])
		if cast := handleCast.FindStringSubmatch(value); cast != nil {
			value = cast[3]
		}
		fmt.Fprintf(&table, "char is_%s[(int)(long)%s == (int)(long)(%s) ? 1 : -1];\n", name, name, value)
		constants++
	}
	if constants < 55 {
		t.Fatalf("found %d constants in the header of %s", constants, family)
	}
	// The sizes of our types are known only to a compiler: it compiles both
	// headers, each with a name of its own for every type.
	ours := filepath.Join(work, "ours.h")
	renamed := regexp.MustCompile(`\bMPI_([A-Z][A-Za-z_]*[a-z]\w*)\b`).ReplaceAll(header, []byte("ours_$1"))
	renamed = regexp.MustCompile(`(?m)^#(define|include).*\n`).ReplaceAll(renamed, nil)
	testenv.WriteFile(t, ours, renamed)
	table.WriteString("#include \"ours.h\"\n")
	types := 0
	for _, m := range typeDefinition.FindAllSubmatch(header, -1) {
		name := strings.TrimPrefix(string(m[1]), "MPI_")
		if strings.ToUpper(name) == name || family == "openmpi" && name == "Session" || family == "abi" && name == "Fint" {
			continue // a field of MPI_Status; Open MPI 4 has no sessions, MPICH's standard ABI no Fortran
		}
		fmt.Fprintf(&table, "char size_%s[sizeof(MPI_%s) == sizeof(ours_%s) ? 1 : -1];\n", name, name, name)
		types++
	}
	if types < 15 {
		t.Fatalf("found %d types in the header of %s", types, family)
	}
	for _, field := range []string{"MPI_SOURCE", "MPI_TAG", "MPI_ERROR"} {
		fmt.Fprintf(&table, "char at_%s[offsetof(MPI_Status, %s) == offsetof(ours_Status, %s) ? 1 : -1];\n", field, field, field)
	}
	compiles := func(text string) error {
		source := filepath.Join(work, "table.c")
		testenv.WriteFile(t, source, text)
		_, err := o.run(t.Context(), "-w", "-I"+work, "-fsyntax-only", source)
		return err
	}
	if err := compiles(table.String()); err != nil {
		t.Error(err)
	}
	if err := compiles(table.String() + "char wrong[MPI_TAG_UB == MPI_ANY_SOURCE ? 1 : -1];\n"); err == nil {
		t.Error("a wrong assertion compiled")
	}
}
