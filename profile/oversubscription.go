package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Oversubscription describes ranks of one host that had to share processors, so that
// they waited for processors as well as for messages. A processor is a hardware
// thread.
type Oversubscription struct {
	Reason  string  `json:"reason"` // one of the constants below
	Host    string  `json:"host"`
	Ranks   RankSet `json:"ranks"`
	Threads int     `json:"threads"` // threads of these ranks, as in PlacedProcess
	// Processors lists those on which the ranks may run, as Placement does; Count is
	// their number.
	Processors     string  `json:"processors"`
	Count          int     `json:"processor_count"`
	NodeProcessors int     `json:"node_processors"` // 0 if not known
	NodeCores      int     `json:"node_cores"`
	HostRanks      int     `json:"host_ranks"`          // all ranks on the host
	CPULimit       float64 `json:"cpu_limit,omitempty"` // of TooSmallLimit: processors that the control group may use, as CPU time per time
	// CPU is the mean use of the CPU by these ranks; nil if not known.
	CPU *CPUShare `json:"cpu"`
}

// Reasons of an Oversubscription.
const (
	TooFewProcessors = "processors" // there are fewer processors than threads, or ranks are bound to the same ones
	TooSmallLimit    = "cpu-limit"  // the control group allows less CPU time than the threads can use
	OtherProcesses   = "shared"     // there are enough processors, but the ranks had to wait for them
)

// CPUShare is the use of the CPU between MPI_Init and MPI_Finalize, a mean over
// ranks.
type CPUShare struct {
	Ranks int `json:"ranks"` // whose usage is known
	// Used is the CPU time of all threads divided by the wall time. It can be above 1
	// for ranks with several threads.
	Used float64 `json:"used"`
	// WithoutProcessor is the share of time in which ranks had no processor, see NoCore;
	// nil if it is not known of all of them.
	WithoutProcessor *float64 `json:"without_processor"`
	AtLeast          bool     `json:"without_processor_at_least,omitempty"` // WithoutProcessor lacks some threads
	Involuntary      float64  `json:"involuntary_switches_per_s"`           // involuntary context switches per rank
}

// MinNoCore is the share of time without a processor from which on ranks count as
// waiting for processors. If the kernel does not report that time, they count if they
// used less than 1 - leastUsed of their time and were interrupted more often than
// minInvoluntary. (A fair scheduler interrupts a thread about 250 times a second if two
// threads share a processor, and about 5 times if it has one of its own.)
const (
	MinNoCore      = 0.05
	leastUsed      = 0.1
	minInvoluntary = 100 // context switches per second
	minWallNs      = 100e6
)

// PlacedProcess is a process with its placement and its use of the CPU.
type PlacedProcess struct {
	Rank      int
	Threads   int // that use a processor (see ThreadUse), or else that call MPI
	Host      string
	Placement *Placement // nil if not known
	Usage     Usage      // of the whole run; WallNs is 0 if not known
	NoCore    *NoCore    // nil if not known
}

// Oversubscriptions returns the ranks that shared processors, in the order of hosts.
func Oversubscriptions(ps []PlacedProcess) []Oversubscription {
	byHost := map[string][]PlacedProcess{}
	for _, p := range ps {
		if p.Rank >= 0 && (p.Placement != nil || p.Usage.WallNs > 0) {
			byHost[p.Host] = append(byHost[p.Host], p)
		}
	}
	out := []Oversubscription{}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		on := byHost[host]
		found := append(tooFewProcessors(on), tooSmallLimits(on)...)
		found = append(found, waitedForOthers(on, found)...)
		for i := range found {
			found[i].Host, found[i].HostRanks = host, len(on)
		}
		out = append(out, found...)
	}
	return out
}

// oversubscription describes processes that share processors.
func oversubscription(reason string, ps []PlacedProcess, processors []int) Oversubscription {
	o := Oversubscription{Reason: reason, Processors: ProcessorList(processors), Count: len(processors), CPU: CPUShareOf(ps)}
	ranks := make([]int, len(ps))
	for i := range ps {
		ranks[i] = ps[i].Rank
		o.Threads += max(ps[i].Threads, 1)
		if at := ps[i].Placement; at != nil {
			o.NodeProcessors, o.NodeCores = max(o.NodeProcessors, at.NodeProcessors), max(o.NodeCores, at.NodeCores)
		}
	}
	o.Ranks = RankSetOf(ranks...)
	return o
}

// CPUShareOf returns the mean use of the CPU by some processes; nil if it is not known
// for any of them.
func CPUShareOf(ps []PlacedProcess) *CPUShare {
	var s CPUShare
	var wall, used, without, switches float64
	known := true
	for i := range ps {
		u := &ps[i].Usage
		if u.WallNs == 0 {
			continue
		}
		s.Ranks++
		wall += float64(u.WallNs)
		used += float64(u.UserNs + u.SystemNs)
		switches += float64(u.Involuntary)
		if none := ps[i].NoCore; none != nil {
			without += none.Share * float64(u.WallNs)
			s.AtLeast = s.AtLeast || none.AtLeast
		} else {
			known = false
		}
	}
	if s.Ranks == 0 {
		return nil
	}
	s.Used, s.Involuntary = used/wall, 1e9*switches/wall
	if share := min(without/wall, 1); known {
		s.WithoutProcessor = &share
	}
	s.AtLeast = s.AtLeast && known
	return &s
}

// tooFewProcessors finds sets of processes with more threads than processors on which
// they may run: all processes of a host, or some that are bound to the same processors.
func tooFewProcessors(ps []PlacedProcess) []Oversubscription {
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

// tooSmallLimits finds control groups whose limit of CPU time is less than what the
// threads of their processes can use.
func tooSmallLimits(ps []PlacedProcess) []Oversubscription {
	byGroup := map[uint64][]PlacedProcess{}
	for _, p := range ps {
		if p.Placement != nil && p.Placement.CPULimit > 0 {
			byGroup[p.Placement.LimitGroup] = append(byGroup[p.Placement.LimitGroup], p)
		}
	}
	var out []Oversubscription
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		in := byGroup[group]
		o := oversubscription(TooSmallLimit, in, processorsOf(in))
		o.CPULimit = in[0].Placement.CPULimit
		if math.Ceil(o.CPULimit) < float64(min(o.Threads, max(o.Count, 1))) {
			out = append(out, o)
		}
	}
	return out
}

// waitedForOthers finds processes that had to wait for processors although there are
// enough of them, because processes of other jobs use them. It ignores the ranks of
// oversubscribed.
func waitedForOthers(ps []PlacedProcess, oversubscribed []Oversubscription) []Oversubscription {
	var waited []PlacedProcess
	for _, p := range ps {
		if slices.ContainsFunc(oversubscribed, func(o Oversubscription) bool { return o.Ranks.Contains(p.Rank) }) {
			continue
		}
		if s := CPUShareOf([]PlacedProcess{p}); s != nil && p.Usage.WallNs >= minWallNs && s.waited() {
			waited = append(waited, p)
		}
	}
	if len(waited) == 0 {
		return nil
	}
	return []Oversubscription{oversubscription(OtherProcesses, waited, processorsOf(waited))}
}

// processorsOf returns the processors on which processes may run, as far as they
// are known.
func processorsOf(ps []PlacedProcess) []int {
	var may []int
	for _, p := range ps {
		if p.Placement != nil {
			processors, _ := ParseProcessors(p.Placement.Processors)
			may = append(may, processors...)
		}
	}
	slices.Sort(may)
	return slices.Compact(may)
}

// waited reports whether the ranks had to wait for processors.
func (s *CPUShare) waited() bool {
	if s.WithoutProcessor != nil {
		return *s.WithoutProcessor >= MinNoCore
	}
	return s.Used < 1-leastUsed && s.Involuntary > minInvoluntary
}

// assignment assigns threads to processors, one each, as far as possible. It is a
// bipartite matching in which the processes with the same affinity mask are one group.
type assignment struct {
	groups []maskGroup
	holder map[int]int  // group that holds each processor
	seen   map[int]bool // groups that the last search visited
}

type maskGroup struct {
	processes  []PlacedProcess
	threads    int
	processors []int
	crowded    bool // it is part of an Oversubscription already
}

func newAssignment(ps []PlacedProcess) *assignment {
	a := &assignment{holder: map[int]int{}}
	at := map[string]int{}
	for _, p := range ps {
		if p.Placement == nil || p.Placement.Processors == "" {
			continue
		}
		g, ok := at[p.Placement.Processors]
		if !ok {
			processors, err := ParseProcessors(p.Placement.Processors)
			if err != nil {
				continue
			}
			g = len(a.groups)
			at[p.Placement.Processors] = g
			a.groups = append(a.groups, maskGroup{processors: processors})
		}
		a.groups[g].processes = append(a.groups[g].processes, p)
		a.groups[g].threads += max(p.Threads, 1)
	}
	return a
}

// assign assigns a processor to one thread of a group, moving threads of other groups
// if necessary. It returns false if there is no processor for it.
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

// crowd returns the processes of all groups that the failed search visited, and their
// processors: together they have more threads than processors. Later searches ignore
// them.
func (a *assignment) crowd() (ps []PlacedProcess, processors []int) {
	for _, g := range slices.Sorted(maps.Keys(a.seen)) {
		a.groups[g].crowded = true
		ps = append(ps, a.groups[g].processes...)
		processors = append(processors, a.groups[g].processors...)
	}
	slices.Sort(processors)
	slices.SortFunc(ps, func(a, b PlacedProcess) int { return cmp.Compare(a.Rank, b.Rank) })
	return ps, slices.Compact(processors)
}
