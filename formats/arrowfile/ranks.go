package arrowfile

import (
	"fmt"
	"math"
	"strings"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// rank is a row of ranks.arrow: a profile without rows.
type rank struct {
	profile.Profile
	timed              bool // Timing is known
	openCall, openComm string
	openSite           string
	openPeer           int32
	openSince          int64
	physical           string
}

func decodeRanks(c *columns) func(int) (*rank, error) {
	fill := []func(int, *rank) error{decodeHead(c), decodeTimes(c), decodeEnd(c), decodeLosses(c), decodePlacement(c), decodeUsage(c), decodeThreadUse(c)}
	return func(i int) (*rank, error) {
		r := new(rank)
		for _, f := range fill {
			if err := f(i, r); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
}

func decodeHead(c *columns) func(int, *rank) error {
	host, pid, program, command, library := c.word("host"), c.number("pid"), c.word("program"), c.word("command"), c.word("library")
	state, timing, receives, threads := c.text("state"), c.text("timing"), c.word("receives"), c.number("threads")
	size, physical, source := c.integers("world_size", 0, math.MaxInt32), c.word("physical"), c.word("source")
	return func(i int, r *rank) error {
		r.Host, r.Pid, r.Program, r.Command, r.Library = host(i), int(pid(i)), program(i), splitCommand(command(i)), library(i)
		r.Threads, r.physical, r.Source = int(max(threads(i), 0)), physical(i), source(i)
		r.Unfollowed = receives(i) == profile.ReceivesOff
		r.Size = -1
		if n, ok := size(i); ok {
			r.Size = int(n)
		}
		r.State = profile.Finalized
		if text, ok := state(i); ok && text != profile.Finalized.String() {
			r.State = profile.Running
		}
		if text, ok := timing(i); ok {
			if r.Timing, r.timed = profile.ParseTiming(text); !r.timed {
				return fmt.Errorf("column timing cannot be %q", text)
			}
		}
		return nil
	}
}

func (c *columns) times(name string) func(int) int64 {
	get := c.integers(name, math.MinInt64, math.MaxInt64)
	return func(i int) int64 {
		v, _ := get(i)
		return int64(v)
	}
}

func decodeTimes(c *columns) func(int, *rank) error {
	start, initEnd, finalize, end := c.times("start"), c.times("init_end"), c.times("finalize_start"), c.times("end")
	threadNs := c.count("thread_ns")
	return func(i int, r *rank) error {
		r.Start, r.InitEnd, r.FinalizeStart, r.End = start(i), initEnd(i), finalize(i), end(i)
		own, _ := r.Times().Application()
		if ns := threadNs(i); r.Threads > 1 && ns <= math.MaxInt64 && ns != uint64(own)*uint64(r.Threads) {
			r.Lifetimes = int64(ns)
		}
		return nil
	}
}

func decodeEnd(c *columns) func(int, *rank) error {
	ended, status, signal := c.times("ended"), c.integers("exit_status", math.MinInt32, math.MaxInt32), c.integers("exit_signal", 0, math.MaxInt32)
	call, comm, site, peer, since := c.word("open_call"), c.word("open_comm"), c.word("open_callsite"), c.integers("open_peer", -1, math.MaxInt32), c.times("open_since")
	return func(i int, r *rank) error {
		code, exited := status(i)
		number, killed := signal(i)
		r.Exit = profile.Exit{At: ended(i), Known: exited || killed, Status: int(int32(code)), Signal: int(number)}
		r.openCall, r.openComm, r.openSite, r.openSince = call(i), comm(i), site(i), since(i)
		r.openPeer = -1
		if rank, ok := peer(i); ok {
			r.openPeer = int32(rank)
		}
		return nil
	}
}

func decodeLosses(c *columns) func(int, *rank) error {
	calls, folded, requests, comms, ticks := c.count("lost_calls"), c.count("folded_calls"), c.count("lost_requests"), c.count("lost_comms"), c.count("negative_ticks")
	untimed, stacks, readings, damaged, pauses := c.count("untimed"), c.count("lost_stacks"), c.count("lost_readings"), c.count("damaged"), c.count("pauses")
	problems, lost := c.word("problems"), c.word("lost")
	var abnormal [profile.NumAbnormalKinds]func(int) uint64
	for k := range abnormal {
		abnormal[k] = c.count(profile.AbnormalKind(k).String())
	}
	return func(i int, r *rank) error {
		r.Losses = profile.Losses{Calls: calls(i), Folded: folded(i), Requests: requests(i), Comms: comms(i), NegativeTicks: ticks(i),
			Untimed: untimed(i), Stacks: stacks(i), Readings: readings(i), Damaged: damaged(i)}
		r.Pauses = pauses(i)
		r.Problems, r.Lost = splitLines(problems(i)), splitLines(lost(i))
		for k, count := range abnormal {
			if n := count(i); n > 0 {
				r.Abnormal = append(r.Abnormal, profile.AbnormalOps{Kind: profile.AbnormalKind(k), Comm: -1, Peer: profile.PeerNone, Count: n})
			}
		}
		return nil
	}
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func decodePlacement(c *columns) func(int, *rank) error {
	processors, limit := c.word("processors"), c.doubles("cpu_limit")
	nodeProcessors, cores, sockets := c.number("node_processors"), c.number("node_cores"), c.number("node_sockets")
	return func(i int, r *rank) error {
		p := profile.Placement{Processors: processors(i), NodeProcessors: int(nodeProcessors(i)), NodeCores: int(cores(i)), NodeSockets: int(sockets(i))}
		p.CPULimit, _ = limit(i)
		if _, err := profile.ParseProcessors(p.Processors); err != nil {
			return err
		}
		if p != (profile.Placement{}) {
			r.Placement = &p
		}
		return nil
	}
}

func decodeUsage(c *columns) func(int, *rank) error {
	wall, user, system := c.count("usage_ns"), c.count("cpu_user_ns"), c.count("cpu_system_ns")
	voluntary, involuntary, delay := c.count("voluntary_switches"), c.count("involuntary_switches"), c.integers("run_delay_ns", 0, math.MaxUint64)
	return func(i int, r *rank) error {
		if wall(i) == 0 {
			return nil
		}
		u := profile.Usage{WallNs: wall(i), UserNs: user(i), SystemNs: system(i), Voluntary: voluntary(i), Involuntary: involuntary(i)}
		u.RunDelayNs, u.DelayKnown = delay(i)
		r.Usage = []profile.Usage{u}
		return nil
	}
}

func decodeThreadUse(c *columns) func(int, *rank) error {
	busy, cpu, delay, unknown := c.integers("busy_threads", 0, math.MaxInt32), c.count("calling_cpu_ns"), c.count("calling_delay_ns"), c.count("calling_unknown")
	return func(i int, r *rank) error {
		if n, known := busy(i); known {
			r.ThreadUse = &profile.ThreadUse{Busy: int(n), CPUNs: cpu(i), DelayNs: delay(i), Incomplete: unknown(i) != 0}
		}
		return nil
	}
}

// splitCommand is the inverse of the quoting in the column command.
func splitCommand(line string) (args []string) {
	var arg strings.Builder
	begun := false
	for i := 0; i < len(line); i++ {
		switch ch := line[i]; {
		case ch == ' ':
			if begun {
				args = append(args, arg.String())
			}
			arg.Reset()
			begun = false
			continue
		case ch == '\\' && i+1 < len(line):
			i++
			arg.WriteByte(line[i])
		case ch == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				end = len(line) - i - 1
			}
			arg.WriteString(line[i+1 : i+1+end])
			i += 1 + end
		default:
			arg.WriteByte(ch)
		}
		begun = true
	}
	if begun {
		args = append(args, arg.String())
	}
	return args
}

// open returns the open call of the process, if there is one.
func (r *rank) open(comm int32, peer int32, site uint64) []profile.OpenCall {
	if r.openCall == "" {
		return nil
	}
	o := profile.OpenCall{Call: r.openCall, Class: profile.Other, Comm: comm, Peer: peer, Source: profile.PeerNone, Callsite: site, Start: r.openSince}
	if call := profile.CallNamed(r.openCall); call != nil {
		o.Class = call.Class
	}
	return []profile.OpenCall{o}
}

// sent is a row of flows.arrow.
type sent struct {
	kind            profile.Kind
	peer            int32
	messages, bytes uint64
	histogram       *profile.Histogram
}

func decodeFlows(c *columns) func(int) (sent, error) {
	kind, peer, messages, bytes := c.word("kind"), c.integers("peer", 0, math.MaxInt32), c.count("messages"), c.count("bytes")
	histogram := c.text("histogram")
	return func(i int) (s sent, err error) {
		to, _ := peer(i)
		s = sent{kind: profile.External, peer: int32(to), messages: messages(i), bytes: bytes(i)}
		if text, ok := histogram(i); ok {
			if s.histogram, err = table.ParseHistogram(text); err != nil {
				return s, err
			}
		}
		switch text := kind(i); text {
		case table.External:
		case table.Internal:
			s.kind = profile.Internal
		default:
			return s, fmt.Errorf("column kind cannot be %q", text)
		}
		return s, nil
	}
}

// physical returns what the MPI library sent, from flows.arrow or, without that table, from rows of
// class internal. text is the value of the column physical.
func (p *process) physical(text string) *profile.Physical {
	flows := p.internal()
	if p.file.flows != nil {
		flows = nil
		for _, s := range p.flows {
			flows = append(flows, profile.Flow{Kind: s.kind, From: p.out.Rank, To: int(s.peer), Bytes: s.bytes, Messages: s.messages, Histogram: s.histogram})
		}
	}
	profile.SortFlows(flows)
	switch {
	case text == "" && flows == nil:
		return nil
	case text != "known" && text != "":
		return &profile.Physical{Flows: flows, Unknown: text}
	case p.file.flows == nil:
		return &profile.Physical{Flows: flows, Unknown: "there is no flows.arrow beside profile.arrow"}
	}
	return &profile.Physical{Flows: flows}
}
