package source

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// openPrefix finds the files <prefix>.<rank>.prof and <prefix>_<phase>.<rank>.prof. Each
// phase is a job.
//
// Open MPI's aggregate_profile merges the files of a phase too, but its pattern
// phase_1* also matches phases 10 to 19, and it leaves out phase 0. openPrefix
// does neither.
func (r *Run) openPrefix(prefix string) error {
	dir, base := filepath.Dir(prefix), filepath.Base(prefix)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	name := regexp.MustCompile("^" + regexp.QuoteMeta(base) + `(_[0-9]{1,18})?\.[0-9]{1,10}\.prof$`)
	var paths []string
	for _, e := range entries {
		if name.MatchString(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	if r.flows.phases = phasesOf(paths); len(paths) == 0 {
		return rundir.InputErrorf("%s: no such file or directory, and no prefix of files %s.<rank>.prof or %s_<phase>.<rank>.prof", prefix, base, base)
	}
	return nil
}

// phasesOf groups .prof files by what is before .<rank>.prof in their names, in the order of
// phases.
func phasesOf(paths []string) (phases []*phase) {
	found := map[string]*phase{}
	for _, path := range paths {
		prefix := strings.TrimSuffix(path, ".prof")
		if match := rankedProf.FindStringSubmatch(path); match != nil {
			prefix = match[1]
		}
		if found[prefix] == nil {
			found[prefix] = &phase{prefix: prefix}
			phases = append(phases, found[prefix])
		}
		found[prefix].paths = append(found[prefix].paths, path)
	}
	for _, p := range phases {
		slices.SortFunc(p.paths, byNumber)
	}
	slices.SortFunc(phases, func(a, b *phase) int { return byNumber(a.prefix, b.prefix) })
	return phases
}

// byNumber compares names that differ in a number only.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
