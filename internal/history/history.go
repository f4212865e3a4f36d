// Package history computes what many runs show together: how often each
// configuration was run and how much its repetitions differ, how the program
// scales with the number of ranks, and what changed from one version to the
// next. It holds numbers only; internal/views turns them into text and into a
// page.
//
// A Run keeps the sums of one job by call and by call site. The profiles are read
// run by run and not kept.
package history

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
)

// History is the result over all runs.
type History struct {
	Runs           []*PastRun      `json:"runs"`    // by program, arguments, ranks, version and start
	Skipped        []Skipped       `json:"skipped"` // what could not be read
	Configurations []Configuration `json:"configurations"`
	Scaling        []Scaling       `json:"scaling"`
	Evolution      []Evolution     `json:"evolution"`
}

// Skipped is a run that was left out.
type Skipped struct {
	Dir     string `json:"run"`
	Why     string `json:"why"`
	Damaged bool   `json:"damaged"` // false if nothing was recorded
}

// Version tells the versions of a program apart. The MPI library is part of it,
// because an update of the library can change the times as much as an edit of the
// program.
type Version struct {
	BuildID string `json:"version"` // build-id of the executable, of several programs separated by +; empty if not known
	Library string `json:"mpi_library"`
}

// configurationKey identifies the runs that are repetitions of each other: of the same programs,
// arguments, numbers of ranks and versions.
type configurationKey struct {
	programs string // with their arguments
	ranks    string // of each program if there are several; divided by a common divisor if the runs scale
	size     int    // number of ranks; 0 if the runs scale
	version  Version
}

func (r *PastRun) key() configurationKey {
	k := configurationKey{programs: PastPrograms{{Program: r.Program, Arguments: r.Arguments}}.commands(), size: r.Ranks, version: r.Version}
	if r.Programs.Several() {
		k.programs, k.ranks = r.Programs.commands(), r.Programs.ranks(1)
	}
	return k
}

// Rename gives all programs one name, so that they count as versions of one program.
func (h *History) Rename(program string) {
	for _, r := range h.Runs {
		r.Program = program
		for i := range r.Programs {
			r.Programs[i].Program = program
		}
	}
}

// Compare compares the jobs of two runs. A History calls it for the runs with the
// median wall time of two adjacent versions.
type Compare func(a, b *PastRun) (*aggregate.Diff, error)

// Compute sorts the runs and computes everything that needs several of them.
func (h *History) Compute(compare Compare) error {
	h.sort()
	h.Skipped = append([]Skipped{}, h.Skipped...) // [] if there are none
	h.Configurations = configurationsOf(h.Runs)
	h.Scaling = scalingOf(h.Configurations)
	var err error
	h.Evolution, err = evolutionOf(h.Configurations, compare)
	return err
}

// sort sorts the runs. Versions are in the order of their first runs.
func (h *History) sort() {
	first := map[string]int64{} // program and version -> start of its first run
	name := func(r *PastRun) string { return r.Program + "\x00" + r.BuildID + "\x00" + r.Library }
	for _, r := range h.Runs {
		if at, known := first[name(r)]; !known || r.Started.UnixNano() < at {
			first[name(r)] = r.Started.UnixNano()
		}
	}
	h.Runs = slices.SortedFunc(slices.Values(h.Runs), func(a, b *PastRun) int {
		x, y := a.key(), b.key()
		return cmp.Or(cmp.Compare(a.Program, b.Program), slices.Compare(a.Arguments, b.Arguments), cmp.Compare(a.Ranks, b.Ranks),
			cmp.Compare(x.programs, y.programs), cmp.Compare(x.ranks, y.ranks),
			cmp.Compare(first[name(a)], first[name(b)]), cmp.Compare(name(a), name(b)), a.Started.Compare(b.Started),
			cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Job, b.Job))
	})
}
