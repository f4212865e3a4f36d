package trace

// communicator is one as all its members know it.
type communicator struct {
	id    int32 // in replay.comms
	label string
	size  int  // of all groups
	known int  // members that have a trace
	gaps  bool // in some of theirs
	// unfinished tells that some of the traces end before their process did.
	unfinished bool
	open       map[uint32]*instance // collectives under way, by their order
	beyond     uint32               // collectives that cannot be put together
	topology   *topology            // nil if no member has neighbours
	rma        *rma                 // of a window, which has the members and the name of its communicator
}

// membership is a process's in a communicator.
type membership struct {
	in     *communicator
	rank   int32
	called uint32 // collectives so far
}

// enter makes the process a member of its communicators. They are told apart by
// their ids, on which all members agree.
func (r *replay) enter(p *process) {
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
