package run

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// nestedSuffix ends the name of a note about a nested run: an `mpitrace run`
// that the command of another run started. The note is a symbolic link among
// the outer run's recordings. Its target is "\n" followed by the directory of
// the nested run. It shows that those recordings are not missing but elsewhere.
const nestedSuffix = ".nested"

// NoteNested writes a note that the nested run in dir was started by this run. It
// ignores errors: the program must run even if this run's directory is not
// writable.
func (d Dir) NoteNested(dir string) {
	name := fmt.Sprintf("%x%s", sha256.Sum256([]byte(dir)), nestedSuffix) // the same name for all ranks
	_ = os.Symlink("\n"+dir, filepath.Join(d.Recordings(), name))
}

// NestedRuns returns the directories of nested runs, from the notes.
func (d Dir) NestedRuns() []string {
	entries, _ := os.ReadDir(d.Recordings())
	var dirs []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), nestedSuffix) {
			continue
		}
		text, err := os.Readlink(filepath.Join(d.Recordings(), e.Name()))
		if dir, ok := strings.CutPrefix(text, "\n"); err == nil && ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
