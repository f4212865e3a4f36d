package findings

import (
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// oversubscribed holds if ranks have more threads than cores, and had no core for a while.
func oversubscribed(j *facts) *Finding {
	f, first := noCore(j, func(o *profile.Oversubscription) bool { return o.Reason != profile.OtherProcesses })
	if f == nil {
		return nil
	}
	verb := "run"
	if first.Ranks.Len() == 1 {
		verb = "runs"
	}
	who := fmt.Sprintf("%s on %s", sentence(first.Ranks), first.Host)
	words := fmt.Sprintf("%s %s %s on %s.", who, verb, text.CountOf(max(first.Threads, first.Ranks.Len()), "thread"), text.CountOf(first.Count, "core"))
	if first.Reason == profile.TooSmallLimit {
		words = fmt.Sprintf("%s may use the time of %s cores only: the limit of the control group.", who, text.Number(first.CPULimit))
	}
	f.Text = words + f.Text
	f.Try = "Start fewer ranks or threads on a node, or give them more cores (allocation, binding)." + f.Try
	return f
}

// coresTaken holds if ranks had no core for a while although there are as many cores as threads.
func coresTaken(j *facts) *Finding {
	f, first := noCore(j, func(o *profile.Oversubscription) bool { return o.Reason == profile.OtherProcesses })
	if f == nil {
		return nil
	}
	verb := "have"
	if first.Ranks.Len() == 1 {
		verb = "has"
	}
	f.Text = fmt.Sprintf("%s on %s %s enough cores, but others use them: other programs, or threads that are bound to one core.", sentence(first.Ranks), first.Host, verb) + f.Text
	f.Try = fmt.Sprintf("See what else runs on %s (top), and ask for the whole node (srun --exclusive).", first.Host) + f.Try
	return f
}

// noCore returns a finding about the sets of ranks for which is returns true, with the ends of its
// texts, and all sets that are like the first one as one set. It ignores sets whose ranks hardly wait
// for a core. The finding has no share if the kernel does not tell how long the ranks wait.
func noCore(j *facts, is func(*profile.Oversubscription) bool) (*Finding, *profile.Oversubscription) {
	var first *profile.Oversubscription
	var onFirst, ranks []int
	hosts := map[string]bool{}
	for i := range j.Oversubscribed {
		o := &j.Oversubscribed[i]
		if !is(o) || !waits(o) {
			continue
		}
		switch {
		case first == nil:
			copied := *o
			first = &copied
		case like(o, first):
			first.Threads, first.Count, first.CPULimit = first.Threads+o.Threads, first.Count+o.Count, first.CPULimit+o.CPULimit
		}
		hosts[o.Host] = true
		if ranks = slices.AppendSeq(ranks, o.Ranks.All()); like(o, first) {
			onFirst = slices.AppendSeq(onFirst, o.Ranks.All())
		}
	}
	if first == nil {
		return nil, nil
	}
	first.Ranks = profile.RankSetOf(onFirst...)
	f := &Finding{Ranks: profile.RankSetOf(ranks...)}
	if n := len(hosts) - 1; n > 0 {
		f.Text = fmt.Sprintf(" Ranks on %s lack cores too.", text.CountOf(n, "other node"))
	}
	var without, own float64 // s
	atLeast := ""
	for i := range j.Ranks {
		r := &j.Ranks[i]
		if c := r.Cores; c != nil && c.NoCore != nil && f.Ranks.Contains(r.Rank) {
			without += *c.NoCore * r.ApplicationTimeS
			own += r.ApplicationTimeS
			if c.NoCoreAtLeast {
				atLeast = "at least "
			}
		}
	}
	if own == 0 || j.POP == nil {
		return f, first
	}
	f.Share, f.Of = min(j.shareOf(1e9*without), 1), OfTime
	pronoun := "They have"
	if f.Ranks.Len() == 1 {
		pronoun = "It has"
	}
	f.Text += fmt.Sprintf(" %s no core in %s%s of the time.", pronoun, atLeast, text.Percent(without/own))
	if f.Share > noCoreLarge {
		f.Try += " Other times are not reliable."
	}
	return f, first
}

// like reports whether two sets of ranks can be added: a rank may be in two sets of a host for
// different reasons.
func like(a, b *profile.Oversubscription) bool { return a.Host == b.Host && a.Reason == b.Reason }

// waits reports whether the ranks of a set had no core for a while. If others use the cores, the time is
// the mean over all ranks of the host.
func waits(o *profile.Oversubscription) bool {
	if o.CPU == nil || o.CPU.WithoutProcessor == nil {
		return true
	}
	share := *o.CPU.WithoutProcessor
	if o.Reason == profile.OtherProcesses {
		share *= float64(o.Ranks.Len()) / float64(max(o.HostRanks, o.Ranks.Len()))
	}
	return share >= profile.MinNoCore
}

// mostlyIdle is the largest part of its cores that a rank uses if its cores count as idle.
const mostlyIdle = 0.5

// idleCores holds if ranks use at most half of their cores outside MPI, although others do not take
// these cores. The finding has no share, because time of cores is not time of ranks.
func idleCores(j *facts) *Finding {
	if j.POP == nil || j.POP.RuntimeNs < leastRunNs {
		return nil
	}
	var ranks []int
	var used, available, couldSave float64
	for i := range j.Ranks {
		r := &j.Ranks[i]
		c := r.Cores
		if c == nil || c.Used == nil || c.Available == nil || *c.Available <= 1 || wanted(c) > mostlyIdle**c.Available {
			continue
		}
		useful, _ := r.UsefulNs()
		couldSave += useful * (1 - *c.Used / *c.Available)
		used, available = used+*c.Used, available+*c.Available
		ranks = append(ranks, r.Rank)
	}
	if len(ranks) == 0 || j.shareOf(couldSave) < leastShare {
		return nil
	}
	n := float64(len(ranks))
	f := &Finding{Ranks: profile.RankSetOf(ranks...), Try: "Start more threads (OMP_NUM_THREADS) and bind them to different cores, or start more ranks."}
	verb, each := "uses", ""
	if len(ranks) > 1 {
		verb, each = "use", " each, on average"
	}
	f.Text = fmt.Sprintf("Outside MPI, %s %s %s of %s cores%s.", f.Ranks, verb, text.Number(used/n), text.Number(available/n), each)
	return f
}

// wanted returns how many cores a rank would use outside MPI if it had a core whenever it was ready
// to run.
func wanted(c *aggregate.RankCores) float64 {
	if c.NoCore == nil {
		return *c.Used
	}
	return *c.Used / max(1-*c.NoCore, leastShare)
}
