package aggregate

import (
	"fmt"
	"io"
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// textOversubscribed is how many of them the text form lists.
const textOversubscribed = 4

// OversubscriptionText writes a line for each, and what the ranks had of their cores.
// It names hosts if the job has more ranks than one of them.
func OversubscriptionText(w io.Writer, list []Oversubscription, ranks int, o TextOptions) {
	for i := range list {
		if i == textOversubscribed {
			fmt.Fprintf(w, "and %s (all in --json)\n", CountOf(uint64(len(list)-i), "more set")+" of ranks that shared cores")
			break
		}
		s := &list[i]
		of := ""
		if s.HostRanks < ranks {
			of = " of " + o.clean(s.Host)
		}
		fmt.Fprintf(w, "%s; waiting includes waiting for a core\n", s.line(of))
		if s.CPU != nil {
			fmt.Fprintf(w, "  ranks %s each\n", s.CPU.line("their"))
		}
	}
}

// line says who shared what.
func (s *Oversubscription) line(of string) string {
	switch who := s.who(); {
	case s.Reason == TooSmallLimit:
		return fmt.Sprintf("oversubscribed: %s%s in a control group that may use the time of %.3g cores", who, of, s.CPULimit)
	case s.Reason == OtherProcesses:
		whose := "their"
		if s.Ranks.Len() == 1 {
			whose = "its"
		}
		return fmt.Sprintf("%s%s shared %s cores with other processes or threads", s.Ranks, of, whose)
	case s.NodeProcessors > s.Count || s.Ranks.Len() < s.HostRanks:
		return fmt.Sprintf("oversubscribed: %s may run on %s%s only (%s)", who, s.cores(s.Count), s.outOf(of), s.Processors)
	default:
		return fmt.Sprintf("oversubscribed: %s on %s%s", who, s.cores(s.Count), of)
	}
}

// who reads "16 ranks" where it is all on the host, else "ranks 0-3"; with their
// threads if these are more.
func (s *Oversubscription) who() string {
	text := s.Ranks.String()
	if n := s.Ranks.Len(); n == s.HostRanks {
		text = CountOf(uint64(n), "rank")
	}
	if s.Threads > s.Ranks.Len() {
		text += fmt.Sprintf(" with %s", CountOf(uint64(s.Threads), "thread"))
	}
	return text
}

// cores calls processors cores where each core has one.
func (s *Oversubscription) cores(n int) string {
	if s.NodeProcessors > s.NodeCores && s.NodeCores > 0 {
		return CountOf(uint64(n), "hardware thread")
	}
	return CountOf(uint64(n), "core")
}

func (s *Oversubscription) outOf(of string) string {
	if s.NodeProcessors > s.Count {
		return fmt.Sprintf(" of the %d%s", s.NodeProcessors, of)
	}
	return of
}

// line says how much of a core the ranks had.
func (c *CPUShare) line(whose string) string {
	waited, of := "", "of "+whose+" time"
	if c.WithoutProcessor != nil {
		waited, of = fmt.Sprintf("waited for a core %s %s; ", percent(*c.WithoutProcessor), of), "of it"
	}
	return fmt.Sprintf("%sused a core %s %s; %s involuntary context switches a second", waited, percent(c.Used), of, count(uint64(math.Round(c.Involuntary))))
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

// placementText says where a rank ran and how much it had of its processors.
func (s *RankSummary) placementText(w io.Writer, o TextOptions) {
	for i := range s.Ranks {
		at, cpu := s.Ranks[i].Placement, s.Ranks[i].CPU
		if at != nil && at.Processors != "" {
			fmt.Fprintf(w, "processors: %s%s\n", o.clean(at.Processors), nodeText(at))
		}
		if cpu != nil {
			fmt.Fprintf(w, "%s\n", cpu.line("its"))
		}
	}
	OversubscriptionText(w, s.Oversubscribed, 1, o)
}

func nodeText(at *profile.Placement) string {
	if at.NodeProcessors == 0 {
		return ""
	}
	text := fmt.Sprintf(" of the node's %d", at.NodeProcessors)
	if at.NodeCores > 0 && at.NodeSockets > 0 {
		text += fmt.Sprintf(" (%s, %s)", CountOf(uint64(at.NodeCores), "core"), CountOf(uint64(at.NodeSockets), "socket"))
	}
	return text
}
