package placement

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Options bound and steer the search for an order.
type Options struct {
	Seed   uint64  // the result is the same for the same seed
	Effort int     // 1 fast, 2 normal, 3 thorough
	Starts []Order // orders to compare with and to improve, such as the present one
}

// Best returns the order of the least objective that it finds, with its cost. If the
// topology has more slots than there are ranks, it chooses which of them stay empty. For
// up to 9 ranks no order costs less. Of orders that cost the same, it prefers the first
// of the starts.
func Best(t *Topology, traffic *Traffic, opts Options) (Order, Cost, error) {
	if err := opts.check(t, traffic); err != nil {
		return nil, Cost{}, err
	}
	orders := append(slices.Clone(opts.Starts), Block(traffic.Ranks))
	p := newProblem(t, traffic)
	if p.h.levels() > 1 {
		orders = append(orders, p.orders(orders, opts)...)
	}
	best, cost := cheapest(t, traffic, orders)
	if p.h.levels() > 1 && traffic.Ranks <= maxExact {
		best, cost = exact(t, traffic, best)
	}
	return slices.Clone(best), cost, nil
}

func (o *Options) check(t *Topology, traffic *Traffic) error {
	if err := t.check(); err != nil {
		return err
	}
	if traffic.Ranks < 1 || traffic.Ranks > len(t.Slots) {
		return fmt.Errorf("%d ranks for %d slots", traffic.Ranks, len(t.Slots))
	}
	if o.Effort < 1 || o.Effort > len(efforts) {
		return fmt.Errorf("effort %d is not 1 to %d", o.Effort, len(efforts))
	}
	for i, s := range o.Starts {
		if len(s) != traffic.Ranks {
			return fmt.Errorf("order %d to start with: %d entries for %d ranks", i, len(s), traffic.Ranks)
		}
		if err := s.Check(t); err != nil {
			return fmt.Errorf("order %d to start with: %w", i, err)
		}
	}
	return nil
}

// cheapest returns the first of the orders of the least objective.
func cheapest(t *Topology, traffic *Traffic, orders []Order) (best Order, cost Cost) {
	for i, o := range orders {
		if c := Evaluate(t, traffic, o); i == 0 || c.Objective < cost.Objective {
			best, cost = o, c
		}
	}
	return best, cost
}

// efforts are the amounts of work of Options.Effort 1 to 3.
var efforts = []tuning{
	{starts: 1, tries: 4, passes: 2, cycles: 0, pairs: 1, patience: 1, sweeps: 10},
	{starts: 2, tries: 8, passes: 4, cycles: 1, pairs: 2, patience: 2, sweeps: 20},
	{starts: 8, tries: 16, passes: 8, cycles: 2, pairs: 4, patience: 4, sweeps: 50},
}

// orders returns an improved order of each start, and orders found from the beginning.
func (p *problem) orders(starts []Order, opts Options) []Order {
	tune := &efforts[opts.Effort-1]
	found := make([]Order, len(starts)+tune.starts)
	spare := make(chan struct{}, max(0, runtime.GOMAXPROCS(0)-1))
	var wait sync.WaitGroup
	for i := range found {
		f := func() {
			r := generator(opts.Seed, i)
			var block []int32
			if i < len(starts) {
				block = p.h.blocksOf(starts[i])
			} else {
				block = tune.multisect(p.search, p.h, r.Uint64(), spare)
			}
			found[i] = p.improve(tune, block, r)
		}
		select {
		case spare <- struct{}{}:
			wait.Go(func() {
				defer func() { <-spare }()
				f()
			})
		default:
			f()
		}
	}
	wait.Wait()
	return found
}

// improve returns an order that a local search makes of the block of each rank.
func (p *problem) improve(tune *tuning, block []int32, r *rand.Rand) Order {
	m := newMapping(p, block)
	m.climb(tune.sweeps, r)
	return p.h.order(m.block)
}
