package aggregate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Oversubscription is ranks that had to share processors, so that they waited for a
// processor too, and not only for each other. A processor is a hardware thread.
type Oversubscription struct {
	Reason  string          `json:"reason"` // one of the constants below
	Host    string          `json:"host"`
	Ranks   profile.RankSet `json:"ranks"`
	Threads int             `json:"threads"` // of these ranks that call MPI at the same time
	// Processors are those that the ranks may run on, and Count is how many.
	Processors     string  `json:"processors"`
	Count          int     `json:"processor_count"`
	NodeProcessors int     `json:"node_processors"` // 0 if not known
	NodeCores      int     `json:"node_cores"`
	HostRanks      int     `json:"host_ranks"`          // all ranks on the host
	CPULimit       float64 `json:"cpu_limit,omitempty"` // processors' time that the control group may use, of TooSmallLimit
	// CPU is what the ranks used, in the mean; nil if that is not known.
	CPU *CPUShare `json:"cpu"`
}

// Reasons of an Oversubscription.
const (
	TooFewProcessors = "processors" // there are fewer processors than threads, or ranks are bound to the same ones
	TooSmallLimit    = "cpu-limit"  // the control group allows less CPU time than the threads can use
	OtherProcesses   = "shared"     // there are enough, and the ranks had to wait for them all the same
)

// CPUShare is what ranks used of their time between MPI_Init and MPI_Finalize.
type CPUShare struct {
	Ranks int `json:"ranks"` // whose usage is known
	// Used is the CPU time of all threads as a share of wall time; above 1 where
	// several threads computed.
	Used float64 `json:"used"`
	// WithoutProcessor is how long main threads were ready to run and had no
	// processor, as a share of wall time; nil if the kernel does not tell.
	WithoutProcessor *float64 `json:"without_processor"`
	Involuntary      float64  `json:"involuntary_switches_per_s"` // of one rank
}

// Ranks had to wait for processors where that took this share of their time. Where
// the kernel does not tell it, they did where they used less than the rest and were
// interrupted so often. (A scheduler that is fair interrupts a thread some 250 times
// a second where two threads share a processor, and some 5 times where none is shared.)
const (
	leastWithout     = 0.1
	leastInvoluntary = 100 // a second
	leastWallNs      = 100e6
)

// Placed is where a process ran and what it used.
type Placed struct {
	Rank, Threads int
	Host          string
	At            *profile.Placement // nil if not known
	Usage         profile.Usage      // of the run; its WallNs is 0 if it is not known
}

// Oversubscriptions finds the ranks that shared processors, by host.
func Oversubscriptions(ps []Placed) []Oversubscription {
	byHost := map[string][]Placed{}
	for _, p := range ps {
		if p.Rank >= 0 && (p.At != nil || p.Usage.WallNs > 0) {
			byHost[p.Host] = append(byHost[p.Host], p)
		}
	}
	out := []Oversubscription{}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		on := byHost[host]
		found := append(tooFew(on), tooSmall(on)...)
		if len(found) == 0 {
			found = waitedFor(on)
		}
		for i := range found {
			found[i].Host, found[i].HostRanks = host, len(on)
		}
		out = append(out, found...)
	}
	return out
}

// oversubscription describes processes that share processors.
func oversubscription(reason string, ps []Placed, processors []int) Oversubscription {
	o := Oversubscription{Reason: reason, Processors: profile.ProcessorList(processors), Count: len(processors), CPU: cpuShare(ps)}
	ranks := make([]int, len(ps))
	for i := range ps {
		ranks[i] = ps[i].Rank
		o.Threads += max(ps[i].Threads, 1)
		if at := ps[i].At; at != nil {
			o.NodeProcessors, o.NodeCores = max(o.NodeProcessors, at.NodeProcessors), max(o.NodeCores, at.NodeCores)
		}
	}
	o.Ranks = profile.RankSetOf(ranks...)
	return o
}

func cpuShare(ps []Placed) *CPUShare {
	var s CPUShare
	var wall, used, without, switches float64
	told := true
	for i := range ps {
		u := &ps[i].Usage
		if u.WallNs == 0 {
			continue
		}
		s.Ranks++
		wall += float64(u.WallNs)
		used += float64(u.UserNs + u.SystemNs)
		without += float64(u.RunDelayNs)
		switches += float64(u.Involuntary)
		told = told && u.DelayKnown
	}
	if s.Ranks == 0 {
		return nil
	}
	s.Used, s.Involuntary = used/wall, 1e9*switches/wall
	if share := min(without/wall, 1); told {
		s.WithoutProcessor = &share
	}
	return &s
}

// tooFew finds sets of processes whose threads are more than the processors that
// they may run on: all of a host, or some that are bound to the same ones.
func tooFew(ps []Placed) []Oversubscription {
	a := newAssignment(ps)
	var out []Oversubscription
	for g := range a.groups {
		for n := a.groups[g].threads; n > 0 && !a.groups[g].crowded; n-- {
			if a.assign(g) {
				continue
			}
			among, processors := a.crowd()
			out = append(out, oversubscription(TooFewProcessors, among, processors))
		}
	}
	return out
}

// tooSmall finds control groups that may use less CPU time than the threads of the
// processes in them can.
func tooSmall(ps []Placed) []Oversubscription {
	byGroup := map[uint64][]Placed{}
	for _, p := range ps {
		if p.At != nil && p.At.CPULimit > 0 {
			byGroup[p.At.LimitGroup] = append(byGroup[p.At.LimitGroup], p)
		}
	}
	var out []Oversubscription
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		in := byGroup[group]
		var may []int
		for _, p := range in {
			processors, _ := profile.ParseProcessors(p.At.Processors)
			may = append(may, processors...)
		}
		slices.Sort(may)
		o := oversubscription(TooSmallLimit, in, slices.Compact(may))
		o.CPULimit = in[0].At.CPULimit
		if math.Ceil(o.CPULimit) < float64(min(o.Threads, max(o.Count, 1))) {
			out = append(out, o)
		}
	}
	return out
}

// waitedFor finds processes that had to wait for processors although there are
// enough of them: others use them, too.
func waitedFor(ps []Placed) []Oversubscription {
	var waited []Placed
	var may []int
	for _, p := range ps {
		s := cpuShare([]Placed{p})
		if s == nil || p.Usage.WallNs < leastWallNs || !s.waited() {
			continue
		}
		waited = append(waited, p)
		if p.At != nil {
			processors, _ := profile.ParseProcessors(p.At.Processors)
			may = append(may, processors...)
		}
	}
	if len(waited) == 0 {
		return nil
	}
	slices.Sort(may)
	return []Oversubscription{oversubscription(OtherProcesses, waited, slices.Compact(may))}
}

func (s *CPUShare) waited() bool {
	if s.WithoutProcessor != nil {
		return *s.WithoutProcessor >= leastWithout
	}
	return s.Used < 1-leastWithout && s.Involuntary > leastInvoluntary
}

// assignment gives each thread a processor of its own, as far as that is possible:
// a bipartite matching, in which processes with the same mask are one group.
type assignment struct {
	groups []maskGroup
	holder map[int]int  // by processor: the group that has it
	seen   map[int]bool // groups that the latest search has met
}

type maskGroup struct {
	processes  []Placed
	threads    int
	processors []int
	crowded    bool // it is part of an Oversubscription already
}

func newAssignment(ps []Placed) *assignment {
	a := &assignment{holder: map[int]int{}}
	at := map[string]int{}
	for _, p := range ps {
		if p.At == nil || p.At.Processors == "" {
			continue
		}
		g, ok := at[p.At.Processors]
		if !ok {
			processors, err := profile.ParseProcessors(p.At.Processors)
			if err != nil {
				continue
			}
			g = len(a.groups)
			at[p.At.Processors] = g
			a.groups = append(a.groups, maskGroup{processors: processors})
		}
		a.groups[g].processes = append(a.groups[g].processes, p)
		a.groups[g].threads += max(p.Threads, 1)
	}
	return a
}

// assign gives one thread of a group a processor. Other groups move to another one
// if they must.
func (a *assignment) assign(g int) bool {
	a.seen = map[int]bool{}
	return a.search(g)
}

func (a *assignment) search(g int) bool {
	a.seen[g] = true
	for _, n := range a.groups[g].processors {
		if _, taken := a.holder[n]; !taken {
			a.holder[n] = g
			return true
		}
	}
	for _, n := range a.groups[g].processors {
		if h := a.holder[n]; !a.seen[h] && !a.groups[h].crowded && a.search(h) {
			a.holder[n] = g
			return true
		}
	}
	return false
}

// crowd is all groups that the failed search has met: their threads are more than
// the processors of all of them together. They are left out from then on.
func (a *assignment) crowd() (ps []Placed, processors []int) {
	for _, g := range slices.Sorted(maps.Keys(a.seen)) {
		a.groups[g].crowded = true
		ps = append(ps, a.groups[g].processes...)
		processors = append(processors, a.groups[g].processors...)
	}
	slices.Sort(processors)
	slices.SortFunc(ps, func(a, b Placed) int { return cmp.Compare(a.Rank, b.Rank) })
	return ps, slices.Compact(processors)
}

// oversubscriptions are those of the job.
func (j *Job) oversubscriptions() []Oversubscription {
	ps := j.ordered()
	placed := make([]Placed, len(ps))
	for i := range ps {
		p := &ps[i]
		placed[i] = Placed{Rank: p.Rank, Threads: p.threads, Host: p.Host, At: p.Placement, Usage: p.usage}
	}
	return Oversubscriptions(placed)
}
