package table

import "github.com/mpitrace/mpitrace/profile"

// placementColumns returns the columns of ranks.arrow about the processors that
// a process ran on, and the resources that it used.
func placementColumns() []Column[*profile.Profile] {
	type row = *profile.Profile
	node := func(name, what string, get func(*profile.Placement) int) Column[row] {
		return OptionalNumbers(name, what, what+" of the node; null if not known", func(p row) (int32, bool) {
			if p.Placement == nil {
				return 0, false
			}
			n := get(p.Placement)
			return int32(n), n > 0
		})
	}
	used := func(name, unit, doc string, get func(profile.Usage) uint64) Column[row] {
		return OptionalNumbers(name, unit, doc+", from init_end on; null if not known", func(p row) (uint64, bool) {
			sum, ok := profile.TotalUsage(p.Usage)
			return get(sum), ok
		})
	}
	threads := func(name, unit, doc string, get func(*profile.ThreadUse) uint64) Column[row] {
		return OptionalNumbers(name, unit, doc+"; null if not known", func(p row) (uint64, bool) {
			if p.ThreadUse == nil {
				return 0, false
			}
			return get(p.ThreadUse), true
		})
	}
	return []Column[row]{
		OptionalWords("processors", "processors (hardware threads) on which the process may run, such as 0-3,8; null if not known", processors),
		OptionalDoubles("cpu_limit", "processors", "number of processors whose time the control group of the process may use; null if there is no limit", cpuLimit),
		node("node_processors", "hardware threads", func(at *profile.Placement) int { return at.NodeProcessors }),
		node("node_cores", "cores", func(at *profile.Placement) int { return at.NodeCores }),
		node("node_sockets", "sockets", func(at *profile.Placement) int { return at.NodeSockets }),
		used("usage_ns", "ns", "time that the next four columns cover, up to finalize_start or to the last slice that ended", func(u profile.Usage) uint64 { return u.WallNs }),
		used("cpu_user_ns", "ns", "CPU time of all threads in the program and its libraries", func(u profile.Usage) uint64 { return u.UserNs }),
		used("cpu_system_ns", "ns", "CPU time of all threads in the kernel", func(u profile.Usage) uint64 { return u.SystemNs }),
		used("voluntary_switches", "switches", "context switches in which a thread began to wait", func(u profile.Usage) uint64 { return u.Voluntary }),
		used("involuntary_switches", "switches", "context switches in which a thread lost the processor or yielded it", func(u profile.Usage) uint64 { return u.Involuntary }),
		OptionalNumbers("run_delay_ns", "ns", "time within usage_ns in which the main thread was ready to run but had no processor; null if not known", runDelay),
		threads("busy_threads", "threads", "threads at finalize_start with at least 5 % of the CPU time of the busiest", func(u *profile.ThreadUse) uint64 { return uint64(u.Busy) }),
		threads("calling_cpu_ns", "ns", "CPU time of the threads that made calls, over their lifetimes", func(u *profile.ThreadUse) uint64 { return u.CPUNs }),
		threads("calling_delay_ns", "ns", "time in which these threads were ready to run but had no processor", func(u *profile.ThreadUse) uint64 { return u.DelayNs }),
		threads("calling_unknown", "0 or 1", "1 if the last two columns lack some threads", func(u *profile.ThreadUse) uint64 {
			if u.Incomplete {
				return 1
			}
			return 0
		}),
	}
}

func processors(p *profile.Profile) (list string, ok bool) {
	if p.Placement != nil {
		list = p.Placement.Processors
	}
	return list, list != ""
}

func cpuLimit(p *profile.Profile) (limit float64, ok bool) {
	if p.Placement != nil {
		limit = p.Placement.CPULimit
	}
	return limit, limit > 0
}

func runDelay(p *profile.Profile) (ns uint64, ok bool) {
	sum, ok := profile.TotalUsage(p.Usage)
	return sum.RunDelayNs, ok && sum.DelayKnown
}
