package matrix

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Ranks collects which ranks of a job have recordings, and on which nodes they ran.
// The zero value is empty.
type Ranks struct {
	size       int         // number of ranks in MPI_COMM_WORLD, as far as it is known
	recordings map[int]int // number of recordings of each rank
	host       map[int]string
}

// Add adds the rank of a profile.
func (r *Ranks) Add(p *profile.Profile) {
	r.size = max(r.size, p.Size, p.Rank+1)
	if p.Rank >= 0 {
		r.enter(p.Rank, p.Host)
	}
}

// AddSender adds a rank that is the sender in lines of a .prof file. If it is called
// once per file and rank, Duplicated returns the ranks that are in several files.
func (r *Ranks) AddSender(rank int) {
	r.AddRank(rank)
	r.enter(rank, "")
}

// AddRank makes the job large enough to include the rank. It is for ranks that
// have no recording but that others mention.
func (r *Ranks) AddRank(rank int) { r.size = max(r.size, rank+1) }

func (r *Ranks) enter(rank int, host string) {
	if r.recordings == nil {
		r.recordings, r.host = map[int]int{}, map[int]string{}
	}
	r.recordings[rank]++
	if known := r.host[rank]; host != "" && (known == "" || host < known) { // independent of the order
		r.host[rank] = host
	}
}

// Merge adds all of o.
func (r *Ranks) Merge(o *Ranks) {
	r.size = max(r.size, o.size)
	for rank, n := range o.recordings {
		r.enter(rank, o.host[rank])
		r.recordings[rank] += n - 1
	}
}

// Size returns the number of ranks of the job: the size of MPI_COMM_WORLD if it is
// known, and more than the largest rank that was added.
func (r *Ranks) Size() int { return r.size }

// Recorded returns the ranks that have recordings, in ascending order.
func (r *Ranks) Recorded() []int { return slices.Sorted(maps.Keys(r.recordings)) }

// Duplicated returns the ranks that have more than one recording, a sign that the
// recordings are from several runs.
func (r *Ranks) Duplicated() []int {
	twice := []int{}
	for _, rank := range r.Recorded() {
		if r.recordings[rank] > 1 {
			twice = append(twice, rank)
		}
	}
	return twice
}

// Missing returns the ranks of the job that have no recording.
func (r *Ranks) Missing() profile.RankSet {
	return profile.RankSetOf(r.Recorded()...).Complement(r.size)
}

// Hosts returns the names of the nodes, in the order of their lowest ranks. of returns
// the index of a rank's node in names, -1 if it is not known.
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
