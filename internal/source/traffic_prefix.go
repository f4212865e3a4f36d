package source

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// openPrefix finds the files with a prefix. Each phase is a job.
//
// Open MPI's aggregate_profile merges the files of a phase too, but its pattern
// phase_1* also matches phases 10 to 19, and it leaves out phase 0. openPrefix
// does neither.
func (r *Run) openPrefix(prefix string) (err error) {
	r.flows.phases, err = findPhases(prefix)
	return err
}

// findPhases finds <prefix>.<rank>.prof and <prefix>_<phase>.<rank>.prof.
func findPhases(prefix string) ([]*phase, error) {
	dir, base := filepath.Dir(prefix), filepath.Base(prefix)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	name := regexp.MustCompile("^(" + regexp.QuoteMeta(base) + `(?:_([0-9]{1,18}))?)\.([0-9]{1,10})\.prof$`)
	found := map[string]*phase{}
	for _, e := range entries {
		match := name.FindStringSubmatch(e.Name())
		if match == nil {
			continue
		}
		p := found[match[1]]
		if p == nil {
			p = &phase{prefix: filepath.Join(dir, match[1])}
			p.number, _ = strconv.ParseUint(match[2], 10, 64)
			found[match[1]] = p
		}
		p.paths = append(p.paths, filepath.Join(dir, e.Name()))
	}
	if len(found) == 0 {
		return nil, rundir.InputErrorf("%s: no such file or directory, and no prefix of files %s.<rank>.prof or %s_<phase>.<rank>.prof", prefix, base, base)
	}
	var out []*phase
	for _, p := range found {
		slices.SortFunc(p.paths, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) // by rank
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *phase) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.prefix, b.prefix))
	})
	return out, nil
}
