package synth

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// Fault is something wrong with a job: what `mpitrace report` must say first. Share,
// Saves and the numbers in Text follow from formulas.
type Fault struct {
	Name  string
	Rule  string          // of the finding that names the fault
	Ranks profile.RankSet // named by the finding; empty if it is about all ranks
	Site  string          // of the call that the finding names; empty if it names none
	Share float64         // of ranks × run time, or of the bytes
	Saves float64         // seconds of the run time
	Text  string          // part of the finding
	plant func(b *rows)   // adds the rows of a rank
}

// Times of a job with a fault, in ns. Each rank computes whenever it is in no call.
const (
	faultyRun  = 10_000_000_000 // between Init and Finalize
	faultyRunS = 1e-9 * faultyRun
	briefly    = 100_000_000 // time in the call of a rank that others wait for
)

// FaultNames lists the names that NewFaulty accepts.
var FaultNames = []string{"imbalance", "collective-waits", "small-messages", "small-collectives", "hot-rank", "between-nodes",
	"set-up", "polling", "sparse", "oversubscribed", "cores-taken", "idle-cores", "killed", "lost", "files", "messages"}

// NewFaulty returns a job with a fault. If nearly is true, the job is a little below
// the thresholds of the rule and has no such fault. There must be at least 100 ranks.
func NewFaulty(name string, ranks int, nearly bool) (*Job, error) {
	j := New(name, ranks)
	pick := func(faulty, nearlyFaulty uint64) uint64 {
		if nearly {
			return nearlyFaulty
		}
		return faulty
	}
	plant, known := map[string]func(*Job, func(a, b uint64) uint64) *Fault{"imbalance": imbalance, "collective-waits": collectiveWaits,
		"small-messages": smallMessages, "small-collectives": smallCollectives, "hot-rank": hotRank, "between-nodes": betweenNodes,
		"set-up": setUpInALoop, "polling": polling, "sparse": sparse, "oversubscribed": oversubscribed, "cores-taken": coresTaken, "idle-cores": idleCores, "killed": killed, "lost": lost,
		"files": files, "messages": messages}[name]
	if !known || ranks < 100 {
		return nil, fmt.Errorf("make synthetic job: no fault %q of %d ranks: the faults are %v, of at least 100 ranks", name, ranks, FaultNames)
	}
	j.Fault = plant(j, pick)
	j.Fault.Name = name
	return j, nil
}

// faulty adds the rows of a fault and names the lines of its calls.
func (b *rows) faulty(f *Fault) {
	b.FinalizeStart = b.InitEnd + faultyRun
	f.plant(b)
	b.Symbols = profile.Symbols{}
	for i := range b.Rows {
		b.nameSite(b.Rows[i].Callsite)
	}
	for i := range b.Open {
		b.nameSite(b.Open[i].Callsite)
	}
}

func (b *rows) nameSite(site uint64) {
	b.Symbols[b.Place(site)] = profile.Symbol{Function: "step", Source: "app.c", Line: int(site-siteAt(0)) / 0x20}
}

// step returns the label of a line with a call.
func step(line int) string { return fmt.Sprintf("step app.c:%d", line) }

// lasting adds a row with the time of all its calls together; each takes as long.
func (b *rows) lasting(line int, ns uint64, r profile.Row) {
	r.Callsite, r.TimeNs = siteAt(line), ns
	if r.Calls > 0 {
		r.MinNs, r.MaxNs = ns/r.Calls, ns/r.Calls
	}
	b.Rows = append(b.Rows, r)
}

// all adds collective calls on MPI_COMM_WORLD with a message of some bytes.
func (b *rows) all(line int, ns uint64, call string, calls, bytes uint64) {
	messages := calls * uint64(b.Size-1)
	b.lasting(line, ns, profile.Row{Call: call, Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Peer: profile.PeerNone,
		SizeClass: sizeClass(bytes), Calls: calls, Messages: messages, Bytes: bytes * messages})
}

// send and recv add messages of some bytes to or from a rank.
func (b *rows) send(line int, ns uint64, call string, to int, messages, bytes uint64) {
	r := b.message(call, profile.Send, Link{Peer: to, Bytes: bytes, Messages: messages})
	r.Calls = messages
	b.lasting(line, ns, r)
}

func (b *rows) recv(line int, ns uint64, from int, messages, bytes uint64) {
	r := b.message("Recv", profile.Recv, Link{Peer: from, Bytes: bytes, Messages: messages})
	r.Calls = messages
	b.lasting(line, ns, r)
}

// next and before return the neighbours on a ring.
func (b *rows) next() int   { return (b.rank + 1) % b.Size }
func (b *rows) before() int { return (b.rank + b.Size - 1) % b.Size }

// imbalance: one rank in a hundred computes longer.
func imbalance(j *Job, pick func(a, b uint64) uint64) *Fault {
	const line = 7
	first, n := j.Ranks/2, j.Ranks/100
	slow := profile.RankSet{{First: first, Last: first + n - 1}}
	waits := pick(3_000_000_000, 900_000_000)
	longer := 1e-9 * float64(waits-briefly) * float64(j.Ranks-n) / float64(j.Ranks) // than the mean
	return &Fault{Rule: "load imbalance", Ranks: slow, Site: step(line), Share: longer / faultyRunS, Saves: longer, plant: func(b *rows) {
		ns := waits
		if slow.Contains(b.rank) {
			ns = briefly
		}
		b.all(line, ns, "Allreduce", 100, 4096)
	}}
}

// collectiveWaits: all ranks wait for one at a barrier, which waits as long elsewhere. Without a
// trace, it is not known for whom they wait.
func collectiveWaits(j *Job, pick func(a, b uint64) uint64) *Fault {
	const line, elsewhere = 12, 13
	last := j.Ranks / 3
	waits := pick(2_000_000_000, 499_000_000)
	mean := 1e-9 * float64(waits-briefly) * float64(j.Ranks-1) / float64(j.Ranks)
	return &Fault{Rule: "time in MPI", Site: step(line), Share: float64(waits) / faultyRun,
		Text: fmt.Sprintf("About %.1f %% is waiting in collectives.", 100*mean/faultyRunS), plant: func(b *rows) {
			here, there := waits, uint64(0)
			if b.rank == last {
				here, there = briefly, waits-briefly
			}
			b.all(line, here, "Barrier", 10, 0)
			b.all(elsewhere, there, "Barrier", 10, 0)
		}}
}

// smallMessages: each rank sends many small messages to the next before it waits.
func smallMessages(j *Job, pick func(a, b uint64) uint64) *Fault {
	const line, waits, bytes, each = 20, 10, 8, 600_000
	burst := pick(100, 3)
	n := burst * waits
	return &Fault{Rule: "many small messages", Site: step(line), Share: each * float64(n) / faultyRun, Saves: 1e-9 * each * float64(n-waits),
		Text: fmt.Sprintf("%d B on average, %d to a rank between two waits", bytes, burst), plant: func(b *rows) {
			b.send(line, each*n, "Isend", b.next(), n, bytes)
			r := b.message("Irecv", profile.Recv, Link{Peer: b.before(), Bytes: bytes, Messages: n})
			r.Calls = n
			b.lasting(21, 1000*n, r)
			b.lasting(22, 550_000_000, profile.Row{Call: "Waitall", Comm: -1, Peer: profile.PeerNone, Calls: waits})
		}}
}

func smallCollectives(_ *Job, pick func(a, b uint64) uint64) *Fault {
	const line, each = 30, 600_000
	n := pick(1000, 999)
	return &Fault{Rule: "many small collectives", Site: step(line), Share: each * float64(n) / faultyRun, Text: "1,000 calls of Allreduce at step app.c:30 with less than 128 bytes",
		plant: func(b *rows) { b.all(line, each*n, "Allreduce", n, 8) }}
}

// hotRank: all ranks (nearly: 5) send to rank 0, besides to the next one.
func hotRank(j *Job, pick func(a, b uint64) uint64) *Fault {
	const ring, sends, receives, each, ns = 40, 41, 42, 10, 1_000_000_000
	senders := int(pick(uint64(j.Ranks-1), 5))
	share := float64(senders+5) / float64(j.Ranks) * ns / faultyRun
	most := sends
	if senders < 5 {
		most = receives
	}
	return &Fault{Rule: "hot rank", Ranks: profile.RankSetOf(0), Site: step(most), Share: share,
		Text: fmt.Sprintf("%s messages point-to-point, the median rank %d messages", thousands(each*(senders+2)), 3*each), plant: func(b *rows) {
			b.send(ring, 0, "Send", b.next(), each, 4096)
			b.recv(ring+5, 0, b.before(), each, 4096)
			switch {
			case b.rank == 0:
				for from := 1; from <= senders; from++ {
					b.recv(receives, 5*ns/uint64(senders), from, each, 4096)
				}
			case b.rank <= senders:
				b.send(sends, ns, "Send", 0, each, 4096)
			}
			if senders < j.Ranks-1 { // the time of all in point-to-point calls, which the rule needs
				b.lasting(ring+6, ns, profile.Row{Call: "Waitall", Comm: -1, Peer: profile.PeerNone, Calls: 1})
			}
		}}
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// betweenNodes: neighbours on a ring are never on the same node (nearly: messages have
// random destinations, so no order of the ranks is better).
func betweenNodes(j *Job, pick func(a, b uint64) uint64) *Fault {
	j.RoundRobin, j.PerNode = true, 50
	ring := Ring{Ranks: j.Ranks, Messages: 50, Bytes: 4096}
	j.Graph = ring
	if pick(0, 1) == 1 {
		j.Graph = NewRandomGraph(j.Ranks, 16, 1)
	}
	var block Volume // between nodes, if they are filled one after the other
	for last := j.PerNode - 1; last < j.Ranks; last += j.PerNode {
		block.add(ring.Between(last, (last+1)%j.Ranks))
	}
	if j.Ranks%j.PerNode != 0 {
		block.add(ring.Between(j.Ranks-1, 0))
	}
	return &Fault{Rule: "bytes between nodes", Share: 1,
		Text:  fmt.Sprintf("In block order it is %.1f %%", 100*float64(block.Bytes)/float64(ring.Total().Bytes)),
		plant: func(*rows) {}}
}

func setUpInALoop(_ *Job, pick func(a, b uint64) uint64) *Fault {
	const line, each = 50, 5_000_000
	n := pick(100, 99)
	return &Fault{Rule: "set-up in a loop", Site: step(line), Share: each * float64(n) / faultyRun, Text: "100 calls of Comm_dup", plant: func(b *rows) {
		b.lasting(line, each*n, profile.Row{Call: "Comm_dup", Class: profile.Other, Peer: profile.PeerNone, Calls: n})
		b.all(51, 200_000_000, "Barrier", 1, 0)
	}}
}

// polling: ranks probe ten times for each message (nearly: nine times).
func polling(j *Job, pick func(a, b uint64) uint64) *Fault {
	const line, messages, ns = 60, 100, 1_000_000_000
	probes := messages * pick(10, 9)
	return &Fault{Rule: "busy polling", Site: step(line), Share: ns / float64(faultyRun),
		Text: fmt.Sprintf("%s calls of Test, Iprobe and the like for %s messages", thousands(j.Ranks*int(probes)), thousands(j.Ranks*messages)), plant: func(b *rows) {
			b.lasting(line, ns, profile.Row{Call: "Iprobe", Direction: profile.None, Peer: profile.PeerAnySource, Calls: probes})
			b.send(61, 0, "Send", b.next(), messages, 8)
			b.recv(62, 0, b.before(), messages, 8)
		}}
}

// sparse: each rank sends to the next two (nearly: to more than a quarter of all).
func sparse(j *Job, pick func(a, b uint64) uint64) *Fault {
	const line, calls, bytes, ns = 70, 5, 800, 1_000_000_000
	used := int(pick(2, uint64(j.Ranks-1)/4+1))
	return &Fault{Rule: "sparse all-to-all", Site: step(line), Share: ns / float64(faultyRun), Text: "on average a rank sends to 2.", plant: func(b *rows) {
		v := profile.Vector{Call: "Alltoallv", Class: profile.AllToAll, Spread: profile.ToVector, Callsite: siteAt(line), Calls: calls, Bytes: make([]uint64, b.Size)}
		for k := 1; k <= used; k++ {
			v.Bytes[(b.rank+k)%b.Size] = calls * bytes
		}
		b.Vectors = append(b.Vectors, v)
		b.lasting(line, ns, profile.Row{Call: v.Call, Class: v.Class, Direction: profile.Send, Spread: v.Spread, Peer: profile.PeerNone,
			SizeClass: sizeClass(bytes), Calls: calls, Messages: calls * uint64(b.Size-1), Bytes: calls * bytes * uint64(used)})
	}}
}

// oversubscribed: ranks have two threads for each of their processors and wait for these half of
// the time (nearly: 4.9 %).
func oversubscribed(j *Job, pick func(a, b uint64) uint64) *Fault {
	waited := pick(faultyRun/2, faultyRun*49/1000)
	return &Fault{Rule: "no core: oversubscribed", Ranks: profile.RankSet{{Last: j.Ranks - 1}}, Share: 0.5,
		Text: fmt.Sprintf("run %d threads on %d cores. Ranks on", 2*j.PerNode, j.PerNode), plant: func(b *rows) {
			b.onCores(b.rank%j.PerNode, b.rank%j.PerNode, 2, faultyRun-waited, faultyRun-waited, waited)
		}}
}

// coresTaken: ranks have a processor each, and wait for it half of the time (nearly: 4.9 %).
func coresTaken(j *Job, pick func(a, b uint64) uint64) *Fault {
	waited := pick(faultyRun/2, faultyRun*49/1000)
	return &Fault{Rule: "no core: others use the cores", Ranks: profile.RankSet{{Last: j.Ranks - 1}}, Share: 0.5, Text: "no core in 50.0 % of the time", plant: func(b *rows) {
		b.onCores(b.rank%j.PerNode, b.rank%j.PerNode, 1, faultyRun-waited, faultyRun-waited, waited)
	}}
}

// idleCores: ranks use two of four processors outside MPI (nearly: 2.1).
func idleCores(j *Job, pick func(a, b uint64) uint64) *Fault {
	others := pick(faultyRun, faultyRun*11/10) // CPU time of threads that make no call
	return &Fault{Rule: "idle cores", Ranks: profile.RankSet{{Last: j.Ranks - 1}}, Text: "use 2 of 4 cores each", plant: func(b *rows) {
		first := 4 * (b.rank % j.PerNode)
		b.onCores(first, first+3, 2, faultyRun, faultyRun+others, 0)
	}}
}

// onCores binds a rank to some processors. Of its busy threads, one makes calls.
func (b *rows) onCores(first, last, busy int, callingCPU, allCPU, delay uint64) {
	b.Placement = &profile.Placement{Processors: fmt.Sprintf("%d-%d", first, last)}
	if first == last {
		b.Placement.Processors = fmt.Sprint(first)
	}
	b.Usage = []profile.Usage{{WallNs: faultyRun, UserNs: allCPU, DelayKnown: true}}
	b.ThreadUse = &profile.ThreadUse{Busy: busy, CPUNs: callingCPU, DelayNs: delay}
}

// killed: a rank is killed while it waits for a message, and a second later the
// launcher ends the others.
func killed(j *Job, pick func(a, b uint64) uint64) *Fault {
	const line = 80
	dead := 2 * j.Ranks / 3
	if pick(0, 1) == 1 {
		dead = -1
	}
	return &Fault{Rule: "ended badly", Ranks: profile.RankSetOf(2 * j.Ranks / 3), Site: step(line),
		Text: fmt.Sprintf("was killed by SIGSEGV in Recv at step app.c:%d. Afterwards %s other processes ended", line, thousands(j.Ranks-1)), plant: func(b *rows) {
			if dead < 0 {
				return
			}
			b.State, b.FinalizeStart = profile.Running, 0
			b.Exit = profile.Exit{At: b.InitEnd + faultyRun + 1_000_000_000, Known: true, Signal: 15}
			b.Open = []profile.OpenCall{{Call: "Barrier", Class: profile.AllToAll, Peer: profile.PeerNone, Source: profile.PeerNone, Callsite: siteAt(81), Start: b.InitEnd + faultyRun}}
			if b.rank == dead {
				b.Exit.At, b.Exit.Signal = b.InitEnd+faultyRun, 11
				b.Open = []profile.OpenCall{{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: profile.PeerAnySource, Source: profile.PeerNone, Callsite: siteAt(line), Start: b.InitEnd}}
			}
		}}
}

// lost: a message of each rank in the second half is never received.
func lost(j *Job, pick func(a, b uint64) uint64) *Fault {
	missing := int(pick(uint64(j.Ranks/2), uint64(j.Ranks)))
	return &Fault{Rule: "not measured", Text: fmt.Sprintf("%d pairs of ranks", j.Ranks-missing), plant: func(b *rows) {
		b.send(90, 0, "Send", b.next(), 10, 64)
		n := uint64(10)
		if b.before() >= missing {
			n--
		}
		b.recv(91, 0, b.before(), n, 64)
	}}
}

// files: ranks open a file in each step, write to it with a collective call, and close it.
func files(j *Job, pick func(a, b uint64) uint64) *Fault {
	const open, write, closes, steps, bytes = 95, 96, 97, 10, 1 << 20
	ns := pick(800_000_000, 199_000_000) // in open; half of it in write, as much in close, and as much in a barrier
	return &Fault{Rule: "file input/output", Site: step(open), Share: 2 * float64(ns) / faultyRun,
		Text: fmt.Sprintf("open and close 12.0 %%, writing 4.0 %%. Most time is in File_open at step app.c:95. %s calls move %.2f GiB, 1.00 MiB each, at %.1f GiB/s together; %s of %s ranks make them, collectively.",
			thousands(steps*j.Ranks), float64(steps*j.Ranks)/1024, float64(steps*j.Ranks)/1024/0.4, thousands(j.Ranks), thousands(j.Ranks)), plant: func(b *rows) {
			access := func(line int, ns uint64, call string) {
				b.lasting(line, ns, profile.Row{Call: call, Class: profile.IO, Comm: -1, Peer: profile.PeerNone, Calls: steps})
			}
			access(open, ns, "File_open")
			b.lasting(write, ns/2, profile.Row{Call: "File_write_at_all", Class: profile.IO, Direction: profile.Write, Comm: -1, Peer: profile.PeerNone,
				SizeClass: sizeClass(bytes), Calls: steps, Messages: steps, Bytes: steps * bytes})
			access(closes, ns/2, "File_close")
			b.all(98, ns/2, "Barrier", steps, 0)
		}}
}

// messages: ranks wait for messages; a profile does not tell for whom.
func messages(_ *Job, pick func(a, b uint64) uint64) *Fault {
	const send, receive = 101, 102
	ns := pick(3_000_000_000, 400_000_000)
	return &Fault{Rule: "time in MPI", Site: step(receive), Share: float64(ns+50_000_000) / faultyRun,
		Text: "30.0 % is in Recv at step app.c:102 on MPI_COMM_WORLD.", plant: func(b *rows) {
			b.send(send, 50_000_000, "Send", b.next(), 10, 4096)
			b.recv(receive, ns, b.before(), 10, 4096)
		}}
}
