package profile

// Unify gives communicators that were made over and over one id on all members.
//
// A process shares the record of a freed communicator with the next one of the
// same making, but which was freed first may differ from process to process:
// some then have one record where others have several. So where any of them
// shared, all communicators of that making are one, under its fold id. The
// profiles must be of one run; calling it again changes nothing.
func Unify(ps []*Profile) {
	shared := map[string]bool{}
	for _, p := range ps {
		for i := range p.Comms {
			if c := &p.Comms[i]; c.Folded > 0 && c.Fold != "" {
				shared[c.Fold] = true
			}
		}
	}
	if len(shared) == 0 {
		return
	}
	for _, p := range ps {
		for i := range p.Comms {
			if c := &p.Comms[i]; shared[c.Fold] {
				c.ID = c.Fold
			}
		}
	}
}
