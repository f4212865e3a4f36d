package launch

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/internal/run"
)

// nestedSuffix ends the name of a note about a nested run: an `mpitrace run`
// that the command of another run started. The note is a symbolic link among
// the outer run's recordings. Its target is "\n" followed by the directory of
// the nested run. It shows that those recordings are not missing but elsewhere.
const nestedSuffix = ".nested"

// NoteNested writes a note for the outer run, if this process is inside one,
// that dir holds the recordings of the nested run. It ignores errors: the
// program must run even if the outer run's directory is not writable.
func NoteNested(dir string) {
	outer := os.Getenv(EnvDir)
	if outer == "" || outer == dir {
		return
	}
	name := fmt.Sprintf("%x%s", sha256.Sum256([]byte(dir)), nestedSuffix) // the same name for all ranks
	_ = os.Symlink("\n"+dir, filepath.Join(run.Dir(outer).Recordings(), name))
}

// NestedRuns returns the directories of nested runs, from the notes in a
// directory of recordings.
func NestedRuns(recordings string) []string {
	entries, _ := os.ReadDir(recordings)
	var dirs []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), nestedSuffix) {
			continue
		}
		text, err := os.Readlink(filepath.Join(recordings, e.Name()))
		if dir, ok := strings.CutPrefix(text, "\n"); err == nil && ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
