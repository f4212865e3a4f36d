package source

import "github.com/mpitrace/mpitrace/profile"

// reading is what was read of a recording: its profile, its damage, or both.
type reading struct {
	p      *profile.Profile
	damage error
}

// EachOf calls f with the processes first to end of the run, in the order of jobs and
// ranks: with the profile, which is nil if the recording cannot be read, and the damage.
// With ahead, it reads several recordings at a time.
func (r *Run) EachOf(first, end int, ahead bool, f func(p *profile.Profile, damage error) error) error {
	for _, j := range r.Jobs {
		n := len(j.Members)
		if from, to := max(first, 0), min(end, n); from < to {
			if err := j.eachReading(j.Members[from:to], ahead, f); err != nil {
				return err
			}
		}
		first, end = first-n, end-n
	}
	return nil
}

func (j *Job) eachReading(members []member, ahead bool, f func(*profile.Profile, error) error) error {
	names := j.Within.names()
	read := func(i int) (in reading) {
		in.p, in.damage = members[i].read(j.Within.Home)
		return in
	}
	use := func(_ int, in reading) error {
		if in.p != nil {
			in.p.Physical = j.Within.physicalOf(in.p)
			if err := j.complete(in.p, names); err != nil {
				return err
			}
			in.damage = damageOf(in.p)
		}
		return f(in.p, in.damage)
	}
	if ahead {
		return profile.ReadAhead(len(members), 1, func(i int, give func(reading) error) error { return give(read(i)) }, use)
	}
	for i := range members {
		if err := use(i, read(i)); err != nil {
			return err
		}
	}
	return nil
}

// Began returns when the first process of a job began MPI_Init, in Unix ns; 0 if it is not
// known of any.
func (j *Job) Began() int64 {
	var first int64
	for i := range j.Members {
		if start := j.Members[i].start; start != 0 && (first == 0 || start < first) {
			first = start
		}
	}
	return first
}
