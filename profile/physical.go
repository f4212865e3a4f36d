package profile

// Physical is what the MPI library says that it sent: the messages behind
// point-to-point calls and collectives, where the rows have the logical volume
// that the program asked for. It is in no row and in no sum over rows.
type Physical struct {
	// Flows go to processes of the own world: External ones carried what the
	// program sent point to point, Internal ones are the library's own. They are
	// sorted as a Traffic's; an Internal one has a histogram where the pair has no
	// External one.
	Flows []Flow
	// Unknown is why nothing is known of this process; empty if all is.
	Unknown string
}

// internal are the flows that a .prof file has of it beside the External ones
// that are the program's own: a histogram stands with these, if there are any.
func (p *Physical) internal(external map[int]bool) []Flow {
	if p == nil {
		return nil
	}
	var out []Flow
	for _, f := range p.Flows {
		if f.Kind != Internal {
			continue
		}
		if external[f.To] {
			f.Histogram = nil
		}
		out = append(out, f)
	}
	return out
}
