package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A library that was built for another MPI records nothing, says so, and the
// program's calls arrive as they were made: the one's handles are 32-bit
// integers, the other's are pointers.
func TestStepsAside(t *testing.T) {
	other := map[string]implementation{}
	for _, m := range implementations() {
		other[m.name] = m
	}
	withEach(t, debian, func(t *testing.T, m implementation) {
		wrong := other["mpich"]
		if m.name == "mpich" {
			wrong = other["openmpi"]
		}
		dir := filepath.Join(t.TempDir(), "run")
		program := preload(wrong.library(t), []string{"MPITRACE_DIR=" + dir}, m.compile(t, "collectives"))
		out := succeed(t, nil, m.launch(4, program...)...)
		if first, _, _ := strings.Cut(out.stdout, "\n"); first != "ok" {
			t.Errorf("it printed %q, want ok", out.stdout)
		}
		if !strings.Contains(out.stderr, "built for another MPI") {
			t.Errorf("nothing was said: %q", out.stderr)
		}
		if n := len(readRecordings(t, dir)); n != 0 {
			t.Errorf("%d recordings, want none", n)
		}
	})
}
