package placement

import "math/rand/v2"

// A mapping is an order during a local search, which swaps ranks of different blocks, or
// moves them to empty slots.
type mapping struct {
	*problem
	block   []int32 // by rank
	slot    []int32 // by rank
	member  []int32 // by slot: its rank; -1 if empty
	outward []int64 // by rank: the cost of its edges above what it would be in one block

	// The benefit of a block for one rank: what its edges save, compared with all
	// peers as far away as possible. See connect.
	near    [][]int64 // by level and domain: weight of the edges of the rank into it
	touched [][]int32 // by level: domains with an entry in near
	weight  []int64   // by rank: of its edge to the rank
	peers   []int32   // ranks with an entry in weight
}

// newMapping begins with the block of each rank.
func newMapping(p *problem, block []int32) *mapping {
	m := &mapping{
		problem: p, block: block, slot: p.h.order(block), member: make([]int32, p.h.slots()),
		outward: make([]int64, len(block)), near: make([][]int64, p.h.levels()-1), touched: make([][]int32, p.h.levels()-1),
		weight: make([]int64, len(block)),
	}
	for s := range m.member {
		m.member[s] = -1
	}
	for r, s := range m.slot {
		m.member[s] = int32(r)
		m.outward[r] = m.outwardOf(int32(r))
	}
	for l := range m.near {
		m.near[l] = make([]int64, p.h.domains(l))
	}
	return m
}

func (m *mapping) outwardOf(r int32) int64 {
	var sum int64
	peers, weights := m.g.Row(int(r))
	for i, p := range peers {
		if m.block[p] != m.block[r] {
			sum += weights[i] * (m.h.between(m.block[p], m.block[r]) - m.h.distance[0])
		}
	}
	return sum
}

// connect computes near and weight for a rank.
func (m *mapping) connect(r int32) {
	for l, domains := range m.touched {
		for _, d := range domains {
			m.near[l][d] = 0
		}
		m.touched[l] = domains[:0]
	}
	for _, p := range m.peers {
		m.weight[p] = 0
	}
	n := m.h.levels()
	peers, weights := m.g.Row(int(r))
	m.peers = peers
	for i, p := range peers {
		m.weight[p] += weights[i]
		path := m.h.ancestor[int(m.block[p])*n : int(m.block[p])*n+n]
		for l := range m.near {
			if m.near[l][path[l]] == 0 {
				m.touched[l] = append(m.touched[l], path[l])
			}
			m.near[l][path[l]] += weights[i]
		}
	}
}

// benefit returns what the rank of the last connect saves in a block.
func (m *mapping) benefit(block int32) int64 {
	var sum int64
	n := m.h.levels()
	path := m.h.ancestor[int(block)*n : int(block)*n+n]
	for l := range m.near {
		sum += m.near[l][path[l]] * (m.h.distance[l+1] - m.h.distance[l])
	}
	return sum
}

// gain returns what the edges of a rank save if it moves to a block and nothing else
// does. except is a peer that is left out; -1 for none.
func (m *mapping) gain(r, to, except int32) int64 {
	var sum int64
	from := m.block[r]
	peers, weights := m.g.Row(int(r))
	if n := m.h.blocks(); m.h.apart != nil {
		before, after := m.h.apart[int(from)*n:][:n], m.h.apart[int(to)*n:][:n]
		for i, p := range peers {
			if at := m.block[p]; p != except {
				sum += weights[i] * (before[at] - after[at])
			}
		}
		return sum
	}
	for i, p := range peers {
		if at := m.block[p]; p != except {
			sum += weights[i] * (m.h.between(from, at) - m.h.between(to, at))
		}
	}
	return sum
}

// swapGain returns what a swap of the ranks of two slots saves, or any smaller number
// than least if it saves less. b may be empty.
func (m *mapping) swapGain(a, b int32, least int64) int64 {
	r, other := m.member[a], m.member[b]
	return m.swapGainOf(r, other, m.gain(r, m.h.blockAt[b], other), least)
}

// swapGainOf is swapGain for a rank whose edges save g in a block, without the edge to the
// other rank.
func (m *mapping) swapGainOf(r, other int32, g, least int64) int64 {
	if other >= 0 {
		if most := g + m.outward[other]; most < least {
			return most
		}
		g += m.gain(other, m.block[r], r)
	}
	return g
}

// swap swaps the ranks of two slots, and keeps outward.
func (m *mapping) swap(a, b int32) {
	r, other := m.member[a], m.member[b]
	from, to := m.h.blockAt[a], m.h.blockAt[b]
	m.relocate(r, to)
	m.slot[r], m.member[b] = b, r
	m.member[a] = other
	if other >= 0 {
		m.relocate(other, from)
		m.slot[other] = a
	}
}

func (m *mapping) relocate(r, to int32) {
	from := m.block[r]
	m.block[r] = to
	m.outward[r] = 0
	peers, weights := m.g.Row(int(r))
	for i, p := range peers {
		at := m.block[p]
		before, after := weights[i]*(m.h.between(from, at)-m.h.distance[0]), weights[i]*(m.h.between(to, at)-m.h.distance[0])
		m.outward[p] += after - before
		m.outward[r] += after
	}
}

// climb makes the best swap of each rank that saves something, in sweeps over all ranks
// whose surroundings changed. It returns what was saved.
func (m *mapping) climb(sweeps int, r *rand.Rand) (saved int64) {
	active := make([]bool, len(m.block))
	for i := range active {
		active[i] = true
	}
	for range sweeps {
		var now int64
		for _, rank := range permutation(len(m.block), r) {
			if !active[rank] {
				continue
			}
			active[rank] = false
			to, gain := m.bestSwap(rank)
			if gain <= 0 {
				continue
			}
			other := m.member[to]
			m.swap(m.slot[rank], to)
			now += gain
			m.activate(rank, active)
			if other >= 0 {
				m.activate(other, active)
			}
		}
		saved += now
		if now == 0 {
			break
		}
	}
	return saved
}

func (m *mapping) activate(r int32, active []bool) {
	active[r] = true
	peers, _ := m.g.Row(int(r))
	for _, p := range peers {
		active[p] = true
	}
}

// bestSwap returns the slot that it is best to swap a rank to, among those of the blocks
// in which it has peers, and what that saves; 0 if nothing.
func (m *mapping) bestSwap(r int32) (slot int32, most int64) {
	if m.outward[r] == 0 || len(m.near) == 0 {
		return 0, 0
	}
	m.connect(r)
	here := m.block[r]
	stay := m.benefit(here)
	for _, to := range m.touched[0] {
		if to == here {
			continue
		}
		gain := m.benefit(to) - stay
		apart := m.h.between(here, to) - m.h.distance[0]
		for s := m.h.first[0][to]; s < m.h.first[0][to+1]; s++ {
			other := m.member[s]
			alone := gain
			if other >= 0 {
				alone -= m.weight[other] * apart // they stay as far from each other
			} else if alone <= most {
				continue
			}
			if g := m.swapGainOf(r, other, alone, most); g > most {
				slot, most = s, g
			}
		}
	}
	return slot, most
}
