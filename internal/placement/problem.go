package placement

// A problem is the traffic and the topology in the form that the search needs.
type problem struct {
	h *hierarchy
	// g has an edge for each pair of ranks that exchange data. For a group, as of a collective, it has
	// either an edge for each pair of members, or fewer edges that stand for all of these.
	g *graph
}

// maxWeight limits the sum of the weights of a graph, so that its product with twice maxDistance
// fits into 64 bits.
const maxWeight = 1 << 51

// maxClique is the number of members up to which all pairs of a group become edges.
const maxClique = 24

func newProblem(t *Topology, traffic *RankTraffic) *problem {
	var edges []edge
	for r := range traffic.Ranks {
		for i := traffic.Start[r]; i < traffic.Start[r+1]; i++ {
			if peer := traffic.Column[i]; int(peer) > r && traffic.Value[i] > 0 {
				edges = append(edges, edge{int32(r), peer, float64(traffic.Value[i])})
			}
		}
	}
	full := traffic.Ranks == len(t.Slots)
	for i := range traffic.Groups {
		group := &traffic.Groups[i]
		switch {
		case full && group.uniform(traffic.Ranks): // each order costs the same
		case len(group.Members) <= maxClique:
			edges = append(edges, group.clique()...)
		default:
			edges = append(edges, group.standIn()...)
		}
	}
	total := 0.0
	for _, e := range edges {
		total += e.weight
	}
	return &problem{newHierarchy(t), newGraph(traffic.Ranks, edges, min(1, maxWeight/max(1, total)))}
}

// blocks returns the block of each rank of an order.
func (p *problem) blocks(o Order) []int32 {
	block := make([]int32, len(o))
	for r, s := range o {
		block[r] = p.h.blockAt[s]
	}
	return block
}
