package matrix

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Ranks collects which ranks of a job have recordings, and on which nodes they ran.
// The zero value is empty.
type Ranks struct {
	size  int                 // number of ranks in MPI_COMM_WORLD, as far as it is known
	ranks []rankRecord        // by rank, of those below mostDense
	more  map[int]*rankRecord // the others, which only unusual input has
	names []string            // of nodes, by rankRecord.host - 1
	hosts map[string]int32    // index in names, plus 1
}

// rankRecord is what is known of a rank.
type rankRecord struct {
	recordings int32
	host       int32 // index in names plus 1, 0 if it is not known
}

// mostDense limits the memory that a large rank in a damaged file can require.
const mostDense = 1 << 23

// Add adds the rank of a profile.
func (r *Ranks) Add(p *profile.Profile) {
	r.size = max(r.size, p.Size, p.Rank+1)
	if p.Rank >= 0 {
		r.enter(p.Rank, 1, p.Host)
	}
}

// AddSender adds a rank that is the sender in lines of a .prof file. If it is called
// once per file and rank, Duplicated returns the ranks that are in several files.
func (r *Ranks) AddSender(rank int) {
	r.AddRank(rank)
	r.enter(rank, 1, "")
}

// AddRank makes the job large enough to include the rank. It is for ranks that
// have no recording but that others mention.
func (r *Ranks) AddRank(rank int) { r.size = max(r.size, rank+1) }

func (r *Ranks) enter(rank, recordings int, host string) {
	at := r.record(rank)
	at.recordings += int32(recordings)
	if host == "" || at.host != 0 && r.names[at.host-1] <= host { // independent of the order
		return
	}
	if r.hosts == nil {
		r.hosts = map[string]int32{}
	}
	known, ok := r.hosts[host]
	if !ok {
		r.names = append(r.names, host)
		known = int32(len(r.names))
		r.hosts[host] = known
	}
	at.host = known
}

// record returns the record of a rank, which it makes if necessary.
func (r *Ranks) record(rank int) *rankRecord {
	if rank < mostDense {
		if n := rank + 1 - len(r.ranks); n > 0 {
			r.ranks = slices.Grow(r.ranks, n)[:rank+1]
		}
		return &r.ranks[rank]
	}
	if r.more == nil {
		r.more = map[int]*rankRecord{}
	}
	if r.more[rank] == nil {
		r.more[rank] = new(rankRecord)
	}
	return r.more[rank]
}

// each visits the ranks that have recordings, in ascending order.
func (r *Ranks) each(visit func(rank int, at rankRecord)) {
	for rank, at := range r.ranks {
		if at.recordings > 0 {
			visit(rank, at)
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(r.more)) {
		visit(rank, *r.more[rank])
	}
}

// Merge adds all of o.
func (r *Ranks) Merge(o *Ranks) {
	r.size = max(r.size, o.size)
	o.each(func(rank int, at rankRecord) {
		host := ""
		if at.host > 0 {
			host = o.names[at.host-1]
		}
		r.enter(rank, int(at.recordings), host)
	})
}

// Size returns the number of ranks of the job: the size of MPI_COMM_WORLD if it is
// known, and more than the largest rank that was added.
func (r *Ranks) Size() int { return r.size }

// Recorded returns the ranks that have recordings, in ascending order.
func (r *Ranks) Recorded() []int {
	out := make([]int, 0, len(r.ranks)+len(r.more))
	r.each(func(rank int, _ rankRecord) { out = append(out, rank) })
	return out
}

// Duplicated returns the ranks that have more than one recording, a sign that the
// recordings are from several runs.
func (r *Ranks) Duplicated() []int {
	twice := []int{}
	r.each(func(rank int, at rankRecord) {
		if at.recordings > 1 {
			twice = append(twice, rank)
		}
	})
	return twice
}

// Missing returns the ranks of the job that have no recording.
func (r *Ranks) Missing() profile.RankSet {
	return profile.RankSetOf(r.Recorded()...).Complement(r.size)
}

// Hosts returns the names of the nodes, in the order of their lowest ranks. of returns
// the index of a rank's node in names, -1 if it is not known.
func (r *Ranks) Hosts() (names []string, of func(rank int) int) {
	index := make([]int32, len(r.names)+1) // in the result plus 1, by rankRecord.host
	r.each(func(_ int, at rankRecord) {
		if at.host > 0 && index[at.host] == 0 {
			names = append(names, r.names[at.host-1])
			index[at.host] = int32(len(names))
		}
	})
	return names, func(rank int) int {
		switch {
		case rank < 0:
			return -1
		case rank < len(r.ranks):
			return int(index[r.ranks[rank].host]) - 1
		case r.more[rank] != nil:
			return int(index[r.more[rank].host]) - 1
		}
		return -1
	}
}
