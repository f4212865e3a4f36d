package interpose

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestThunks checks what the thunks do to registers, the stack and notes,
// without an MPI.
func TestThunks(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		t.Run(level, func(t *testing.T) {
			testenv.Need(t, "gcc")
			program := filepath.Join(t.TempDir(), "thunks")
			source := filepath.Join("..", "tests", "programs", "thunks.c")
			if out, err := exec.Command("gcc", level, "-Wall", "-Wextra", "-Werror", "-Isrc/calls", "-o", program, source,
				"-lpthread").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "ok\n" {
				t.Errorf("%s (%v)", out, err)
			}
		})
	}
}
