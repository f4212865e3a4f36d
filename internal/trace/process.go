package trace

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// progress is the state of a process in the replay.
type progress uint8

const (
	going   progress = iota // its next event can be replayed
	loading                 // its next events are being read
	parked                  // the last call of one of its threads depends on events that have not been replayed
	ended
)

// replayedRank is a rank in the replay.
type replayedRank struct {
	rank     int32
	index    int // in replay.processes
	trace    *profile.Trace
	src      profile.EventSource
	partial  bool // whether some of its events are missing from the trace
	progress progress
	ownShare float64 // see profile.Times

	batch  batch
	at     int   // index of the next event in the batch
	before int64 // number of events in earlier batches
	resume chan struct{}

	kinds   []*kind
	members []membership // by communicator of the trace
	lanes   []*lane      // by thread; nil if a thread has no events
	links   links
	limits  [profile.NumPaths]*profile.EagerLimit // by path; nil if not recorded

	bursts bursts

	windows  map[int32]*window // by number
	accesses map[pair]uint32   // how often it started to access each target
	postings map[pair]uint32   // how often it posted a window for each origin

	present  int64     // absences are known up to this time, Unix ns
	absences []absence // the latest mostAbsences, as a ring
	absent   int       // number of absences so far, including those no longer in the ring
	watchers []watcher // calls that may have waited for this process

	// unknown counts receives without a known result that may have received a
	// message.
	unknown int

	parkedOn    *call
	parkedSince int // round of the replay
}

// batch is a number of events of a process. They are valid until the process is
// resumed. The last batch has no events, and the error that ended the reading,
// if any.
type batch struct {
	events *profile.Events
	kinds  []profile.EventKind
	last   bool
	err    error
}

var errStopped = errors.New("stopped")

// feed reads the events of the process and passes each batch to the replay
// without a copy. It continues when the process is resumed. While the replay
// handles one process, others are read.
func (p *replayedRank) feed(loaded chan<- *replayedRank, stop <-chan struct{}) {
	err := p.src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		if e.Len() == 0 {
			return nil
		}
		p.batch = batch{events: e, kinds: kinds}
		loaded <- p
		select {
		case <-p.resume:
			return nil
		case <-stop:
			return errStopped
		}
	})
	if errors.Is(err, errStopped) {
		return
	}
	if err != nil {
		err = fmt.Errorf("read trace of rank %d: %w", p.rank, err)
	}
	p.batch = batch{last: true, err: err}
	loaded <- p
}

// from and to return when the application started and ended in the process, in
// Unix ns: the end of Init and the start of Finalize, if these were reached.
func (p *replayedRank) from() int64 { return departure(p.trace) }
func (p *replayedRank) to() int64   { return cmp.Or(p.trace.FinalizeStart, p.trace.End) }

// unfinished reports whether the process may have done more than the trace
// contains.
func (p *replayedRank) unfinished() bool { return p.partial || p.trace.State != profile.Finalized }

// lane is a thread of a process. Its events are in order.
type lane struct {
	id      int32 // index in replay.lanes
	thread  int32
	process *replayedRank
	call    *call // the last call, whose completions may still follow
	last    int64 // end of the last call
	stop    int32 // of the last call, index in replay.stops
	ahead   []event
	now     clocks // at the begin of the last call
	owed    clocks // computing that changes put off
	mpi     int64  // ns in calls without Init and Finalize
	called  bool   // whether it made such calls after Init
	jumps   []jump
}

// maxThreads bounds what a damaged file, whose numbers of threads may be any, can take in memory.
const maxThreads = 1 << 16

// lane returns the lane of a thread, and creates it if needed.
func (r *replay) lane(p *replayedRank, thread int32) *lane {
	thread = min(max(thread, 0), maxThreads-1)
	for len(p.lanes) <= int(thread) {
		p.lanes = append(p.lanes, nil)
	}
	at := &p.lanes[thread]
	if *at == nil {
		*at = &lane{id: int32(len(r.lanes)), thread: thread, process: p, last: p.from()}
		for i := range (*at).now {
			(*at).now[i] = p.from() - r.start
		}
		r.lanes = append(r.lanes, *at)
	}
	return *at
}
