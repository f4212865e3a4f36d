package profile

// Source returns the profiles of a run one after the other. It may be read
// several times. It does not hold all profiles at once, so a job of any size
// needs the memory of only a few processes.
type Source interface {
	// Each calls f with each profile, one at a time, ordered by run and rank. f
	// may keep or change the profile. Each stops at the first error of f and
	// returns it, or returns an error of reading.
	Each(f func(*Profile) error) error
}

// List is a Source of profiles in memory, in their given order.
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

// Parts is a Source that several goroutines can read at a time.
type Parts interface {
	Source
	// EachPart calls f with each profile, in no particular order. At most n calls of f run at a
	// time, each with another number part below n. The rows of a profile are valid until f returns.
	// Otherwise EachPart is like Each.
	EachPart(n int, f func(part int, p *Profile) error) error
}
