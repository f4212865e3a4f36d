package trace

// communicator is a communicator over all its members' traces.
type communicator struct {
	id    int32 // index in replay.comms
	label string
	size  int  // members of all groups
	known int  // number of members that have a trace
	gaps  bool // whether some of these traces have gaps
	// unfinished is set if some of the traces end before their process did.
	unfinished bool
	open       map[uint32]*instance // collectives under way, by their number
	beyond     uint32               // number of collectives that cannot be matched
	topology   *topology            // nil if no member has neighbours
	rma        *rma                 // set for a window, which has the members and the name of its communicator
}

// membership is the state of one process in a communicator.
type membership struct {
	in     *communicator
	rank   int32
	called uint32 // number of collectives so far
}

// enter adds the process to its communicators. Communicators are identified by
// their ids, on which all members agree.
func (r *replay) enter(p *replayedRank) {
	for _, c := range p.trace.Comms {
		name := c.ID
		if name == "" {
			name = c.Label
		}
		in := r.commOf[name]
		if in == nil {
			in = &communicator{id: int32(len(r.comms)), label: c.Label, size: c.Size + c.Remote, open: map[uint32]*instance{}}
			r.commOf[name] = in
			r.comms = append(r.comms, in)
		}
		in.known++
		in.gaps = in.gaps || p.trace.Gaps
		in.unfinished = in.unfinished || p.unfinished()
		in.edges(c.Rank, c.Edges)
		p.members = append(p.members, membership{in: in, rank: int32(c.Rank)})
	}
}
