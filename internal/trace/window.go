package trace

import "github.com/mpitrace/mpitrace/profile"

// What calls do on a window: operations, and calls that begin, end or complete epochs.
const (
	rmaOperations = profile.TraitPuts | profile.TraitGets | profile.TraitAccumulates
	epochCalls    = profile.TraitOpensAccess | profile.TraitClosesAccess | profile.TraitOpensExposure | profile.TraitClosesExposure |
		profile.TraitLocks | profile.TraitUnlocks | profile.TraitFlushes
)

// OneSided reports whether the call that waited is one-sided.
func (s *WaitState) OneSided() bool {
	return profile.TraitsOf(s.Call).Any(rmaOperations | epochCalls)
}

// rmaOf returns what a call does on its window: its traits of rmaOperations or
// epochCalls, 0 if it has neither.
func rmaOf(k *profile.EventKind) profile.Traits {
	traits := profile.TraitsOf(k.Call)
	switch {
	case k.Action != profile.Called || k.Window == 0:
		return 0
	case k.Class == profile.OneSided && k.Peer >= 0:
		return traits & rmaOperations
	case traits.Any(epochCalls):
		return traits & (epochCalls | profile.TraitLocal | profile.TraitAllTargets)
	}
	return 0
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
	k.lane.process.windows[k.window] = &window{membership: membership{in: i.window, rank: k.member.rank},
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
	switch {
	case k.rma.Any(rmaOperations):
		r.operation(w, c)
	case k.rma.Any(profile.TraitOpensAccess):
		r.startAccess(w, c)
	case k.rma.Any(profile.TraitClosesAccess):
		r.completeAccess(w, c)
	case k.rma.Any(profile.TraitOpensExposure):
		r.postExposure(w, c)
	case k.rma.Any(profile.TraitClosesExposure):
		r.waitExposure(w, c)
	case k.rma.Any(profile.TraitLocks):
		r.lock(w, c)
	case k.rma.Any(profile.TraitUnlocks):
		r.unlock(w, c)
	default:
		r.flush(w, c)
	}
}

// target returns the world rank that a passive target call is for, or
// allTargets.
func (k *kind) target() int32 {
	if k.rma.Any(profile.TraitAllTargets) {
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
