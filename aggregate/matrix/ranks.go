package matrix

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Roster is which processes of a job were met, and where they ran.
type Ranks struct {
	size       int         // of the world, as far as it is known
	recordings map[int]int // how many recordings there are of each rank
	host       map[int]string
}

// Add enters a process.
func (r *Ranks) Add(p *profile.Profile) {
	r.size = max(r.size, p.Size, p.Rank+1)
	if p.Rank >= 0 {
		r.enter(p.Rank, p.Host)
	}
}

// AddSender enters a rank whose .prof file, or a line of it, was met. Called
// once for each file and rank, it finds ranks that are in several.
func (r *Ranks) AddSender(rank int) {
	r.AddRank(rank)
	r.enter(rank, "")
}

// AddRank enters a rank that others speak of.
func (r *Ranks) AddRank(rank int) { r.size = max(r.size, rank+1) }

func (r *Ranks) enter(rank int, host string) {
	if r.recordings == nil {
		r.recordings, r.host = map[int]int{}, map[int]string{}
	}
	r.recordings[rank]++
	if known := r.host[rank]; host != "" && (known == "" || host < known) { // whichever comes first
		r.host[rank] = host
	}
}

// Merge enters all of o.
func (r *Ranks) Merge(o *Ranks) {
	r.size = max(r.size, o.size)
	for rank, n := range o.recordings {
		r.enter(rank, o.host[rank])
		r.recordings[rank] += n - 1
	}
}

// Size is the number of processes of the job: that of MPI_COMM_WORLD where it
// is known, and at least what the largest rank seen asks for.
func (r *Ranks) Size() int { return r.size }

// Recorded lists the ranks that were met, each once.
func (r *Ranks) Recorded() []int { return slices.Sorted(maps.Keys(r.recordings)) }

// Duplicated lists the ranks that were met several times: a sign that they are
// of several runs.
func (r *Ranks) Duplicated() []int {
	twice := []int{}
	for _, rank := range r.Recorded() {
		if r.recordings[rank] > 1 {
			twice = append(twice, rank)
		}
	}
	return twice
}

// Missing are the ranks of the job that were not met.
func (r *Ranks) Missing() profile.RankSet {
	return profile.RankSetOf(r.Recorded()...).Complement(r.size)
}

// Hosts are the names of the nodes, in the order of their lowest ranks, and the
// index of each rank's node; -1 where it is not known.
func (r *Ranks) Hosts() (names []string, of func(rank int) int) {
	index := map[string]int{}
	for _, rank := range slices.Sorted(maps.Keys(r.host)) {
		name := r.host[rank]
		if _, ok := index[name]; !ok {
			index[name] = len(names)
			names = append(names, name)
		}
	}
	return names, func(rank int) int {
		if name, ok := r.host[rank]; ok {
			return index[name]
		}
		return -1
	}
}
