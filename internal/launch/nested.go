package launch

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// nestedSuffix ends the name of a note about a `mpitrace run` that the command of
// a run started: a symbolic link to "\n" and the directory that it records into,
// among the recordings of the outer run. What is recorded there is not missing.
const nestedSuffix = ".nested"

// NoteNested tells the run that started this process, if one did, that dir has the
// recordings of what this one runs. A directory that cannot be written to is no
// reason not to run the program.
func NoteNested(dir string) {
	outer := os.Getenv(EnvDir)
	if outer == "" || outer == dir {
		return
	}
	name := fmt.Sprintf("%x%s", sha256.Sum256([]byte(dir)), nestedSuffix) // one for all ranks
	_ = os.Symlink("\n"+dir, filepath.Join(outer, "recordings", name))
}

// NestedRuns returns the directories that runs inside a run recorded into, from
// the notes among its recordings.
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
