package layout

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestCompilerAgrees compiles the generated header by itself. It asserts each
// size and offset with Go's values.
func TestCompilerAgrees(t *testing.T) {
	testenv.Need(t, "cc")
	source := filepath.Join(t.TempDir(), "layout.c")
	header, err := filepath.Abs(filepath.Join("..", "src", "base", "layout_gen.h"))
	testenv.NoError(t, err)
	testenv.WriteFile(t, source, "#include \""+header+"\"\n")
	if out, err := exec.Command("cc", "-std=c11", "-fsyntax-only", source).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
