package placement

import (
	"fmt"
	"math/rand/v2"
)

// An Order says where ranks run: rank r runs in slot Order[r]. No slot has two ranks.
type Order []int32

// Check returns an error unless the order is valid for the topology: each rank has a slot of its
// own.
func (o Order) Check(t *Topology) error {
	taken := make([]bool, len(t.Slots))
	for r, s := range o {
		if s < 0 || int(s) >= len(taken) || taken[s] {
			return fmt.Errorf("rank %d is in slot %d, which does not exist or has another rank", r, s)
		}
		taken[s] = true
	}
	return nil
}

// Block returns the order that fills the slots one after the other.
func Block(ranks int) Order {
	o := make(Order, ranks)
	for r := range o {
		o[r] = int32(r)
	}
	return o
}

// Random returns an order in which each rank is in a random slot. The same seed gives the same
// order.
func Random(t *Topology, ranks int, seed uint64) Order {
	o := make(Order, len(t.Slots))
	for s := range o {
		o[s] = int32(s)
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(o), func(a, b int) { o[a], o[b] = o[b], o[a] })
	return o[:ranks]
}

// RoundRobin returns the order that gives each node in turn the next rank, except nodes that are
// full. Without nodes it uses the domains below the outermost level.
func RoundRobin(t *Topology, ranks int) Order {
	level := t.Nodes()
	if level < 0 {
		level = max(len(t.Levels)-2, 0)
	}
	var free [][]int32 // slots of each domain
	for s, d := range t.Levels[level].Domain {
		if int(d) == len(free) {
			free = append(free, nil)
		}
		free[d] = append(free[d], int32(s))
	}
	o := make(Order, 0, ranks)
	for round := 0; len(o) < ranks; round++ {
		for _, slots := range free {
			if round < len(slots) && len(o) < ranks {
				o = append(o, slots[round])
			}
		}
	}
	return o
}
