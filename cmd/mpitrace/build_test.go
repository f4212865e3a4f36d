package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
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
		if err != nil {
			t.Fatal(err)
		}
		// C functions only: Fortran's names are all upper or all lower case.
		exported := len(regexp.MustCompile(` T MPIX?_[A-Z][a-z]`).FindAll(symbols, -1))
		recorded := regexp.MustCompile(`(?m)^  (MPIX?_\w+) +recorded`).FindAllStringSubmatch(list, -1)
		if len(recorded) != exported || !strings.HasSuffix(strings.TrimSpace(head), fmt.Sprintf(": %d", exported)) {
			t.Errorf("%q and %d functions listed as recorded; nm has %d", head, len(recorded), exported)
		}
		for _, r := range recorded {
			if !strings.Contains(string(symbols), " T "+r[1]+"\n") {
				t.Errorf("%s is listed as recorded, but is not in the library", r[1])
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
