package run

import "fmt"

// jobNames assigns names to jobs that the launcher gave the same name.
type jobNames struct {
	name  string
	n     int          // number of earlier jobs
	ranks map[int]bool // ranks of the current job
}

// add returns the name of the job to which the next process belongs. A process
// that ended before it knew its rank has rank -1; a job may have many of these.
func (r *jobNames) add(rank int) string {
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
