package aggregate

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// RankCores says how long a rank had no core, and how many cores it had and used. What is not
// known is nil.
type RankCores struct {
	// NoCore is the time without a core as a share of the rank's time, see profile.NoCoreOf.
	NoCore        *float64 `json:"no_core"`
	NoCoreAtLeast bool     `json:"no_core_at_least,omitempty"`
	Available     *float64 `json:"available"` // cores, see availableCores
	// Used is the number of cores that the rank used outside MPI: useful CPU time ÷ time outside MPI.
	Used *float64 `json:"used"`
	// UsefulCPUS is CPU time outside MPI, in seconds.
	UsefulCPUS  *float64 `json:"useful_cpu_s"`
	BusyThreads int      `json:"busy_threads"` // see profile.ThreadUse; 0 if not known
}

// Cores is RankCores for a job. What is not known of any rank is nil.
type Cores struct {
	NoCore        *float64 `json:"no_core"`          // as a share of ranks × run time
	NoCoreS       *float64 `json:"no_core_s"`        // summed over ranks
	NoCoreAtLeast bool     `json:"no_core_at_least"` // it lacks some ranks or threads
	Available     *float64 `json:"available"`        // of a rank, on average
	Used          *float64 `json:"used"`             // by a rank outside MPI, on average
	// HybridEfficiency is useful CPU time ÷ (cores × run time) = parallel efficiency (of MPI) ×
	// ThreadEfficiency. ThreadEfficiency is nil if this product does not hold: the CPU time of a rank is
	// not known, or threads compute while their rank is in MPI.
	HybridEfficiency *float64 `json:"hybrid_efficiency"`
	ThreadEfficiency *float64 `json:"thread_efficiency"`
}

// leastOutside is the smallest share of time outside MPI for which the number of cores that were used
// there is known well enough.
const leastOutside = 0.01

// coreFacts are the numbers about cores in the record of a process. A number that is not known is -1.
type coreFacts struct {
	noCore, usefulCPU float64 // share, s
	busy              int32
	atLeast           bool
}

const unknown = -1

func coreFactsOf(p *profile.Profile, inMPINs float64) coreFacts {
	out := coreFacts{noCore: unknown, usefulCPU: unknown}
	usage, _ := profile.TotalUsage(p.Usage)
	if none := profile.NoCoreOf(p.State, p.Times(), p.ThreadUse, usage); none != nil {
		out.noCore, out.atLeast = none.Share, none.AtLeast
	}
	if p.ThreadUse != nil {
		out.busy = int32(p.ThreadUse.Busy)
	}
	if ns, known := usefulCPU(p, usage, inMPINs); known {
		out.usefulCPU = ns / 1e9
	}
	return out
}

// usefulCPU returns the CPU time outside MPI in ns. All CPU time of threads that make no MPI call is
// outside MPI. Of the threads that make calls, only the sum of their CPU time, in and outside MPI, is
// known: these threads are assumed to compute whenever they are outside MPI and have a core. The result
// is too large if they sleep outside MPI while MPI polls.
func usefulCPU(p *profile.Profile, usage profile.Usage, inMPINs float64) (ns float64, known bool) {
	u, times := p.ThreadUse, p.Times()
	own, _ := times.Application()
	if p.State != profile.Finalized || u == nil || u.Incomplete || usage.WallNs == 0 || p.Timing == profile.TimingOff || own <= 0 {
		return 0, false
	}
	lifetimes := float64(times.Lifetimes)
	if lifetimes == 0 {
		lifetimes = float64(times.OfThreads())
	}
	outside := max(lifetimes-inMPINs, 0) * (1 - min(float64(u.DelayNs)/lifetimes, 1))
	calling, all := float64(u.CPUNs), float64(usage.UserNs+usage.SystemNs)
	return max(all-calling, 0) + min(calling, outside), true
}

// cores returns the RankCores of a process. The number of available cores is not set: it depends on
// the other processes of the node (addAvailable).
func (f *coreFacts) cores(t *RankTimes) *RankCores {
	c := &RankCores{BusyThreads: int(f.busy)}
	if f.noCore != unknown {
		c.NoCore, c.NoCoreAtLeast = &f.noCore, f.atLeast
	}
	if f.usefulCPU == unknown {
		return c
	}
	c.UsefulCPUS = &f.usefulCPU
	if useful, known := t.UsefulNs(); known && useful >= leastOutside*1e9*t.ApplicationTimeS {
		used := 1e9 * f.usefulCPU / useful
		c.Used = &used
	}
	return c
}

// eachHost calls visit for each host, in order, with the processes of which the placement or the
// use of processors is known.
func (j *Job) eachHost(visit func(at []int32, placed []profile.PlacedProcess)) {
	ps := j.ordered()
	byHost := map[string][]int32{}
	for i := range ps {
		if ps[i].Placement != nil || ps[i].usage != nil {
			byHost[ps[i].Host] = append(byHost[ps[i].Host], int32(i))
		}
	}
	var placed []profile.PlacedProcess
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		placed = placed[:0]
		for _, i := range byHost[host] {
			placed = append(placed, ps[i].placed())
		}
		visit(byHost[host], placed)
	}
}

func (p *processFacts) placed() profile.PlacedProcess {
	out := profile.PlacedProcess{Rank: p.Rank, Threads: p.threads, Host: p.Host, Placement: p.Placement}
	if p.usage != nil {
		out.Usage = *p.usage
	}
	if c := p.Cores; c != nil {
		if c.BusyThreads > 0 {
			out.Threads = c.BusyThreads
		}
		if c.NoCore != nil {
			out.NoCore = &profile.NoCore{Share: *c.NoCore, AtLeast: c.NoCoreAtLeast}
		}
	}
	return out
}

// oversubscriptions returns the ranks of the job that shared processors, in the order of
// hosts.
func (j *Job) oversubscriptions() []profile.Oversubscription {
	out := []profile.Oversubscription{}
	j.eachHost(func(_ []int32, placed []profile.PlacedProcess) {
		out = append(out, profile.Oversubscriptions(placed)...)
	})
	return out
}

// addAvailable sets how many cores each rank has. No rank uses more than the processors of its
// mask.
func (j *Job) addAvailable() {
	ps := j.ordered()
	j.eachHost(func(at []int32, placed []profile.PlacedProcess) {
		for k, cores := range availableCores(placed) {
			c := ps[at[k]].Cores
			if cores == 0 || c == nil {
				continue
			}
			c.Available = &cores
			if mask, err := profile.ParseProcessors(placed[k].Placement.Processors); err == nil && c.Used != nil {
				*c.Used = min(*c.Used, float64(len(mask)))
			}
		}
	})
}

// CoresOf returns the sums over the ranks of a job. pop is that of these ranks, or nil. totalNs is
// ranks × run time, see TimeTree; 0 if it is not known.
func CoresOf(ranks []RankTimes, pop *POP, totalNs int64) *Cores {
	var out Cores
	var noCore, own, available, useful, outside, usefulOutside, capacity float64
	withNoCore, withAvailable, whole := 0, 0, 0
	for i := range ranks {
		t, c := &ranks[i], ranks[i].Cores
		own += t.ApplicationTimeS
		if c == nil || c.NoCore == nil {
			out.NoCoreAtLeast = true
		} else {
			withNoCore++
			noCore += *c.NoCore * t.ApplicationTimeS
			out.NoCoreAtLeast = out.NoCoreAtLeast || c.NoCoreAtLeast
		}
		if c == nil || c.Available == nil {
			continue
		}
		withAvailable++
		available += *c.Available
		if c.UsefulCPUS != nil {
			whole++
			useful += *c.UsefulCPUS
			capacity += *c.Available
		}
		if ns, _ := t.UsefulNs(); c.Used != nil {
			usefulOutside += *c.Used * ns
			outside += ns
		}
	}
	total := own
	if totalNs > 0 {
		total = float64(totalNs) / 1e9
	}
	out.NoCore, out.NoCoreS = quotient(min(noCore, total), total, withNoCore > 0), quotient(noCore, 1, withNoCore > 0)
	out.NoCoreAtLeast = out.NoCoreAtLeast && withNoCore > 0
	out.Available = quotient(available, float64(withAvailable), withAvailable > 0)
	out.Used = quotient(usefulOutside, outside, outside > 0)
	if pop == nil || whole < pop.Ranks || whole < len(ranks) || capacity == 0 {
		return &out
	}
	hybrid := min(useful/(capacity*pop.RuntimeNs/1e9), 1)
	out.HybridEfficiency = &hybrid
	out.ThreadEfficiency = quotient(hybrid, pop.ParallelEfficiency, hybrid <= pop.ParallelEfficiency)
	return &out
}

// quotient returns a ÷ b; nil if it is not known.
func quotient(a, b float64, known bool) *float64 {
	if !known || b == 0 {
		return nil
	}
	q := a / b
	return &q
}

// availableCores returns how many cores each process of a host has: those of its affinity mask, each
// divided among the processes that may run on it, but not more than its part of the limit of its
// control group. It is 0 if that is not known. A core with several hardware threads counts once.
func availableCores(ps []profile.PlacedProcess) []float64 {
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
			mask, _ = profile.ParseProcessors(at.Processors)
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
