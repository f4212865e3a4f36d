package trace

import "github.com/mpitrace/mpitrace/profile"

// rmaCall is the meaning of a call for one-sided communication.
type rmaCall uint8

const (
	notRMA rmaCall = iota
	rmaOperation
	winStart
	winPost
	winComplete
	winWait
	winLock
	winLockAll
	winUnlock
	winUnlockAll
	winFlush
	winFlushAll
	winFlushLocal
	winFlushLocalAll
)

var rmaCalls = map[string]rmaCall{
	"Win_start": winStart, "Win_post": winPost, "Win_complete": winComplete, "Win_wait": winWait,
	"Win_lock": winLock, "Win_lock_all": winLockAll, "Win_unlock": winUnlock, "Win_unlock_all": winUnlockAll,
	"Win_flush": winFlush, "Win_flush_all": winFlushAll,
	"Win_flush_local": winFlushLocal, "Win_flush_local_all": winFlushLocalAll,
}

// oneSidedCalls are the calls that may wait for a target.
var oneSidedCalls = func() map[string]bool {
	all := map[string]bool{"Put": true, "Get": true, "Accumulate": true, "Get_accumulate": true, "Fetch_and_op": true,
		"Compare_and_swap": true, "Rput": true, "Rget": true, "Raccumulate": true, "Rget_accumulate": true}
	for call := range rmaCalls {
		all[call] = true
	}
	return all
}()

// OneSided reports whether the call that waited is one-sided.
func (s *WaitState) OneSided() bool { return oneSidedCalls[s.Call] }

func rmaCallOf(k *profile.EventKind) rmaCall {
	switch {
	case k.Action != profile.Called || k.Window == 0:
		return notRMA
	case k.Class == profile.OneSided && k.Peer >= 0:
		return rmaOperation
	}
	return rmaCalls[k.Call]
}

// window is a process's state in a window: its membership, its pending
// operations and its epochs.
type window struct {
	membership
	pending   map[int32]pendingOps // by world rank of the target
	locks     map[int32]*lockEpoch // open epochs, by world rank of the target, or allTargets
	access    []*exposure          // of the last Win_start
	exposures []*exposure          // of the last Win_post
}

// windowMade adds the process to the window that a constructor created. Windows
// are identified by the collective that created them, on which all members
// agree; the number is the process's own.
func (r *replay) windowMade(i *instance, k *kind) {
	if k.window == 0 {
		return
	}
	if i.window == nil {
		of := *i.in
		of.open, of.beyond, of.rma = map[uint32]*instance{}, 0, &rma{exposures: map[exposureKey]*exposure{}}
		i.window = &of
		r.windows = append(r.windows, i.window)
	}
	p := k.lane.process
	if p.windows == nil {
		p.windows = map[int32]*window{}
	}
	p.windows[k.window] = &window{membership: membership{in: i.window, rank: k.member.rank},
		pending: map[int32]pendingOps{}, locks: map[int32]*lockEpoch{}}
}

// windowOf returns the window of a kind's events, or nil if its creation is not
// in the trace.
func (k *kind) windowOf() *window {
	if k.win == nil {
		k.win = k.lane.process.windows[k.window]
	}
	return k.win
}

// rma is the state of one-sided communication on a window.
type rma struct {
	exposures map[exposureKey]*exposure
	epochs    []*lockEpoch
	full      int // number of epochs at which the oldest are dropped
	// alone are the kinds of operations that were completed at a target which
	// was outside of MPI all the time. They do not need the target.
	alone opMask
}

// oneSided replays a call on a window.
func (r *replay) oneSided(e *event, c *call) {
	k := e.kind
	w := k.windowOf()
	if w == nil {
		return
	}
	switch k.rma {
	case rmaOperation:
		r.operation(w, c)
	case winStart:
		r.startAccess(w, c)
	case winComplete:
		r.completeAccess(w, c)
	case winPost:
		r.postExposure(w, c)
	case winWait:
		r.waitExposure(w, c)
	case winLock, winLockAll:
		r.lock(w, c)
	case winUnlock, winUnlockAll:
		r.unlock(w, c)
	default:
		r.flush(w, c)
	}
}

// target returns the world rank that a passive target call is for, or
// allTargets.
func (k *kind) target() int32 {
	switch k.rma {
	case winLockAll, winUnlockAll, winFlushAll, winFlushLocalAll:
		return allTargets
	}
	return k.peer
}

const allTargets = -1

// leftWindows closes the calls whose causes never became known.
func (r *replay) leftWindows() {
	for _, in := range r.windows {
		r.leftExposures(in)
		r.dropEpochsIf(in, func(int, *lockEpoch) bool { return true })
	}
	for _, p := range r.processes {
		for _, x := range p.watchers {
			x.judge(p)
			r.close(x.call)
		}
		p.watchers = nil
	}
}
