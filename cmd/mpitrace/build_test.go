package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The coverage that build prints must agree with the library's symbols in
// nm(1).
func TestBuildTellsTheCoverage(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		got := call("build", "--cc", m.cc, "--coverage")
		if got.code != 0 {
			t.Fatalf("got %+v", got)
		}
		head, list, _ := strings.Cut(strings.TrimSpace(got.stdout), "recorded,")
		lib := strings.Fields(strings.Split(head, "\n")[0])
		symbols, err := exec.Command("nm", "-D", "--defined-only", lib[len(lib)-1]).Output()
		testenv.NoError(t, err)
		recorded := regexp.MustCompile(`(?m)^  (MPIX?_\w+) +recorded`).FindAllStringSubmatch(list, -1)
		if !strings.HasSuffix(strings.TrimSpace(head), fmt.Sprintf(": %d", len(recorded))) {
			t.Errorf("%q and %d functions listed as recorded", head, len(recorded))
		}
		// The address of a function that the MPI lacks is 0.
		exported := map[string]bool{}
		for _, s := range regexp.MustCompile(`(?m)^0*[1-9a-f][0-9a-f]* T (MPIX?_\w+)$`).FindAllSubmatch(symbols, -1) {
			exported[string(s[1])] = true
		}
		for _, r := range recorded {
			if !exported[r[1]] {
				t.Errorf("%s is listed as recorded, but is not in the library", r[1])
			}
			delete(exported, r[1])
		}
		// A prebuilt library also has functions of older standards, which the MPI
		// still has, but does not declare any more.
		header := preprocessed(t, m.cc)
		for name := range exported {
			// What the library serves of MPI's tool interface is not recorded.
			if strings.HasPrefix(name, "MPI_T_") {
				continue
			}
			if regexp.MustCompile(`\b` + name + `\s*\(`).MatchString(header) {
				t.Errorf("%s is in the library and in mpi.h, but is not listed as recorded", name)
			}
		}
		if !regexp.MustCompile(`(?m)^  MPI_Comm_rank +left alone: reads local state`).MatchString(list) {
			t.Errorf("no reason is given for MPI_Comm_rank in\n%s", list)
		}
		short := call("build", "--cc", m.cc)
		if !strings.Contains(short.stdout, "left alone") || strings.Contains(short.stdout, "MPI_Comm_rank") {
			t.Errorf("without --coverage: got %q", short.stdout)
		}
	})
}

// preprocessed returns what is left of an MPI's mpi.h after the preprocessor.
func preprocessed(t *testing.T, cc string) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "include.c")
	testenv.WriteFile(t, source, "#include <mpi.h>\n")
	out, err := exec.Command(cc, "-E", source).Output()
	testenv.NoError(t, err)
	if !strings.Contains(string(out), "MPI_Send(") {
		t.Fatalf("%s: mpi.h declares no MPI_Send", cc)
	}
	return string(out)
}
