package rundir

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// Jobs sorts profiles into jobs, ordered by their start. It changes Run where
// that does not tell jobs apart.
func Jobs(ps []*profile.Profile) []*aggregate.Job {
	separate(ps)
	return aggregate.Jobs(ps)
}

// separate makes Run differ for each job. Launchers use names again, and some
// give none: a rank that comes a second time is one of another job.
func separate(ps []*profile.Profile) {
	ps = slices.Clone(ps)
	slices.SortStableFunc(ps, func(a, b *profile.Profile) int { return cmp.Compare(a.Start, b.Start) })
	jobs := map[string]*runs{} // by the launcher's name
	for _, p := range ps {
		if jobs[p.Run] == nil {
			jobs[p.Run] = &runs{name: p.Run, ranks: map[int]bool{}}
		}
		p.Run = jobs[p.Run].add(p.Rank)
	}
}

// runs numbers the jobs of one name.
type runs struct {
	name  string
	n     int          // jobs before this one
	ranks map[int]bool // of the latest
}

// add is the name of the job that the next process belongs to. Processes that
// ended before they knew their rank have -1, and there may be many.
func (r *runs) add(rank int) string {
	if rank >= 0 && r.ranks[rank] {
		r.n++
		clear(r.ranks)
	}
	r.ranks[rank] = true
	switch {
	case r.n == 0 && r.name != "":
		return r.name
	case r.name == "":
		return fmt.Sprintf("job%d", r.n+1)
	}
	return fmt.Sprintf("%s-%d", r.name, r.n+1)
}
