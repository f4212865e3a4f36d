package profile

// Folds are the communicators of a run that processes made over and over, by
// Comm.Fold.
//
// A process shares the record of a freed communicator with the next one of the
// same making, but which was freed first may differ from process to process:
// some then have one record where others have several. So where any of them
// shared, all communicators of that making are one, under its fold id.
type Folds map[string]bool

// Note takes what the process says of them. All processes of a run are to be
// noted before any is unified.
func (f *Folds) Note(p *Profile) {
	for i := range p.Comms {
		c := &p.Comms[i]
		if c.Folded == 0 || c.Fold == "" {
			continue
		}
		if *f == nil {
			*f = Folds{}
		}
		(*f)[c.Fold] = true
	}
}

// Unify gives the process's communicators of such a making its id. Calling it
// again changes nothing.
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

// Unify does so for all profiles of one run.
func Unify(ps []*Profile) {
	var f Folds
	for _, p := range ps {
		f.Note(p)
	}
	for _, p := range ps {
		f.Unify(p)
	}
}
