package report

import (
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// textOversubscribed is the largest number of sets of ranks that are printed.
const textOversubscribed = 4

// oversubscriptionText prints, for each set of ranks that shared cores, which
// cores they were and how much of a core each rank had. It names the host
// unless all ranks ran on it.
func (o *printer) oversubscriptionText(list []profile.Oversubscription, ranks int) {
	list, more := top(list, textOversubscribed)
	for i := range list {
		s := &list[i]
		of := ""
		if s.HostRanks < ranks {
			of = " of " + o.clean(s.Host)
		}
		o.printf("%s; waiting includes waiting for a core\n", sharedText(s, of))
		if s.CPU != nil {
			o.printf("  ranks %s each\n", cpuText(s.CPU, "their"))
		}
	}
	o.more(more, "set", " of ranks that shared cores (all in --json)")
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
		waited, of = fmt.Sprintf("waited for a core %s %s; ", text.Percent(*c.WithoutProcessor), of), "of it"
	}
	return fmt.Sprintf("%sused a core %s %s; %s involuntary context switches a second", waited, text.Percent(c.Used), of, text.Count(uint64(math.Round(c.Involuntary))))
}
