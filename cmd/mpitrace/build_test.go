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
		recorded := regexp.MustCompile(`(?m)^  (MPIX?_\w+) +recorded`).FindAllStringSubmatch(list, -1)
		if !strings.HasSuffix(strings.TrimSpace(head), fmt.Sprintf(": %d", len(recorded))) {
			t.Errorf("%q and %d functions listed as recorded", head, len(recorded))
		}
		// The address of a function that the MPI lacks is 0. A prebuilt library has
		// more functions than the MPI's mpi.h: those of older standards.
		for _, r := range recorded {
			if !regexp.MustCompile(`[1-9a-f][0-9a-f]* T ` + r[1] + `\n`).Match(symbols) {
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
