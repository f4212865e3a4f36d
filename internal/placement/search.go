package placement

import (
	"fmt"
	"math"
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
func Best(t *Topology, traffic *RankTraffic, opts Options) (Order, Cost, error) {
	if err := opts.check(t, traffic); err != nil {
		return nil, Cost{}, err
	}
	orders := distinct(append(slices.Clone(opts.Starts), Block(traffic.Ranks)))
	p := newProblem(t, traffic)
	if p.h.levels() > 1 && traffic.Ranks > maxExact {
		orders = append(orders, p.orders(t, traffic, orders, opts)...)
	}
	best, cost := cheapest(t, traffic, orders)
	if p.h.levels() > 1 && traffic.Ranks <= maxExact {
		best, cost = exact(t, traffic, best)
	}
	return slices.Clone(best), cost, nil
}

func (o *Options) check(t *Topology, traffic *RankTraffic) error {
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

// distinct returns the orders without repetitions: the present order often is block order.
func distinct(orders []Order) (out []Order) {
	for _, o := range orders {
		if !slices.ContainsFunc(out, func(known Order) bool { return slices.Equal(known, o) }) {
			out = append(out, o)
		}
	}
	return out
}

// cheapest returns the first of the orders of the least objective.
func cheapest(t *Topology, traffic *RankTraffic, orders []Order) (best Order, cost Cost) {
	for i, o := range orders {
		if c := Evaluate(t, traffic, o); i == 0 || c.Objective < cost.Objective {
			best, cost = o, c
		}
	}
	return best, cost
}

// efforts are the amounts of work of Options.Effort 1 to 3.
var efforts = []tuning{
	{
		starts: 3, tries: 4, passes: 4, pairs: 2, perPart: 4, patience: 2, sweeps: 10,
		heats: []float64{0.1}, proposals: 60, most: 1e7,
	},
	{
		starts: 8, tries: 8, passes: 6, cycles: 1, pairs: 6, perPart: 12, anew: true, patience: 8, sweeps: 20,
		brief: 200, heats: []float64{0.1}, proposals: 400, most: 5e7,
	},
	{
		starts: 20, tries: 16, passes: 8, cycles: 2, pairs: 10, perPart: 24, anew: true, patience: 8, sweeps: 50,
		brief: 500, heats: []float64{0.05, 0.15}, proposals: 1200, most: 1e8,
	},
}

// startsFor returns the number of searches from the beginning: fewer for large graphs.
func (t *tuning) startsFor(g *graph) int {
	const full = 3000 // entries of rows, up to which there are all starts
	share := math.Sqrt(full / float64(max(full, len(g.Column))))
	return max(1, int(share*float64(t.starts)))
}

// orders returns improved orders of the starts, the blockings of the grids that are
// recognised, and orders found from the beginning; and what annealing makes of the best.
func (p *problem) orders(t *Topology, traffic *RankTraffic, starts []Order, opts Options) []Order {
	tune := &efforts[opts.Effort-1]
	spare := make(chan struct{}, max(0, runtime.GOMAXPROCS(0)-1))
	var begin [][]int32
	for _, s := range starts {
		begin = append(begin, p.blocks(s))
	}
	grids := p.g.grids()
	for i := range grids {
		if block := grids[i].blocking(p.h); block != nil {
			begin = append(begin, block)
		}
	}
	n := len(begin) + tune.startsFor(p.g)
	found := make([]Order, 2*n) // before and after a brief annealing
	parallel(n, spare, func(i int) {
		r := generator(opts.Seed, 0, i)
		var block []int32
		if i < len(begin) {
			block = begin[i]
		} else {
			block = tune.multisect(p.g, p.h, r.Uint64())
		}
		m := newMapping(p, block)
		m.climb(tune.sweeps, r)
		found[i] = p.h.order(m.block)
		m.anneal(proposals(p.g, tune.brief, tune.most/4), 0.1*float64(1+i%2), r)
		m.climb(tune.sweeps, r)
		found[n+i] = p.h.order(m.block)
	})
	best, _ := cheapest(t, traffic, found)
	annealed := make([]Order, len(tune.heats))
	parallel(len(annealed), spare, func(i int) {
		r := generator(opts.Seed, 1, i)
		m := newMapping(p, p.blocks(best))
		m.anneal(proposals(p.g, tune.proposals, tune.most), tune.heats[i], r)
		m.climb(tune.sweeps, r)
		annealed[i] = p.h.order(m.block)
	})
	return append(found, annealed...)
}

// proposals returns how many swaps annealing proposes for a graph: byRank for each rank, or
// fewer if ranks have more than a few edges. All swaps together look at no more than `most`
// edges.
func proposals(g *graph, byRank, most float64) int {
	const few = 8 // edges
	degree := max(few, float64(len(g.Column))/float64(g.Len()))
	return int(min(byRank*float64(g.Len())*few, most) / degree)
}

// parallel calls f for 0 to n-1, in goroutines while processors are idle.
func parallel(n int, spare chan struct{}, f func(i int)) {
	var wait sync.WaitGroup
	for i := range n {
		select {
		case spare <- struct{}{}:
			wait.Go(func() {
				defer func() { <-spare }()
				f(i)
			})
		default:
			f(i)
		}
	}
	wait.Wait()
}
