package mpit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose"
)

// Change is a control variable whose value is not its default.
type Change struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"` // empty if the library has no such variable by default
}

// keptChanges is an answer, and what it holds for.
type keptChanges struct {
	Environment string    `json:"environment"` // its hash, as far as it sets cvars
	Files       []keyFile `json:"files"`
	Changes     []Change  `json:"changes"`
}

// keyFile is a parameter file as it was; Size is -1 if there was none.
type keyFile struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mod_time"` // Unix ns
}

func keyFileOf(path string) keyFile {
	info, err := os.Stat(path)
	if err != nil {
		return keyFile{path, -1, 0}
	}
	return keyFile{path, info.Size(), info.ModTime().UnixNano()}
}

// ChangedHere are the cvars that differ from their defaults for a program that is
// started here: by the environment, and by Open MPI's parameter files. The latest
// answer is kept, and holds as long as these stay the same, since asking takes Open
// MPI a third of a second.
func ChangedHere(ctx context.Context, o interpose.BuildOptions) ([]Change, error) {
	lister, err := interpose.BuildLister(ctx, o)
	if err != nil {
		return nil, err
	}
	path, environment := lister+".changed", environmentKey(os.Environ())
	if kept, ok := readKept(path); ok && kept.Environment == environment {
		return kept.Changes, nil
	}
	defaults, err := Defaults(ctx, o)
	if err != nil {
		return nil, err
	}
	here, err := Read(ctx, Options{Build: o})
	if err != nil {
		return nil, err
	}
	kept := keptChanges{Environment: environment, Files: parameterFiles(here), Changes: []Change{}}
	for _, v := range Changed(here, defaults) {
		kept.Changes = append(kept.Changes, Change{v.Name, strings.Join(v.Values, ","), strings.Join(v.Default, ",")})
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = store(path, text)
	}
	if err != nil {
		return nil, fmt.Errorf("keep what is set of the MPI's variables: %w", err)
	}
	return kept.Changes, nil
}

// readKept is false for what does not hold any more.
func readKept(path string) (kept keptChanges, ok bool) {
	text, err := atomicfile.Read(path, maxKept)
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return kept, false
	}
	return kept, !slices.ContainsFunc(kept.Files, func(f keyFile) bool { return keyFileOf(f.Path) != f })
}

// environmentKey tells environments apart that set cvars in different ways.
func environmentKey(env []string) string {
	clean := cleaned(env)
	var set []string
	for _, variable := range env {
		if !slices.Contains(clean, variable) {
			set = append(set, variable)
		}
	}
	slices.Sort(set)
	sum := sha256.Sum256([]byte(strings.Join(set, "\x00")))
	return hex.EncodeToString(sum[:])
}

// parameterFiles are those that Open MPI says it reads.
func parameterFiles(l *List) []keyFile {
	files := []keyFile{}
	for _, name := range []string{"mca_base_param_files", "mca_base_override_param_file"} {
		v, err := l.CVar(name)
		if err != nil {
			continue
		}
		for _, path := range strings.FieldsFunc(strings.Join(v.Values, ","), func(c rune) bool { return c == ',' || c == ':' }) {
			files = append(files, keyFileOf(path))
		}
	}
	return files
}
