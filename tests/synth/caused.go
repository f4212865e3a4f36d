package synth

import (
	"fmt"
	"time"
)

// Caused is a job whose ranks wait for one reason. Class is the name of the class, Ranks are the
// ranks to name, and Before and After the calls around the computing that is the reason.
type Caused struct {
	Name          string
	Class         string
	Ranks         []int
	Before, After Line
	plan          func(p *Plan, out bool)
}

// Line is a call of a job, by its function and its line in app.c.
type Line struct {
	Call string
	Line int
}

// Site returns the call site.
func (l Line) Site() string { return step(l.Line) }

// Job returns the job, or the same without the reason: the work is even, is done by all, or comes
// after the send.
func (c *Caused) Job(ranks int, without bool) *Schedule {
	return NewSchedule(fmt.Sprint("caused-", c.Name, "-", without), ranks, func(p *Plan) { c.plan(p, without) })
}

const causedSteps = 24

const ms = time.Millisecond

// Lines of the calls of these jobs.
var (
	atAllreduce = Line{"Allreduce", 60}
	atBarrier   = Line{"Barrier", 61}
	atBcast     = Line{"Bcast", 62}
	atSend      = Line{"Send", 40}
	atRecv      = Line{"Recv", 41}
	atIrecv     = Line{"Irecv", 42}
	atIsend     = Line{"Isend", 44}
	atWaitall   = Line{"Waitall", 46}
	atAnswer    = Line{"Send", 50} // of a server
	atRequest   = Line{"Recv", 51}
	atLogBegins = Line{"Iprobe", 70}
	atLogEnds   = Line{"Iprobe", 71}
)

// CausedJobs are jobs of 8 ranks.
func CausedJobs() []Caused {
	return []Caused{
		{Name: "imbalance", Class: "imbalance", Ranks: []int{5}, Before: atAllreduce, After: atIrecv, plan: heavyRank},
		{Name: "halo", Class: "imbalance", Ranks: []int{5}, Before: atWaitall, After: atIrecv, plan: heavyHalo},
		{Name: "stairs", Class: "imbalance", Ranks: []int{4, 5, 6, 7}, Before: atAllreduce, After: atAllreduce, plan: stairs},
		{Name: "phases", Class: "imbalance", Ranks: []int{4, 5, 6, 7}, Before: atBarrier, After: atAllreduce, plan: phases},
		{Name: "in turn", Class: "varying-work", Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, Before: atBarrier, After: atBarrier, plan: inTurn},
		{Name: "late sender", Class: "order", Ranks: []int{0}, Before: atBarrier, After: atSend, plan: lateSender},
		{Name: "late receiver", Class: "order", Ranks: []int{1}, Before: atBarrier, After: atRecv, plan: lateReceiver},
		{Name: "late receiver of all", Class: "order", Ranks: []int{0}, Before: atBarrier, After: atRecv, plan: lateReceiverOfAll},
		{Name: "late root", Class: "imbalance", Ranks: []int{0}, Before: atBarrier, After: atBcast, plan: lateRoot},
		{Name: "server", Class: "imbalance", Ranks: []int{0}, Before: atRequest, After: atAnswer, plan: server},
		{Name: "log", Class: "imbalance", Ranks: []int{0}, Before: atLogBegins, After: atLogEnds, plan: logOfOne},
		{Name: "last", Class: "imbalance", Ranks: []int{0}, Before: atLogBegins, After: atLogEnds, plan: lastOfOne},
		{Name: "chain", Class: "chain", Ranks: []int{1, 2, 3, 4, 5, 6}, Before: atRecv, After: atSend, plan: inChain},
	}
}

// share returns what a rank does of work that one rank does alone, or all share.
func share(p *Plan, alone time.Duration, only, shared bool) time.Duration {
	switch {
	case shared:
		return alone / time.Duration(p.Ranks)
	case only:
		return alone
	}
	return 0
}

func (p *Plan) halo() {
	left, right := (p.Rank+p.Ranks-1)%p.Ranks, (p.Rank+1)%p.Ranks
	requests := []int{p.Irecv(atIrecv.Line, left), p.Irecv(atIrecv.Line+1, right), p.Isend(atIsend.Line, right, 4096), p.Isend(atIsend.Line+1, left, 4096)}
	p.Waitall(atWaitall.Line, requests...)
}

// even returns the work of a rank: with even it is at most the mean of all.
func even(p *Plan, of func(rank int) time.Duration, even bool) time.Duration {
	mine := of(p.Rank)
	if !even {
		return mine
	}
	sum := time.Duration(0)
	for r := range p.Ranks {
		sum += of(r)
	}
	return min(mine, sum/time.Duration(p.Ranks))
}

func heavy(rank int) time.Duration {
	if rank == 5 {
		return 12 * ms
	}
	return 6 * ms
}

func heavyRank(p *Plan, out bool) {
	for range causedSteps {
		p.All("Allreduce", atAllreduce.Line)
		p.Work(even(p, heavy, out))
		p.halo()
	}
}

func heavyHalo(p *Plan, out bool) {
	p.halo()
	for range causedSteps {
		p.Work(even(p, heavy, out))
		p.halo()
	}
}

func stairs(p *Plan, out bool) {
	for range causedSteps {
		p.All("Allreduce", atAllreduce.Line)
		p.Work(even(p, func(r int) time.Duration { return 3*ms + time.Duration(r)*9*ms/8 }, out))
	}
	p.All("Allreduce", atAllreduce.Line)
}

// phases cancel: each half of the ranks computes longer in one of two phases. Only the second is
// taken out.
func phases(p *Plan, out bool) {
	half := func(first bool) func(int) time.Duration {
		return func(r int) time.Duration {
			if (r < p.Ranks/2) == first {
				return 12 * ms
			}
			return 4 * ms
		}
	}
	for range causedSteps {
		p.Work(even(p, half(true), false))
		p.All("Barrier", atBarrier.Line)
		p.Work(even(p, half(false), out))
		p.All("Allreduce", atAllreduce.Line)
	}
}

// inTurn: in each step another rank is late.
func inTurn(p *Plan, out bool) {
	p.All("Barrier", atBarrier.Line)
	for s := range causedSteps {
		switch {
		case out:
			p.Work((14*ms + 5*ms*time.Duration(p.Ranks-1)) / time.Duration(p.Ranks))
		case s%p.Ranks == p.Rank:
			p.Work(14 * ms)
		default:
			p.Work(5 * ms)
		}
		p.All("Barrier", atBarrier.Line)
	}
}

func lateSender(p *Plan, out bool) {
	for range causedSteps {
		p.All("Barrier", atBarrier.Line)
		switch {
		case p.Rank%2 == 1:
			p.Work(1 * ms)
			p.Recv(atRecv.Line, p.Rank-1)
			p.Work(9 * ms)
		case out:
			p.Send(atSend.Line, p.Rank+1, 64)
			p.Work(10 * ms)
		default:
			p.Work(9 * ms)
			p.Send(atSend.Line, p.Rank+1, 64)
			p.Work(1 * ms)
		}
	}
}

func lateReceiver(p *Plan, out bool) {
	for range causedSteps {
		p.All("Barrier", atBarrier.Line)
		switch {
		case p.Rank%2 == 0:
			p.Work(1 * ms)
			p.Send(atSend.Line, p.Rank+1, 2<<20)
			p.Work(9 * ms)
		case out:
			r := p.Irecv(atIrecv.Line, p.Rank-1)
			p.Work(9 * ms)
			p.Waitall(atWaitall.Line, r)
			p.Work(1 * ms)
		default:
			p.Work(9 * ms)
			p.Recv(atRecv.Line, p.Rank-1)
			p.Work(1 * ms)
		}
	}
}

// lateReceiverOfAll: rank 0 receives from all others.
func lateReceiverOfAll(p *Plan, out bool) {
	for range causedSteps {
		p.All("Barrier", atBarrier.Line)
		if p.Rank > 0 {
			p.Work(1 * ms)
			p.Send(atSend.Line, 0, 2<<20)
			p.Work(9 * ms)
			continue
		}
		var requests []int
		if out {
			for from := 1; from < p.Ranks; from++ {
				requests = append(requests, p.Irecv(atIrecv.Line, from))
			}
		}
		p.Work(9 * ms)
		if out {
			p.Waitall(atWaitall.Line, requests...)
		}
		for from := 1; from < p.Ranks && !out; from++ {
			p.Recv(atRecv.Line, from)
		}
		p.Work(1 * ms)
	}
}

func lateRoot(p *Plan, out bool) {
	for range causedSteps {
		p.All("Barrier", atBarrier.Line)
		p.Work(share(p, 8*ms, p.Rank == 0, out))
		p.Bcast(atBcast.Line, 0)
		p.Work(4 * ms)
	}
}

// server: rank 0 answers each of the others in turn.
func server(p *Plan, out bool) {
	const serve = ms / 5
	for range 2 * causedSteps {
		if p.Rank > 0 {
			p.Work(ms / 2)
			p.Send(atSend.Line, 0, 64)
			if out {
				p.Work(share(p, serve*time.Duration(p.Ranks-1), false, true))
			}
			p.Recv(atRecv.Line, 0)
			continue
		}
		for to := 1; to < p.Ranks; to++ {
			p.Recv(atRequest.Line, to)
			p.Work(share(p, serve, true, out))
			p.Send(atAnswer.Line, to, 64)
		}
	}
}

// logOfOne: one rank writes a log.
func logOfOne(p *Plan, out bool) {
	for range causedSteps {
		p.Work(5 * ms)
		if p.Rank == 0 {
			p.Local(atLogBegins.Line)
			p.Work(share(p, 5*ms, true, out))
			p.Local(atLogEnds.Line)
		} else {
			p.Work(share(p, 5*ms, false, out))
		}
		p.All("Allreduce", atAllreduce.Line)
	}
}

// lastOfOne: rank 0 computes alone at the end, and the others wait for it in Finalize. Without the
// reason, all share the work.
func lastOfOne(p *Plan, out bool) {
	for range causedSteps {
		p.Work(5 * ms)
		p.All("Allreduce", atAllreduce.Line)
	}
	if p.Rank > 0 {
		p.Work(share(p, 160*ms, false, out))
		return
	}
	p.Local(atLogBegins.Line)
	p.Work(share(p, 160*ms, true, out))
	p.Local(atLogEnds.Line)
}

// inChain: each rank computes when it has the message of the one before. Without the chain, all
// compute at the same time.
func inChain(p *Plan, out bool) {
	for range causedSteps / 4 {
		if p.Rank > 0 && !out {
			p.Recv(atRecv.Line, p.Rank-1)
		}
		p.Work(6 * ms)
		if p.Rank < p.Ranks-1 && !out {
			p.Send(atSend.Line, p.Rank+1, 4096)
		}
		p.All("Barrier", atBarrier.Line)
	}
}
