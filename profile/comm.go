package profile

import "strings"

// Comm is a communicator as one process recorded it.
type Comm struct {
	ID          string // 32 hex digits, the same on every member
	Name        string // "MPI_COMM_WORLD", or the name that MPI_Comm_set_name gave; may be empty
	Constructor string // call that created it, as "Comm_split"; empty for predefined ones
	Parent      int32  // index into Profile.Comms, -1 if none
	Inter       bool
	Rank        int   // own rank in the local group
	Members     Group // world ranks of the local group, in rank order
	Remote      Group // world ranks of an intercommunicator's remote group
	// Edges are the outgoing neighbours of the topology, in the order of the
	// neighbourhood collectives: ranks in the communicator, or PeerProcNull.
	// Nil if no neighbourhood collective was called.
	Edges  []int32
	Freed  bool
	Found  bool   // first seen in a call, its constructor was not recorded: the ids may differ between members
	Fold   string // id shared by all communicators of the same parent and constructor, see Unify
	Folded uint64 // number of later communicators that share this record
}

// Label returns a name that is unique within a run. A predefined communicator
// has its MPI name. Any other has its name, or else its constructor, followed
// by the start of its id, which is the same on all members.
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

// Called reports whether name denotes the communicator: its name, its label, or
// at least the first 4 digits of its id.
func (c *Comm) Called(name string) bool {
	const digits = 4
	return name != "" && (name == c.Name || name == c.Label()) || len(name) >= digits && strings.HasPrefix(c.ID, strings.ToLower(name))
}

// Peers returns the group that Row.Peer refers to: the remote group of an
// intercommunicator, otherwise the members.
func (c *Comm) Peers() Group {
	if c.Inter {
		return c.Remote
	}
	return c.Members
}

// WorldRank returns the world rank of a row's peer. If the peer has no world
// rank, it returns a Peer constant, which is negative.
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

// WorldRank returns the world rank of a peer in the communicator with index
// comm in p.Comms, as Comm.WorldRank does. It returns PeerLost if there is no
// such communicator.
func (p *Profile) WorldRank(comm, peer int32) int {
	if comm < 0 || int(comm) >= len(p.Comms) {
		return PeerLost
	}
	return p.Comms[comm].WorldRank(peer)
}

// FanOut returns the number of messages that one operation with the given
// spread sends.
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

// leaves reports whether data sent along an edge leaves the process. It does
// not if the edge ends at MPI_PROC_NULL or at the process itself.
func (c *Comm) leaves(edge int32) bool { return edge >= 0 && int(edge) != c.Rank }

// Group is an ordered list of world ranks. A group with a constant stride needs
// no list.
type Group struct {
	Base   int     `json:"base,omitempty"` // the ranks Base, Base+Stride, ..., used if List is nil
	Stride int     `json:"stride,omitempty"`
	N      int     `json:"n,omitempty"`
	List   []int32 `json:"list,omitzero"` // has PeerElsewhere for a process of another world
}

// Len returns the number of members.
func (g Group) Len() int {
	if g.List != nil {
		return len(g.List)
	}
	return g.N
}

// At returns the world rank of member i.
func (g Group) At(i int) int {
	if g.List != nil {
		return int(g.List[i])
	}
	return g.Base + i*g.Stride
}

// Ranks returns the world ranks of all members.
func (g Group) Ranks() []int {
	out := make([]int, g.Len())
	for i := range out {
		out[i] = g.At(i)
	}
	return out
}
