package profile

// Physical holds the messages that the MPI library itself reports as sent. They
// implement both point-to-point calls and collectives, whereas rows have the
// logical volume that the program requested. They are in no row and in no sum
// over rows.
type Physical struct {
	// Flows are the messages to processes of the same world, sorted as in
	// Traffic. External flows carried point-to-point messages of the program;
	// Internal flows are the library's own. An Internal flow has a histogram if
	// its pair has no External flow.
	Flows []Flow
	// Unknown is the reason why the flows of this process are not known; empty
	// if they are.
	Unknown string
}

// internal returns the Internal flows for a .prof file. External has the
// destinations of the program's own External flows: if a pair has one, that
// flow has the histogram, and the Internal one has none.
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
