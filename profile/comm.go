package profile

import "strings"

// Comm is a communicator as one process saw it.
type Comm struct {
	ID          string // 32 hex digits, the same on every member
	Name        string // MPI_COMM_WORLD, or what MPI_Comm_set_name gave; may be empty
	Constructor string // the call that made it: "Comm_split"; empty for predefined ones
	Parent      int32  // index into Profile.Comms, -1 if none
	Inter       bool
	Rank        int   // own rank in the local group
	Members     Group // world ranks of the local group, in rank order
	Remote      Group // of the remote group, for an intercommunicator
	// Edges are the outgoing neighbours of the topology, as ranks in the
	// communicator or PeerProcNull, in the order of the neighbour
	// collectives. Nil where none was used.
	Edges  []int32
	Freed  bool
	Found  bool   // met in a call, its making was not seen: members may not agree on its id
	Fold   string // the same for all of the same making, see Unify
	Folded uint64 // how many later communicators of the same making share this record
}

// Label names the communicator uniquely within a run: its name where MPI
// itself gives one, else what it is called or made by, and the start of its
// id, which all members agree on.
func (c *Comm) Label() string {
	switch {
	case c.Constructor == "" && c.Name != "":
		return c.Name
	case c.Name != "":
		return c.Name + "#" + c.shortID()
	case c.Constructor != "":
		return c.Constructor + "#" + c.shortID()
	}
	return "comm#" + c.shortID()
}

func (c *Comm) shortID() string {
	if len(c.ID) > 8 {
		return c.ID[:8]
	}
	return c.ID
}

// Called reports whether people may call the communicator so: its name, its
// label, or how its id begins, from 4 digits on.
func (c *Comm) Called(name string) bool {
	const digits = 4
	return name != "" && (name == c.Name || name == c.Label()) || len(name) >= digits && strings.HasPrefix(c.ID, strings.ToLower(name))
}

// Peers is the group that the communicator's peers are ranks of: the remote
// group of an intercommunicator, else the members.
func (c *Comm) Peers() Group {
	if c.Inter {
		return c.Remote
	}
	return c.Members
}

// WorldRank translates a rank that a row has as its peer. It returns one of
// the Peer constants, all negative, where there is no world rank.
func (c *Comm) WorldRank(peer int32) int {
	if peer < 0 {
		return int(peer)
	}
	g := c.Peers()
	if int(peer) >= g.Len() {
		return PeerLost
	}
	return g.At(int(peer))
}

// WorldRank translates a peer of the communicator at an index of p.Comms, as
// Comm.WorldRank does. It returns PeerLost if there is no such communicator.
func (p *Profile) WorldRank(comm, peer int32) int {
	if comm < 0 || int(comm) >= len(p.Comms) {
		return PeerLost
	}
	return p.Comms[comm].WorldRank(peer)
}

// FanOut is how many messages one operation of the given spread sends.
func (c *Comm) FanOut(s Spread) int {
	switch s {
	case ToPeer:
		return 1
	case ToOthers, ToVector:
		if c.Inter {
			return c.Remote.Len()
		}
		return max(c.Members.Len()-1, 0)
	case ToHigher:
		return max(c.Members.Len()-1-c.Rank, 0)
	case ToEdges, ToEdgeVector:
		n := 0
		for _, e := range c.Edges {
			if c.leaves(e) {
				n++
			}
		}
		return n
	}
	return 0
}

// leaves tells whether what goes along an edge leaves the process: an edge may
// end at MPI_PROC_NULL, or at the process itself.
func (c *Comm) leaves(edge int32) bool { return edge >= 0 && int(edge) != c.Rank }

// Group is an ordered list of world ranks; strided ones take no room.
type Group struct {
	Base, Stride, N int     // Base, Base+Stride, ... : used where List is nil
	List            []int32 // PeerElsewhere for a process of another world
}

// Len is the number of members.
func (g Group) Len() int {
	if g.List != nil {
		return len(g.List)
	}
	return g.N
}

// At is the world rank of member i.
func (g Group) At(i int) int {
	if g.List != nil {
		return int(g.List[i])
	}
	return g.Base + i*g.Stride
}

// Ranks lists the members.
func (g Group) Ranks() []int {
	out := make([]int, g.Len())
	for i := range out {
		out[i] = g.At(i)
	}
	return out
}
