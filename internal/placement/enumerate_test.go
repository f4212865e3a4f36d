package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestBestOfFewRanks compares Best with a naive search over all orders, in cases with
// irregular topologies, empty slots, groups and asymmetric volumes.
func TestBestOfFewRanks(t *testing.T) {
	for n := 0; n < 200; n += testenv.Step(8) {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		topology, traffic, sent := randomCase(t, r)
		want := naiveOptimum(topology, sent)
		o, cost, err := Best(topology, traffic, Options{Effort: 1})
		if err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
		if err := o.Check(topology); err != nil || len(o) != traffic.Ranks {
			t.Errorf("case %d: order %v: %v", n, o, err)
		}
		if got := naiveCost(topology, sent, o); cost.Objective != want || got != want {
			t.Errorf("case %d: cost %d, as computed here %d, but the optimum is %d: %v in %v", n, cost.Objective, got, want, o, levelsOf(topology))
		}
	}
}

// TestBestOfFewRanksInManySlots has a ring of 9 ranks, and a million slots in nodes of 4.
// Three nodes have 3 edges of the ring between them, and 6 within.
func TestBestOfFewRanksInManySlots(t *testing.T) {
	topology := hierarchyOf(t, []string{"node", "switch", "system"}, []int{4, 250, 1000}, []int64{1, 10, 100})
	traffic := stencil(true, 9)
	_, cost, err := Best(topology, traffic, Options{Effort: 1})
	if want := uint64(6 + 3*10); err != nil || cost.Objective != want {
		t.Errorf("the cost is %d, %v, want %d", cost.Objective, err, want)
	}
}

func levelsOf(t *Topology) string {
	text := ""
	for _, l := range t.Levels {
		text += fmt.Sprintln(l.Distance, l.Domain)
	}
	return text
}

// randomCase returns what each rank sends to each other one too, sent[from][to].
func randomCase(t *testing.T, r *rand.Rand) (*Topology, *RankTraffic, [][]uint64) {
	slots := 2 + r.IntN(6)
	ranks := 2 + r.IntN(slots-1)
	if r.IntN(20) == 0 {
		slots, ranks = 9, 9
	}
	topology := randomTopology(r, slots)
	if err := topology.check(); err != nil {
		t.Fatalf("%v: %v", levelsOf(topology), err)
	}
	sent := make([][]uint64, ranks)
	for a := range sent {
		sent[a] = make([]uint64, ranks)
		for b := range sent[a] {
			if a != b && r.IntN(2) == 0 {
				sent[a][b] = r.Uint64N(100)
			}
		}
	}
	traffic := &RankTraffic{Ranks: ranks, Compressed: matrix.NewCompressed[uint64](ranks, ranks*ranks)}
	for a := range sent {
		for b := range sent {
			if w := sent[a][b] + sent[b][a]; w > 0 {
				traffic.Append(int32(b), w)
			}
		}
		traffic.EndRow()
	}
	for range r.IntN(3) {
		g := randomGroup(r, ranks)
		traffic.Groups = append(traffic.Groups, g)
		for i, a := range g.Members {
			for j, b := range g.Members {
				if i != j && (!g.HigherOnly || j > i) {
					sent[a][b] += g.Sent[i] * g.Received[j]
				}
			}
		}
	}
	return topology, traffic, sent
}

func randomGroup(r *rand.Rand, ranks int) WeightedGroup {
	g := WeightedGroup{HigherOnly: r.IntN(2) == 0}
	for _, m := range r.Perm(ranks)[:2+r.IntN(ranks-1)] {
		g.Members = append(g.Members, int32(m))
		g.Sent, g.Received = append(g.Sent, r.Uint64N(10)), append(g.Received, r.Uint64N(10))
	}
	return g
}

// randomTopology divides the slots at random; each level unites domains of the one below.
func randomTopology(r *rand.Rand, slots int) *Topology {
	topology := &Topology{Slots: make([]Slot, slots)}
	unit := make([]int32, slots) // a new domain may begin where this changes
	for s := range unit {
		unit[s] = int32(s)
	}
	distance := int64(1 + r.IntN(3))
	for l := range 1 + r.IntN(3) {
		domain := make([]int32, slots)
		for s := 1; s < slots; s++ {
			domain[s] = domain[s-1]
			if unit[s] != unit[s-1] && r.IntN(3) == 0 {
				domain[s]++
			}
		}
		topology.Levels = append(topology.Levels, Level{Name: fmt.Sprint("level", l), Distance: distance, Domain: domain})
		unit = domain
		distance += int64(r.IntN(20))
	}
	topology.Levels = append(topology.Levels, Level{Name: "system", Distance: distance, Domain: make([]int32, slots)})
	return topology
}

func naiveOptimum(t *Topology, sent [][]uint64) uint64 {
	least := ^uint64(0)
	o, taken := make(Order, len(sent)), make([]bool, len(t.Slots))
	var place func(rank int)
	place = func(rank int) {
		if rank == len(o) {
			least = min(least, naiveCost(t, sent, o))
			return
		}
		for s := range taken {
			if !taken[s] {
				taken[s], o[rank] = true, int32(s)
				place(rank + 1)
				taken[s] = false
			}
		}
	}
	place(0)
	return least
}

// naiveCost adds up all messages × the distance of the first level that unites the slots.
func naiveCost(t *Topology, sent [][]uint64, o Order) uint64 {
	var cost uint64
	for a, row := range sent {
		for b, w := range row {
			if w == 0 {
				continue
			}
			for _, l := range t.Levels {
				if l.Domain[o[a]] == l.Domain[o[b]] {
					cost += w * uint64(l.Distance)
					break
				}
			}
		}
	}
	return cost
}
