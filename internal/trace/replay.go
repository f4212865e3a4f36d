package trace

import "github.com/mpitrace/mpitrace/profile"

// replay is the state of an analysis.
type replay struct {
	o         Options
	start     int64 // end of the first process's MPI_Init, Unix ns
	processes []*replayedRank
	byRank    map[int32]*replayedRank
	lanes     []*lane
	names     nameNumbers
	stops     stops
	first     *replay // the replay that found the causes which changes take out; nil in that one itself
	changes   []change
	comms     []*communicator
	commOf    map[string]*communicator
	windows   []*communicator
	away      awayWaits
	calls     callTimes

	// In each round all processes are replayed up to the same time.
	round       int
	until       int64 // end of the round, Unix ns
	window      int64 // length of a round, ns
	firstWindow int64
	perRound    uint64 // intended number of events
	queue       []*replayedRank
	loaded      chan *replayedRank
	loading     int
	steps       uint64 // number of events so far
	before      uint64 // steps at the start of the round

	routes     map[routeKey]*route
	routesKept int
	epoch      int
	lossy      []*route

	freeCalls    freeList[call]
	freeMessages freeList[message]
	freeReceives freeList[receive]

	matching  Matching
	waits     waits
	receivers undecidedWaits[verdict] // possible waits for receivers
	protocols protocols
	logged    *waitLog // nil if no causes are found
	frames    frames
}

// Limits of a round. What is in flight should stay in the processor's caches:
// with ten times as many events per round, each event takes twice as long.
const (
	roundEvents = 16_000
	rankEvents  = 8           // at least, for each rank
	patience    = 4           // rounds
	patienceNs  = 100_000_000 // ns after which a parked process continues without its causes
)

func newReplay(sources []profile.EventSource, o Options) *replay {
	r := &replay{
		o: o, byRank: map[int32]*replayedRank{}, commOf: map[string]*communicator{}, routes: map[routeKey]*route{}, waits: waits{},
		receivers: undecidedWaits[verdict]{sums: waitSums[undecidedKey[verdict]]{}},
		away:      awayWaits{undecidedWaits: undecidedWaits[windowOps]{sums: waitSums[undecidedKey[windowOps]]{}}},
		names:     nameNumbers{at: map[string]int32{}},
		stops:     stops{},
		loaded:    make(chan *replayedRank, len(sources)), perRound: uint64(max(roundEvents, rankEvents*len(sources))),
		matching: Matching{UnmatchedSends: map[Reason]uint64{}, UnmatchedReceives: map[Reason]uint64{},
			Collectives: Collectives{Incomplete: map[Reason]uint64{}}},
	}
	for i, src := range sources {
		t := src.Trace()
		p := &replayedRank{index: i, rank: int32(t.Rank), trace: t, src: src, partial: t.Cut || t.Dropped > 0, progress: loading, ownShare: t.Times().OwnShare(), resume: make(chan struct{}, 1),
			bursts: bursts{}, windows: map[int32]*window{}, accesses: map[pair]uint32{}, postings: map[pair]uint32{}}
		r.processes = append(r.processes, p)
		r.byRank[p.rank] = p
		for path := range p.limits {
			p.limits[path] = t.EagerLimit(profile.Path(path))
		}
		r.enter(p)
	}
	r.setClock()
	return r
}

// again returns a second replay of the same events.
func (r *replay) again() *replay {
	var sources []profile.EventSource
	for _, p := range r.processes {
		sources = append(sources, p.src)
	}
	second := newReplay(sources, Options{})
	second.first = r
	return second
}

// setClock sets the start of the job and the initial length of a round.
func (r *replay) setClock() {
	first, last, events := r.processes[0].from(), r.processes[0].to(), uint64(0)
	for _, p := range r.processes {
		first, last = min(first, p.from()), max(last, p.to())
		events += p.trace.Events
	}
	r.start, r.until = first, first
	r.window = max(int64(float64(last-first)*min(float64(r.perRound)/float64(events+1), 1)), 1)
	r.firstWindow = r.window
	r.frames = frames{interval: r.o.Interval.Nanoseconds(), start: first, cells: map[cell]volume{}}
}

// all replays all events.
func (r *replay) all() error {
	stop := make(chan struct{})
	defer close(stop)
	for _, p := range r.processes {
		go p.feed(r.loaded, stop)
	}
	r.loading = len(r.processes)
	for more := true; more; more = r.next() {
		if err := r.drain(); err != nil {
			return err
		}
	}
	r.leftOver()
	r.leftCollectives()
	r.leftWindows()
	for _, l := range r.lanes {
		r.finish(l)
	}
	r.settle()
	r.leftAway()
	return nil
}

// finish ends the last call of a lane. The time from there to the end of the
// process was spent computing.
func (r *replay) finish(l *lane) {
	if l.call != nil {
		r.leave(l.call)
		r.close(l.call)
	}
	r.compute(l, nil, max(l.process.to()-l.last, 0))
}

// drain replays each process up to the end of the round, as far as possible.
func (r *replay) drain() error {
	for len(r.queue) > 0 || r.loading > 0 {
		if len(r.queue) == 0 {
			if err := r.accept(<-r.loaded); err != nil {
				return err
			}
		}
		p := r.queue[0]
		r.queue = r.queue[1:]
		r.run(p)
	}
	r.queue = r.queue[:0]
	return nil
}

// accept takes the batch of events that a process has read.
func (r *replay) accept(p *replayedRank) error {
	r.loading--
	if p.batch.err != nil {
		return p.batch.err
	}
	for i := len(p.kinds); i < len(p.batch.kinds); i++ {
		p.kinds = append(p.kinds, r.newKind(p, &p.batch.kinds[i]))
	}
	p.at = 0
	r.proceed(p)
	return nil
}

func (r *replay) proceed(p *replayedRank) {
	p.progress, p.parkedOn = going, nil
	r.queue = append(r.queue, p)
}

// park stops a process until the causes that the call needs are known.
func (r *replay) park(p *replayedRank, c *call) {
	p.progress, p.parkedOn, p.parkedSince = parked, c, r.round
}

// next starts a round. It returns false if all processes have ended.
func (r *replay) next() bool {
	r.round++
	r.adapt()
	r.letGo()
	r.oldEpochs()
	r.forget()
	if !r.release() {
		return false
	}
	first := int64(unknownTime)
	for _, p := range r.processes {
		if p.progress == going {
			first = min(first, p.next())
			r.queue = append(r.queue, p)
		}
	}
	if r.until += r.window; first != unknownTime {
		r.until = max(r.until, first)
	}
	if r.o.Progress != nil {
		r.o.Progress(r.steps)
	}
	return true
}

// adapt changes the length of a round according to the number of events in the
// last one.
func (r *replay) adapt() {
	r.window = r.adapted(r.window, r.steps-r.before)
	r.before = r.steps
}

// adapted returns a better length of a round, if one of the given length had n events.
func (r *replay) adapted(window int64, n uint64) int64 {
	switch {
	case n < r.perRound/2:
		return 2 * window
	case n > 2*r.perRound:
		return max(window/2, 1)
	}
	return window
}

// next returns when the process's next event ended. The process has one, or is
// at the end of its trace.
func (p *replayedRank) next() int64 {
	if p.batch.last {
		return 0
	}
	return p.batch.events.Start[p.at] + p.batch.events.Duration[p.at]
}

// release lets the process continue that has been parked for longest, if all others are parked too
// or it has been parked for very long. Its event is then lost, or comes later in the trace of
// another thread. release returns false if no process is left.
func (r *replay) release() bool {
	var oldest *replayedRank
	some, left := false, false
	for _, p := range r.processes {
		some = some || p.progress == going
		left = left || p.progress != ended
		if p.progress == parked && (oldest == nil || p.parkedOn.end < oldest.parkedOn.end) {
			oldest = p
		}
	}
	if oldest == nil {
		return left
	}
	if some && (r.round-oldest.parkedSince < patience || r.until-oldest.parkedOn.end < patienceNs) {
		return true
	}
	oldest.parkedOn.released = true
	oldest.progress, oldest.parkedOn = going, nil
	return true
}
