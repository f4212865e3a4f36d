package aggregate

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// End is how a process ended that did not finalize, or where it is if it still
// runs. Moments are in seconds since the first process of the job began.
type End struct {
	Rank   int              `json:"rank"`
	Host   string           `json:"host"`
	Pid    int              `json:"pid"`
	State  profile.EndState `json:"state"`
	Status *int             `json:"status,omitempty"` // exit status
	Signal string           `json:"signal,omitempty"` // SIGSEGV: that ended it

	EndedS    float64 `json:"ended_s,omitempty"` // 0 where nobody saw it
	AliveS    float64 `json:"alive_s,omitempty"` // when it was seen running
	LastCallS float64 `json:"last_call_s"`       // when its latest call returned, as far as it is known

	Calls        []OpenCall    `json:"calls"`         // those that it is or was in, by thread: none outside MPI
	OpenReceives []OpenReceive `json:"open_receives"` // posted before, and not completed
}

// OpenCall is a call that has not returned, or had not at the end. Peers are
// ranks in the communicator and in the world, or one of profile's constants: -1
// for none, -3 for any source.
type OpenCall struct {
	Thread       int32   `json:"thread"`
	Call         string  `json:"call"` // without MPI_
	Class        string  `json:"class"`
	Direction    string  `json:"direction"` // of the bytes: none where they are not known
	Communicator string  `json:"communicator,omitempty"`
	Peer         int     `json:"peer"` // the root of a collective
	WorldPeer    int     `json:"world_peer"`
	Source       int     `json:"source"` // of calls that send to the peer and receive
	WorldSource  int     `json:"world_source"`
	Bytes        *uint64 `json:"bytes,omitempty"` // of the message, or room for it; of one message of a collective
	Requests     int     `json:"requests,omitempty"`
	ErrorCode    *int32  `json:"error_code,omitempty"` // of MPI_Abort
	Callsite     *Site   `json:"callsite,omitempty"`
	SinceS       float64 `json:"since_s,omitempty"` // 0 where calls are not timed
	ForS         float64 `json:"for_s,omitempty"`   // until the end, or until it was seen running; 0 where that is not known
	Absent       string  `json:"absent,omitempty"`  // members of the communicator that are not in this collective
}

// OpenReceive is receives that one call posted, again and again, and that have
// not completed.
type OpenReceive struct {
	Call         string `json:"call"`
	Communicator string `json:"communicator,omitempty"`
	Peer         int    `json:"peer"` // as of an OpenCall
	WorldPeer    int    `json:"world_peer"`
	Callsite     *Site  `json:"callsite,omitempty"`
	Count        uint64 `json:"count"`
}

// Site is where a call is made.
type Site struct {
	Place
	Callers []Place `json:"callers,omitempty"` // where stacks were recorded, the innermost first
}

// endings are the processes of a job that did not finalize.
type endings struct {
	list  []ending
	sites map[string]*Site         // by sourceKey, once for all processes
	comms map[string]profile.Group // the members of those that a collective is open on, by label
}

// ending is what a job keeps of such a process.
type ending struct {
	End
	exit     profile.Exit
	last     int64   // Unix ns
	starts   []int64 // of the calls
	threads  int
	complete bool // no call was lost
}

func (e *endings) add(p *profile.Profile) {
	if p.State == profile.Finalized {
		return
	}
	out := ending{exit: p.Exit, last: p.End, threads: p.Threads, complete: p.Losses.Calls == 0 && p.Losses.Folded == 0 && p.Pauses == 0}
	out.End = End{Rank: p.Rank, Host: shared(p.Host), Pid: p.Pid, State: p.Exit.State(), Calls: []OpenCall{}, OpenReceives: []OpenReceive{}}
	switch out.State {
	case profile.EndKilled:
		out.Signal = shared(signalName(p.Exit.Signal))
	case profile.EndExited:
		status := p.Exit.Status
		out.Status = &status
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

func (e *endings) call(p *profile.Profile, o *profile.OpenCall) OpenCall {
	out := OpenCall{Thread: o.Thread, Call: shared(o.Call), Class: o.Class.String(), Direction: o.Direction.String(),
		Communicator: labelOf(p, o.Comm), Peer: int(o.Peer), WorldPeer: openPeer(p, o.Comm, o.Peer),
		Source: int(o.Source), WorldSource: openPeer(p, o.Comm, o.Source), Requests: o.Requests, Callsite: e.site(p, o.Callsite)}
	if o.Sized {
		bytes := o.Bytes
		out.Bytes = &bytes
	}
	if out.aborts() {
		code := o.Code
		out.ErrorCode = &code
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

func (c *OpenCall) aborts() bool { return profile.TraitsOf(c.Call).Any(profile.TraitAborts) }

// collective tells the calls that all members of a communicator make.
func (c *OpenCall) Collective() bool {
	class, _ := profile.ParseClass(c.Class)
	return class == profile.OneToAll || class == profile.AllToOne || class == profile.AllToAll
}

// labelOf is empty where the communicator is not known.
func labelOf(p *profile.Profile, comm int32) string {
	if comm < 0 || int(comm) >= len(p.Comms) {
		return ""
	}
	return shared(p.Comms[comm].Label())
}

// openPeer is the world rank of a peer, or what it is instead.
func openPeer(p *profile.Profile, comm, peer int32) int {
	if peer < 0 {
		return int(peer)
	}
	return p.WorldRank(comm, peer)
}

// site is nil where it is not known.
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

// ends are the processes as a summary has them: those that called MPI_Abort, as
// the others ended for them, then the first that ended first; an end by the
// launcher's hand counts some time later. Those of which nobody saw when follow, by
// their last moment known. Those that run are the last.
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

// order puts those that ended before those of which nobody knows, and these
// before those that run.
func (e *ending) order() int {
	switch {
	case slices.ContainsFunc(e.Calls, func(c OpenCall) bool { return c.aborts() }):
		return 0
	case e.exit.At != 0:
		return 1
	case e.State.Runs():
		return 3
	}
	return 2
}

// moment is when it ended, or the last that is known of it, in Unix ns.
func (e *ending) moment() int64 {
	if e.exit.At != 0 && wasKilled(e.exit) {
		return e.exit.At + reaction
	}
	if e.exit.At != 0 {
		return e.exit.At
	}
	return max(e.last, slices.Max(append([]int64{e.exit.Alive}, e.starts...)))
}

// reaction is how long it may take, in ns, to see the end of a process from
// which the launcher learnt that it was to kill the others, after theirs.
const reaction = 100e6

// wasKilled tells an end that a launcher brings about.
func wasKilled(e profile.Exit) bool {
	return e.Known && (e.Signal == int(unix.SIGKILL) || e.Signal == int(unix.SIGTERM))
}

// until is when its calls ended with it, or were seen to be open; 0 if that is
// not known. Who is on a node that nobody looks at is still there, if others are.
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

// now is when processes were seen running the last time; 0 if none was.
func (e *endings) now() int64 {
	now := int64(0)
	for i := range e.list {
		now = max(now, e.list[i].exit.Alive)
	}
	return now
}

// openCollective is a collective that ranks are in.
type openCollective struct{ communicator, call string }

// absent names the members of each communicator that are not in its collective.
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
			return is || rank < 0 // of another world
		})
		if slices.Sort(missing); len(missing) > 0 {
			out[at] = profile.RankSetOf(missing...).String()
		}
	}
	return out
}

// String names the place and those that called it; it is empty for none.
func (s *Site) String() string {
	if s == nil {
		return ""
	}
	text := s.Label
	for i := range s.Callers {
		text += " < " + s.Callers[i].Label
	}
	return text
}
