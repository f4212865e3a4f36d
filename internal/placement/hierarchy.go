package placement

import "slices"

// A hierarchy is what the search needs of a topology: the levels that make a difference
// for some pair of slots. Domains of its lowest level are called blocks: it does not
// matter which slot of its block a rank has.
type hierarchy struct {
	distance []int64   // by level
	first    [][]int32 // by level and domain: its first slot; a last entry is the number of slots
	child    [][]int32 // by level and domain: its first domain of the level below; one more entry at the end
	ancestor []int32   // by block and level: the domain it is in
	blockAt  []int32   // by slot: its block
	apart    []int64   // by two blocks: their distance; nil if there are many blocks
}

// mostApart is the largest number of blocks of which all distances are kept, in 2 MiB.
const mostApart = 512

// newHierarchy leaves out levels whose domains have one slot, are those of the level
// below, or are as far from each other as their slots are.
func newHierarchy(t *Topology) *hierarchy {
	h := &hierarchy{}
	var kept [][]int32
	for i, l := range t.Levels {
		count := int(l.Domain[len(l.Domain)-1]) + 1
		if count == len(t.Slots) && i < len(t.Levels)-1 {
			continue // no two slots have this distance
		}
		if n := len(kept); n > 0 && int(kept[n-1][len(t.Slots)-1])+1 == count {
			continue
		}
		if n := len(kept); n > 0 && h.distance[n-1] == l.Distance {
			kept[n-1] = l.Domain
			continue
		}
		kept, h.distance = append(kept, l.Domain), append(h.distance, l.Distance)
	}
	h.blockAt = kept[0]
	for i, domain := range kept {
		h.first = append(h.first, firsts(domain))
		var inner []int32 // the domain of each domain of the level below
		for d := 0; i > 0 && d < h.domains(i-1); d++ {
			inner = append(inner, domain[h.first[i-1][d]])
		}
		h.child = append(h.child, firsts(inner))
	}
	for _, slot := range h.first[0][:h.blocks()] {
		for _, domain := range kept {
			h.ancestor = append(h.ancestor, domain[slot])
		}
	}
	if n := int32(h.blocks()); n <= mostApart {
		h.apart = make([]int64, n*n)
		for i := range h.apart {
			h.apart[i] = h.between(int32(i)/n, int32(i)%n)
		}
	}
	return h
}

// firsts returns the index of the first entry of each value, and the number of entries.
// Values ascend from 0 without gaps.
func firsts(domain []int32) []int32 {
	var first []int32
	for i, d := range domain {
		if int(d) == len(first) {
			first = append(first, int32(i))
		}
	}
	return append(first, int32(len(domain)))
}

func (h *hierarchy) levels() int { return len(h.distance) }
func (h *hierarchy) blocks() int { return h.domains(0) }
func (h *hierarchy) slots() int  { return int(h.first[0][h.blocks()]) }

func (h *hierarchy) domains(level int) int { return len(h.first[level]) - 1 }

// capacity returns how many slots a domain has.
func (h *hierarchy) capacity(level int, domain int32) int {
	return int(h.first[level][domain+1] - h.first[level][domain])
}

// between returns the distance of ranks in two blocks.
func (h *hierarchy) between(a, b int32) int64 {
	n := int32(len(h.distance))
	for l := int32(0); l < n; l++ {
		if h.ancestor[a*n+l] == h.ancestor[b*n+l] {
			return h.distance[l]
		}
	}
	return h.distance[n-1]
}

// order returns an order that has each rank in its block.
func (h *hierarchy) order(block []int32) Order {
	next := slices.Clone(h.first[0])
	o := make(Order, len(block))
	for r, b := range block {
		o[r] = next[b]
		next[b]++
	}
	return o
}
