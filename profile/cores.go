package profile

// CoresOf returns how many cores each process of a host has: those of its affinity mask, each
// divided among the processes that may run on it, but not more than its part of the limit of its
// control group. It is 0 if that is not known. A core with several hardware threads counts once.
func CoresOf(ps []PlacedProcess) []float64 {
	processors := map[string][]int{} // by mask
	sharing := map[int]int{}         // number of processes by processor
	limited := map[uint64]int{}      // number of processes by control group
	for i := range ps {
		at := ps[i].Placement
		if at == nil {
			continue
		}
		mask, known := processors[at.Processors]
		if !known {
			mask, _ = ParseProcessors(at.Processors)
			processors[at.Processors] = mask
		}
		for _, n := range mask {
			sharing[n]++
		}
		limited[at.LimitGroup]++
	}
	out := make([]float64, len(ps))
	for i := range ps {
		at := ps[i].Placement
		if at == nil {
			continue
		}
		for _, n := range processors[at.Processors] {
			out[i] += 1 / float64(sharing[n])
		}
		if at.NodeCores > 0 && at.NodeProcessors > at.NodeCores {
			out[i] *= float64(at.NodeCores) / float64(at.NodeProcessors)
		}
		if at.CPULimit > 0 {
			out[i] = min(out[i], at.CPULimit/float64(limited[at.LimitGroup]))
		}
	}
	return out
}
