package run

import "fmt"

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
