package placement

// A problem is a traffic and a topology as the search needs them.
type problem struct {
	h      *hierarchy
	g      *graph          // the pairs, and the groups that are small
	search *graph          // g and edges that stand for the other groups
	groups []WeightedGroup // that are not in g
	scale  float64         // by which the weights of g are smaller than the volumes
}

// maxWeight bounds the sum of the weights of a graph, so that its product with twice
// maxDistance fits into 64 bits.
const maxWeight = 1 << 51

// maxClique is the number of members up to which a group becomes edges.
const maxClique = 24

// maxCounts bounds the memory of the counts of groups, see groupCounts: more groups are
// approximated by edges, in the search only.
const maxCounts = 1 << 23

func newProblem(t *Topology, traffic *RankTraffic) *problem {
	p := &problem{h: newHierarchy(t)}
	var edges []edge
	for r := range traffic.Ranks {
		for i := traffic.Start[r]; i < traffic.Start[r+1]; i++ {
			if peer := traffic.Column[i]; int(peer) > r && traffic.Value[i] > 0 {
				edges = append(edges, edge{int32(r), peer, float64(traffic.Value[i])})
			}
		}
	}
	var standIns []edge
	full := traffic.Ranks == len(t.Slots)
	for i := range traffic.Groups {
		group := &traffic.Groups[i]
		switch {
		case full && group.uniform(traffic.Ranks): // each order costs the same
		case len(group.Members) <= maxClique:
			edges = append(edges, group.clique()...)
		case (len(p.groups)+1)*p.h.blocks() > maxCounts:
			edges = append(edges, group.standIn()...)
		default:
			standIns = append(standIns, group.standIn()...)
			p.groups = append(p.groups, *group)
		}
	}
	total := 0.0
	for _, e := range edges {
		total += e.weight
	}
	for _, e := range standIns {
		total += e.weight
	}
	p.scale = min(1, maxWeight/max(1, total))
	p.g = newGraph(traffic.Ranks, edges, p.scale)
	p.search = p.g
	if len(standIns) > 0 {
		p.search = newGraph(traffic.Ranks, append(edges, standIns...), p.scale)
	}
	return p
}

// blocks returns the block of each rank of an order.
func (p *problem) blocks(o Order) []int32 {
	block := make([]int32, len(o))
	for r, s := range o {
		block[r] = p.h.blockAt[s]
	}
	return block
}
