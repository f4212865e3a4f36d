package causes

// The path from a lane and a time goes back through the lane's segments. Where it meets a wait, it
// continues on the lane that is waited for, at the same time. So it has no gaps, and no waits.
//
// A wait of lane a for lane b, from s to e, compares the path from (b, e) with the path from (a, s),
// back to where both are on one lane at one time, or to the begin of their lanes. Always the one
// that is later makes a step. The first is longer by e - s.

// path is a path, at a lane and a time.
type path struct {
	lane    int32
	time    int64
	index   int     // of the segment before the time
	ring    bool    // lanes wait for each other in a ring: the segment counts as its call
	atBegin bool    // of its lane
	state   outcome // whether the segment before the time is known
}

// outcome is how a walk ended.
type outcome uint8

const (
	whole   outcome = iota
	cut             // it reached segments that are no longer, or were never, known
	blocked         // it reached segments that are not known yet
)

// step is a segment, or a part of one, on the path of the lane that is waited for.
type step struct {
	kind  kind
	lane  int32
	ns    int64
	count float64 // as a fraction of the segment
}

// kindSum compares the paths in one kind.
type kindSum struct {
	visit         int // of the walk that used it last
	late, early   int64
	lateN, earlyN float64 // number of segments
}

// walker walks along the two paths of a wait. It is used for one wait after the other.
type walker struct {
	f           *Finder
	late, early path  // from the lane that is waited for, and from the one that waits
	visit       int   // number of the walk
	jumps       int   // number of chains of jumps so far
	seen        []int // number of the chain of jumps that came to a lane last, by lane
	near        []int // index of the segment that was found last, by lane
	byKind      []kindSum
	kinds       []kind // those of the walk, in order
	steps       []step // of the late path
	credit      int    // number of segments that the walks of this Advance may visit
	left        int    // number of waits in ready that are not explained yet

	byLane []laneSum
	share  divider

	sums    sums
	ready   []wait        // of some of the lanes
	blocked []blockedWait // in the last explain
}

// blockedWait is a wait whose walk needs a lane up to a time that is not known yet.
type blockedWait struct {
	wait
	lane int32
	time int64
}

func newWalker(f *Finder, budget int, overflow *Overflow) *walker {
	return &walker{f: f, seen: make([]int, len(f.lanes)), near: make([]int, len(f.lanes)), byLane: make([]laneSum, len(f.lanes)), sums: newSums(budget, f.lanes, overflow)}
}

// explain finds the causes of the waits that are ready. If a lane that a walk needs is not known yet,
// the wait goes to blocked.
func (w *walker) explain() {
	w.blocked = w.blocked[:0]
	for i := range w.ready {
		of := &w.ready[i]
		w.left = len(w.ready) - i
		if of.Unknown || of.For == noLane {
			w.sums.unknown(of)
			continue
		}
		switch at, result := w.walk(of); result {
		case whole:
			w.divide(of)
		case blocked:
			w.blocked = append(w.blocked, blockedWait{*of, at.lane, at.time})
		default:
			w.sums.unknown(of)
		}
	}
	w.ready = w.ready[:0]
}

// The paths of some programs never meet, for example those of a rank that gets results and of others
// that wait for nobody. All walks together visit as many segments as there is credit: firstCredit,
// and stepsPerCall for each call. A walk may always visit leastWalk, and never more than longWalk.
const (
	firstCredit  = 100_000_000 // 1 s
	stepsPerCall = 32
	leastWalk    = 1 << 7
	longWalk     = 1 << 17
	creditPart   = 64 // the waits of one Advance may use a 64th of the credit
)

// walk follows both paths of a wait to where they meet. If the walk is blocked, it returns the path
// that is at a lane and a time which are not known yet.
func (w *walker) walk(of *wait) (on *path, result outcome) {
	w.visit++
	w.kinds, w.steps = w.kinds[:0], w.steps[:0]
	w.late, w.early = path{lane: of.For, time: of.End}, path{lane: of.lane, time: of.Start}
	w.settle(&w.late)
	w.settle(&w.early)
	most := min(max(leastWalk, w.credit/w.left), longWalk)
	for n := 0; ; n++ {
		late, early := &w.late, &w.early
		switch {
		case late.lane == early.lane && late.time == early.time, late.atBegin && early.atBegin:
			w.begins()
			return nil, whole
		case n == most:
			return nil, cut
		}
		w.credit--
		on, other := late, early
		if late.atBegin || !early.atBegin && early.time > late.time {
			on, other = early, late
		}
		if on.state != whole {
			return on, on.state
		}
		w.step(on, other, on == late)
	}
}

// settle finds the segment before the path's time. From a wait it goes on to the lane that is waited
// for.
func (w *walker) settle(p *path) {
	w.jumps++
	for p.ring, p.state = false, whole; ; {
		l := &w.f.lanes[p.lane]
		switch oldest := l.oldest(); {
		case p.time <= l.begin:
			p.atBegin, p.index = true, 0
			return
		case p.time > l.known:
			p.state = blocked
			return
		case p.time <= l.start(oldest):
			p.state = cut
			return
		}
		p.index = l.find(p.time, w.near[p.lane])
		w.near[p.lane] = p.index
		s := l.at(p.index)
		switch {
		case s.kind == unknownKind:
			p.state = cut
			return
		case s.on == noLane:
			return
		case w.seen[p.lane] == w.jumps:
			p.ring = true
			return
		}
		w.seen[p.lane] = w.jumps
		p.lane = s.on
	}
}

// step goes back to the start of the segment, or to the other path if that is on the same lane.
func (w *walker) step(p, other *path, late bool) {
	l := &w.f.lanes[p.lane]
	s := l.at(p.index)
	start := l.start(p.index)
	to := start
	if other.lane == p.lane {
		to = max(to, other.time)
	}
	ns, count := p.time-to, 1.0
	if to > start || p.time < s.end {
		count = float64(ns) / float64(s.end-start)
	}
	w.count(s.kind, p.lane, ns, count, late)
	p.time = to
	if to == start && p.index > l.oldest() && !p.ring { // the usual case: the segment before it is no wait
		if before := l.at(p.index - 1); before.on == noLane && before.kind != unknownKind {
			p.index--
			return
		}
	}
	w.settle(p)
}

// begins adds the time between the begins of two lanes. It was spent in MPI_Init.
func (w *walker) begins() {
	if d := w.late.time - w.early.time; d > 0 {
		w.count(callKind(InitStop), w.late.lane, d, 1, true)
	} else if d < 0 {
		w.count(callKind(InitStop), w.early.lane, -d, 1, false)
	}
}

// count adds a part of a path to the sums.
func (w *walker) count(k kind, lane int32, ns int64, count float64, late bool) {
	for int(k) >= len(w.byKind) {
		w.byKind = append(w.byKind, make([]kindSum, len(w.byKind)+16)...)
	}
	s := &w.byKind[k]
	if s.visit != w.visit {
		*s = kindSum{visit: w.visit}
		w.kinds = append(w.kinds, k)
	}
	if !late {
		s.early += ns
		s.earlyN += count
		return
	}
	s.late += ns
	s.lateN += count
	w.steps = append(w.steps, step{k, lane, ns, count})
}
