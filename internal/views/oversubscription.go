package views

import (
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// mostShared is the largest number of sets of ranks that are listed.
const mostShared = 4

// shared adds, for each set of ranks that shared cores, which cores they were and how much of a
// core each rank had. It names the host unless all ranks ran on it.
func shared(out *Section, sets []profile.Oversubscription, ranks int) {
	l := Listing{Limit: mostShared, More: text.CountOf(max(0, len(sets)-mostShared), "more set") + " of ranks that shared cores (all in --json)"}
	for i := range sets {
		s := &sets[i]
		of := ""
		if s.HostRanks < ranks {
			of = " of " + s.Host
		}
		item := ListItem{Text: sharedText(s, of) + "; waiting includes waiting for a core"}
		if s.CPU != nil {
			item.Items = []ListItem{{Text: fmt.Sprintf("ranks %s each", cpuText(s.CPU, "their"))}}
		}
		l.Items = append(l.Items, item)
	}
	out.List(l)
}

// sharedText returns which ranks shared which cores.
func sharedText(s *profile.Oversubscription, of string) string {
	switch who := who(s); {
	case s.Reason == profile.TooSmallLimit:
		return fmt.Sprintf("oversubscribed: %s%s in a control group that may use the time of %.3g cores", who, of, s.CPULimit)
	case s.Reason == profile.OtherProcesses:
		whose := "their"
		if s.Ranks.Len() == 1 {
			whose = "its"
		}
		return fmt.Sprintf("%s%s shared %s cores with other processes or threads", s.Ranks, of, whose)
	case s.NodeProcessors > s.Count || s.Ranks.Len() < s.HostRanks:
		return fmt.Sprintf("oversubscribed: %s may run on %s%s only (%s)", who, cores(s, s.Count), outOf(s, of), s.Processors)
	default:
		return fmt.Sprintf("oversubscribed: %s on %s%s", who, cores(s, s.Count), of)
	}
}

// who returns "16 ranks" if these are all ranks on the host, otherwise "ranks
// 0-3". It adds the number of threads if there are more threads than ranks.
func who(s *profile.Oversubscription) string {
	words := s.Ranks.String()
	if n := s.Ranks.Len(); n == s.HostRanks {
		words = text.CountOf(n, "rank")
	}
	if s.Threads > s.Ranks.Len() {
		words += fmt.Sprintf(" with %s", text.CountOf(s.Threads, "thread"))
	}
	return words
}

// cores returns a number of processors. They are called cores if each core has one
// hardware thread.
func cores(s *profile.Oversubscription, n int) string {
	if s.NodeProcessors > s.NodeCores && s.NodeCores > 0 {
		return text.CountOf(n, "hardware thread")
	}
	return text.CountOf(n, "core")
}

func outOf(s *profile.Oversubscription, of string) string {
	if s.NodeProcessors > s.Count {
		return fmt.Sprintf(" of the %d%s", s.NodeProcessors, of)
	}
	return of
}

// cpuText returns how much of a core the ranks used, and how long they waited
// for one.
func cpuText(c *profile.CPUShare, whose string) string {
	waited, of := "", "of "+whose+" time"
	if c.WithoutProcessor != nil {
		waited, of = fmt.Sprintf("had no core %s%s %s; ", atLeast(c.AtLeast), text.Percent(*c.WithoutProcessor), of), "of it"
	}
	return fmt.Sprintf("%sused a core %s %s; %s involuntary context switches a second", waited, text.Percent(c.Used), of, text.Count(uint64(math.Round(c.Involuntary))))
}

func atLeast(is bool) string {
	if is {
		return "at least "
	}
	return ""
}

// cores adds how long the ranks of a job had no core, and how many cores they used. c may be nil.
func (s *Section) cores(c *aggregate.Cores) {
	if c == nil || c.NoCore == nil && c.Used == nil {
		return
	}
	words := "no core " + percentOf(c.NoCore, c.NoCoreAtLeast) + " of the time"
	if c.Used != nil && c.Available != nil {
		words += fmt.Sprintf("; outside MPI a rank uses %s of %s on average", text.Number(*c.Used), coreCount(*c.Available))
	}
	s.Fact("cores", words)
	if c.HybridEfficiency != nil && c.ThreadEfficiency != nil {
		s.Fact("hybrid efficiency", fmt.Sprintf("%s = parallel efficiency × thread efficiency %s", text.Percent(*c.HybridEfficiency), text.Percent(*c.ThreadEfficiency)))
	}
}

func coreCount(cores float64) string {
	if n := text.Number(cores); n != "1" {
		return n + " cores"
	}
	return "1 core"
}

// percentOf returns a share, or unknown if it is nil.
func percentOf(share *float64, least bool) string {
	if share == nil {
		return unknown
	}
	return atLeast(least) + text.Percent(*share)
}

// placement adds where a rank ran and how much of its processors it used.
func (s *report) placement(out *Section) {
	for i := range s.Ranks {
		at, cpu := s.Ranks[i].Placement, s.Ranks[i].CPU
		if at != nil && at.Processors != "" {
			out.Fact("processors", at.Processors+nodeText(at))
		}
		if cpu != nil {
			out.Say(cpuText(cpu, "its"))
		}
	}
	shared(out, s.Oversubscribed, 1)
}

func nodeText(at *profile.Placement) string {
	if at.NodeProcessors == 0 {
		return ""
	}
	words := fmt.Sprintf(" of the node's %d", at.NodeProcessors)
	if at.NodeCores > 0 && at.NodeSockets > 0 {
		words += fmt.Sprintf(" (%s, %s)", text.CountOf(at.NodeCores, "core"), text.CountOf(at.NodeSockets, "socket"))
	}
	return words
}
