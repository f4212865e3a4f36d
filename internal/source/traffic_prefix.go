package source

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// phase is the .prof files of one phase, or those without a phase.
type phase struct {
	prefix string // path
	number uint64
	ranks  []ranked
}

type ranked struct {
	path string
	rank uint64
}

// loadPrefix reads the files with a prefix. Each phase is a job.
//
// Open MPI's aggregate_profile merges the files of a phase too, but its pattern
// phase_1* also matches phases 10 to 19, and it leaves out phase 0. loadPrefix
// does neither.
func (in *TrafficReader) loadPrefix(prefix string) error {
	phases, err := findPhases(prefix)
	if err != nil {
		return err
	}
	if len(phases) > 1 {
		// Each phase needs little memory, so frequent garbage collection is
		// cheap, and lets the next phase reuse the memory.
		debug.SetGCPercent(25)
	}
	for _, p := range phases {
		paths := make([]string, len(p.ranks))
		for i, r := range p.ranks {
			paths[i] = r.path
		}
		if err := in.loadProf(p.prefix, paths); err != nil {
			return err
		}
	}
	return nil
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
		rank, _ := strconv.ParseUint(match[3], 10, 64)
		p.ranks = append(p.ranks, ranked{filepath.Join(dir, e.Name()), rank})
	}
	if len(found) == 0 {
		return nil, rundir.InputErrorf("%s: no such file or directory, and no prefix of files %s.<rank>.prof or %s_<phase>.<rank>.prof", prefix, base, base)
	}
	var out []*phase
	for _, p := range found {
		slices.SortFunc(p.ranks, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *phase) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.prefix, b.prefix))
	})
	return out, nil
}
