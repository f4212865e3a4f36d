package aggregate

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// End describes how a process that did not finalize ended, or where it is if it
// still runs. EndedS, AliveS and LastCallS are in seconds since the first
// process of the job began.
type End struct {
	Rank   int              `json:"rank"`
	Host   string           `json:"host"`
	Pid    int              `json:"pid"`
	State  profile.EndState `json:"state"`
	Status *int             `json:"status,omitempty"` // exit status
	Signal string           `json:"signal,omitempty"` // name of the signal that ended it, such as SIGSEGV

	EndedS    float64 `json:"ended_s,omitempty"` // when it ended; 0 if not observed
	AliveS    float64 `json:"alive_s,omitempty"` // when it was last seen running; 0 if not observed
	LastCallS float64 `json:"last_call_s"`       // when its latest known call returned

	Calls        []UnfinishedCall `json:"calls"`         // calls that it is or was in, by thread; empty outside MPI
	OpenReceives []OpenReceive    `json:"open_receives"` // receives that were posted earlier and have not completed
}

// UnfinishedCall is a call that has not returned, or had not returned when the
// process ended. Peer and Source are ranks in the communicator, WorldPeer and
// WorldSource the same in MPI_COMM_WORLD. Negative values are constants of
// profile: PeerNone (-1), PeerAnySource (-3).
type UnfinishedCall struct {
	Thread       int32   `json:"thread"`
	Call         string  `json:"call"` // without MPI_
	Class        string  `json:"class"`
	Direction    string  `json:"direction"` // direction of the bytes; none if not known
	Communicator string  `json:"communicator,omitempty"`
	Peer         int     `json:"peer"` // root for rooted collectives
	WorldPeer    int     `json:"world_peer"`
	Source       int     `json:"source"` // source rank of calls that both send and receive
	WorldSource  int     `json:"world_source"`
	Bytes        *uint64 `json:"bytes,omitempty"` // size of the message or of the receive buffer; for collectives, of one message; nil if not known
	Requests     int     `json:"requests,omitempty"`
	ErrorCode    *int32  `json:"error_code,omitempty"` // error code passed to MPI_Abort
	Callsite     *Site   `json:"callsite,omitempty"`
	SinceS       float64 `json:"since_s,omitempty"` // when the call began; 0 if calls are not timed
	ForS         float64 `json:"for_s,omitempty"`   // duration until the process ended or was last seen running; 0 if not known
	Absent       string  `json:"absent,omitempty"`  // members of the communicator that have not entered this collective
}

// OpenReceive counts the receives from one peer that one call site posted and
// that have not completed.
type OpenReceive struct {
	Call         string `json:"call"`
	Communicator string `json:"communicator,omitempty"`
	Peer         int    `json:"peer"` // as in OpenCall
	WorldPeer    int    `json:"world_peer"`
	Callsite     *Site  `json:"callsite,omitempty"`
	Count        uint64 `json:"count"`
}

// endings collects the processes of a job that did not finalize.
type endings struct {
	list  []ending
	sites map[string]*Site         // by sourceKey; shared by all processes
	comms map[string]profile.Group // members of the communicators with an open collective, by label
}

// ending is what a job keeps of one process that did not finalize.
type ending struct {
	End
	exit     profile.Exit
	last     int64   // Unix ns of the latest known moment
	starts   []int64 // Unix ns at which each of Calls began
	threads  int
	complete bool // all calls were recorded: none lost, folded or paused
}

func (e *endings) add(p *profile.Profile) {
	if p.State == profile.Finalized {
		return
	}
	out := ending{exit: p.Exit, last: p.End, threads: p.Threads, complete: p.Losses.Calls == 0 && p.Losses.Folded == 0 && p.Pauses == 0}
	out.End = End{Rank: p.Rank, Host: shared(p.Host), Pid: p.Pid, State: p.Exit.State(), Calls: []UnfinishedCall{}, OpenReceives: []OpenReceive{}}
	switch out.State {
	case profile.EndKilled:
		out.Signal = shared(signalName(p.Exit.Signal))
	case profile.EndExited:
		out.Status = new(p.Exit.Status)
	}
	for i := range p.Open {
		out.Calls = append(out.Calls, e.call(p, &p.Open[i]))
		out.starts = append(out.starts, p.Open[i].Start)
	}
	for i := range p.Abnormal {
		if a := &p.Abnormal[i]; a.Kind == profile.UnfinishedReceive {
			out.OpenReceives = append(out.OpenReceives, OpenReceive{Call: shared(a.Call), Communicator: labelOf(p, a.Comm),
				Peer: int(a.Peer), WorldPeer: openPeer(p, a.Comm, a.Peer), Callsite: e.site(p, a.Callsite), Count: a.Count})
		}
	}
	e.list = append(e.list, out)
}

func signalName(signal int) string {
	return cmp.Or(unix.SignalName(unix.Signal(signal)), "signal "+text.Count(signal))
}

func (e *endings) call(p *profile.Profile, o *profile.OpenCall) UnfinishedCall {
	out := UnfinishedCall{Thread: o.Thread, Call: shared(o.Call), Class: o.Class.String(), Direction: o.Direction.String(),
		Communicator: labelOf(p, o.Comm), Peer: int(o.Peer), WorldPeer: openPeer(p, o.Comm, o.Peer),
		Source: int(o.Source), WorldSource: openPeer(p, o.Comm, o.Source), Requests: o.Requests, Callsite: e.site(p, o.Callsite)}
	if o.Sized {
		out.Bytes = new(o.Bytes)
	}
	if out.aborts() {
		out.ErrorCode = new(o.Code)
	}
	if out.Collective() && out.Communicator != "" && !p.Comms[o.Comm].Inter {
		if e.comms == nil {
			e.comms = map[string]profile.Group{}
		}
		if _, known := e.comms[out.Communicator]; !known {
			e.comms[out.Communicator] = p.Comms[o.Comm].Members
		}
	}
	return out
}

func (c *UnfinishedCall) aborts() bool { return profile.TraitsOf(c.Call).Any(profile.TraitAborts) }

// Collective reports whether all members of the communicator make this call.
func (c *UnfinishedCall) Collective() bool {
	class, _ := profile.ParseClass(c.Class)
	return class == profile.OneToAll || class == profile.AllToOne || class == profile.AllToAll
}

// labelOf returns the label of a communicator; empty if it is not known.
func labelOf(p *profile.Profile, comm int32) string {
	if comm < 0 || int(comm) >= len(p.Comms) {
		return ""
	}
	return shared(p.Comms[comm].Label())
}

// openPeer returns the world rank of a peer. Negative peers, which are
// constants of profile, are returned unchanged.
func openPeer(p *profile.Profile, comm, peer int32) int {
	if peer < 0 {
		return int(peer)
	}
	return p.WorldRank(comm, peer)
}

// site returns the call site of an address; nil if it is not known.
func (e *endings) site(p *profile.Profile, address uint64) *Site {
	frames := p.Frames(address)
	if len(frames) == 0 {
		return nil
	}
	key := sourceKey(frames)
	if known := e.sites[key]; known != nil {
		return known
	}
	if e.sites == nil {
		e.sites = map[string]*Site{}
	}
	s := siteOf(frames)
	e.sites[key] = &s
	return &s
}

func (e *endings) merge(o *endings) {
	e.list = append(e.list, o.list...)
	for label, members := range o.comms {
		if e.comms == nil {
			e.comms = map[string]profile.Group{}
		}
		e.comms[label] = members
	}
}

// ends returns the processes in the order in which a summary lists them.
// Processes that called MPI_Abort come first, because they caused the others to
// end. Those whose end was observed follow by time of ending (see moment), then
// those with an unknown end by their last known moment, then those that still
// run.
func (e *endings) ends(start int64) []End {
	slices.SortFunc(e.list, func(a, b ending) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.moment(), b.moment()), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Pid, b.Pid))
	})
	absent := e.absent()
	now := e.now()
	out := make([]End, len(e.list))
	for i := range e.list {
		from := &e.list[i]
		end := from.End
		end.EndedS, end.AliveS, end.LastCallS = elapsed(start, from.exit.At), elapsed(start, from.exit.Alive), elapsed(start, from.last)
		end.Calls = slices.Clone(from.Calls)
		for k := range end.Calls {
			c := &end.Calls[k]
			c.SinceS, c.ForS = elapsed(start, from.starts[k]), elapsed(from.starts[k], from.until(now))
			c.Absent = absent[openCollective{c.Communicator, c.Call}]
		}
		out[i] = end
	}
	return out
}

// order returns the group of a process in the list of ends: 0 called MPI_Abort,
// 1 was seen to end, 2 has an unknown end, 3 still runs.
func (e *ending) order() int {
	switch {
	case slices.ContainsFunc(e.Calls, func(c UnfinishedCall) bool { return c.aborts() }):
		return 0
	case e.exit.At != 0:
		return 1
	case e.State.Runs():
		return 3
	}
	return 2
}

// moment returns when the process ended, or else its last known moment, in Unix
// ns. It adds reaction to the end of a process that the launcher probably
// killed, so that the process that caused this is listed before it.
func (e *ending) moment() int64 {
	if e.exit.At != 0 && wasKilled(e.exit) {
		return e.exit.At + reaction
	}
	if e.exit.At != 0 {
		return e.exit.At
	}
	return max(e.last, slices.Max(append([]int64{e.exit.Alive}, e.starts...)))
}

// reaction, in ns, is how much later than the processes that a launcher killed
// the process that caused this may be seen to end.
const reaction = 100e6

// wasKilled reports whether the process ended by a signal that launchers send.
func wasKilled(e profile.Exit) bool {
	return e.Known && (e.Signal == int(unix.SIGKILL) || e.Signal == int(unix.SIGTERM))
}

// until returns when the open calls ended with the process, or when they were
// last seen open, in Unix ns; 0 if neither is known. A process on a node that
// could not be checked is assumed to run as long as any other process of the
// job.
func (e *ending) until(now int64) int64 {
	switch {
	case e.exit.At != 0:
		return e.exit.At
	case e.State.Runs():
		return e.exit.Alive
	case e.State == profile.EndUnknown:
		return now
	}
	return 0
}

// now returns when any process was last seen running, in Unix ns; 0 if none
// was.
func (e *endings) now() int64 {
	now := int64(0)
	for i := range e.list {
		now = max(now, e.list[i].exit.Alive)
	}
	return now
}

// openCollective identifies a collective that ranks are in.
type openCollective struct{ communicator, call string }

// absent returns, for each open collective, the members of its communicator
// that are not in it.
func (e *endings) absent() map[openCollective]string {
	there := map[openCollective][]int{}
	for i := range e.list {
		for k := range e.list[i].Calls {
			if c := &e.list[i].Calls[k]; c.Collective() && c.Communicator != "" {
				at := openCollective{c.Communicator, c.Call}
				there[at] = append(there[at], e.list[i].Rank)
			}
		}
	}
	out := map[openCollective]string{}
	for at, ranks := range there {
		members, ok := e.comms[at.communicator]
		if !ok {
			continue
		}
		slices.Sort(ranks)
		missing := slices.DeleteFunc(members.Ranks(), func(rank int) bool {
			_, is := slices.BinarySearch(ranks, rank)
			return is || rank < 0 // rank < 0: a process of another world
		})
		if slices.Sort(missing); len(missing) > 0 {
			out[at] = profile.RankSetOf(missing...).String()
		}
	}
	return out
}
