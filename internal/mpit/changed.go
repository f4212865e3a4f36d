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

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose"
)

// ChangedCVar is a control variable whose value is not its default.
type ChangedCVar struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"` // empty if the variable does not exist by default
}

// keptChanges is a cached answer, with everything that it depends on.
type keptChanges struct {
	Environment string        `json:"environment"` // hash of the environment variables that set cvars
	Files       []keyFile     `json:"files"`
	Changes     []ChangedCVar `json:"changes"`
}

// keyFile is the state of a parameter file. Size is -1 if the file did not
// exist.
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

// ChangedHere returns the cvars that differ from their defaults in a program
// that is started here, because of the environment or of Open MPI's parameter
// files. It caches the latest answer and uses it while these stay the same,
// because Open MPI takes a third of a second to answer.
func ChangedHere(ctx context.Context, o interpose.BuildOptions) ([]ChangedCVar, error) {
	lister, err := interpose.BuildLister(ctx, o)
	if err != nil {
		return nil, err
	}
	path, environment := lister+".changed", environmentKey(os.Environ())
	if kept, ok := readKept(path); ok && kept.Environment == environment {
		return kept.Changes, nil
	}
	var defaults, here *Catalogue
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		defaults, err = Defaults(ctx, o)
		return err
	})
	group.Go(func() (err error) {
		here, err = Read(ctx, Options{Build: o})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	kept := keptChanges{Environment: environment, Files: parameterFiles(here), Changes: []ChangedCVar{}}
	for _, v := range Changed(here, defaults) {
		kept.Changes = append(kept.Changes, ChangedCVar{v.Name, strings.Join(v.Values, ","), strings.Join(v.Default, ",")})
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = atomicfile.WriteContent(path, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("save the values of the MPI's variables: %w", err)
	}
	return kept.Changes, nil
}

// readKept reads the cached answer. ok is false if it is no longer valid.
func readKept(path string) (kept keptChanges, ok bool) {
	text, err := atomicfile.Read(path, maxKept)
	if err != nil || json.Unmarshal(text, &kept) != nil {
		return kept, false
	}
	return kept, !slices.ContainsFunc(kept.Files, func(f keyFile) bool { return keyFileOf(f.Path) != f })
}

// environmentKey returns a hash of the environment variables that set cvars.
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

// parameterFiles returns the parameter files that Open MPI reads, as its
// variables name them.
func parameterFiles(l *Catalogue) []keyFile {
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
