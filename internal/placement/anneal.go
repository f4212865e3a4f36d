package placement

import (
	"math"
	"math/rand/v2"
)

// annealingSteps is the number of temperatures.
const annealingSteps = 200

// anneal swaps ranks at random, as by Kirkpatrick, Gelatt and Vecchi (1983): losses are
// accepted with a probability that falls with the temperature. It begins at heat × the
// usual loss of a swap, and ends at 1/50 of that. proposals is the number of swaps tried.
func (m *mapping) anneal(proposals int, heat float64, r *rand.Rand) {
	if proposals < annealingSteps {
		return
	}
	hot := heat * m.usualLoss(r)
	if hot == 0 {
		return
	}
	for step := range annealingSteps {
		temperature := hot * math.Pow(50, -float64(step)/(annealingSteps-1))
		for range proposals / annealingSteps {
			a, b, ok := m.propose(r)
			if !ok {
				continue
			}
			least := int64(temperature * math.Log(1-r.Float64())) // a loss that is accepted
			if m.swapGain(a, b, least) >= least {
				m.swap(a, b)
			}
		}
	}
}

// propose returns the slot of a random rank, and a random slot of a block in which it
// has a peer.
func (m *mapping) propose(r *rand.Rand) (a, b int32, ok bool) {
	rank := int32(r.IntN(len(m.block)))
	peers, _ := m.g.Row(int(rank))
	if len(peers) == 0 || m.outward[rank] == 0 {
		return 0, 0, false
	}
	to := m.block[peers[r.IntN(len(peers))]]
	if to == m.block[rank] {
		return 0, 0, false
	}
	first := m.h.first[0][to]
	return m.slot[rank], first + r.Int32N(m.h.first[0][to+1]-first), true
}

// lossSamples is the number of swaps from which the usual loss is taken.
const lossSamples = 1000

// usualLoss returns the average loss of the swaps that would lose something.
func (m *mapping) usualLoss(r *rand.Rand) float64 {
	sum, n := 0.0, 0
	for range lossSamples {
		if a, b, ok := m.propose(r); ok {
			if g := m.swapGain(a, b, math.MinInt64); g < 0 {
				sum, n = sum-float64(g), n+1
			}
		}
	}
	return sum / float64(max(1, n))
}
