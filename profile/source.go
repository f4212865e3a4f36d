package profile

// Source gives the profiles of a run one after the other, and again each time
// that it is asked, so that a job of any size takes the memory of a few of its
// processes.
type Source interface {
	// Each calls f with each process, one call at a time, ordered by run and
	// rank. What f is given is its own. The error is the first of f, which ends
	// the walk, or one of reading.
	Each(f func(*Profile) error) error
}

// List is a Source of profiles that are in memory, in the order that they are in.
type List []*Profile

// Each implements Source.
func (l List) Each(f func(*Profile) error) error {
	for _, p := range l {
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}
