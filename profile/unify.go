package profile

// Folds is the set of Comm.Fold ids whose communicators share records.
//
// A program may create and free communicators in the same way many times. A
// process then uses the record of a freed communicator for the next one of the
// same parent and constructor. Processes may free them in different orders, so
// some have one record where others have several. If any process shares a
// record, all communicators with that Fold id therefore become one.
type Folds map[string]bool

// Note adds the Fold ids that share records in a profile. Call it for all
// profiles of a run before Unify is called for any.
func (f *Folds) Note(p *Profile) {
	for i := range p.Comms {
		if c := &p.Comms[i]; c.Folded > 0 && c.Fold != "" {
			f.Add(c.Fold)
		}
	}
}

// Add adds Fold ids that share records.
func (f *Folds) Add(ids ...string) {
	for _, id := range ids {
		if *f == nil {
			*f = Folds{}
		}
		(*f)[id] = true
	}
}

// Unify replaces the ids of the profile's communicators by their Fold ids if
// those share records. Calling it again changes nothing.
func (f Folds) Unify(p *Profile) {
	if len(f) == 0 {
		return
	}
	for i := range p.Comms {
		if c := &p.Comms[i]; f[c.Fold] {
			c.ID = c.Fold
		}
	}
}

// Unify unifies the communicators of all profiles of one run.
func Unify(ps []*Profile) {
	var f Folds
	for _, p := range ps {
		f.Note(p)
	}
	for _, p := range ps {
		f.Unify(p)
	}
}
