package trace

import (
	"errors"
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// progress tells what a process does in the replay.
type progress uint8

const (
	going   progress = iota // it can go on
	loading                 // its next events are being read
	parked                  // the last call of one of its threads needs what is not there yet
	ended
)

// process is a rank under replay.
type process struct {
	rank     int32
	trace    *profile.Trace
	src      profile.EventSource
	partial  bool // not all that it did is in the trace, wherever in the run
	progress progress

	batch  batch
	at     int   // the next event of the batch
	before int64 // events in the batches before
	resume chan struct{}

	kinds   []*kind
	members []membership // by communicator of the trace
	lanes   []*lane      // by thread; nil where there was no event
	links   links
	limits  [profile.NumPaths]*profile.EagerLimit // nil where none is recorded

	windows  map[int32]*window // by number
	accesses map[pair]uint32   // how often it started to access each target
	postings map[pair]uint32   // how often it posted a window for each origin

	present  int64     // Unix ns up to when it is known when the process was in MPI
	absences []absence // the latest mostAbsences, in a ring
	absent   int       // how many there were
	watchers []watcher // calls that may have waited for it

	// unknown is how many receives were set aside that may have got a message, of
	// which is not known which.
	unknown int

	parkedOn    *call
	parkedSince int // round
}

// batch is some events of a process, which hold until it is resumed; the last
// has none, and the error that ended the reading, if any.
type batch struct {
	events *profile.Events
	kinds  []profile.EventKind
	last   bool
	err    error
}

var errStopped = errors.New("stopped")

// feed reads the events of the process, and gives each batch to the replay
// without a copy: it goes on reading when the process is resumed. While the
// replay is with one process, others are read.
func (p *process) feed(loaded chan<- *process, stop <-chan struct{}) {
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

// from and to are when the application began and ended in the process, in Unix
// ns: between Init and Finalize as far as they were reached.
func (p *process) from() int64 {
	if p.trace.InitEnd != 0 {
		return p.trace.InitEnd
	}
	return p.trace.Start
}

func (p *process) to() int64 {
	if p.trace.FinalizeStart != 0 {
		return p.trace.FinalizeStart
	}
	return p.trace.End
}

// unfinished tells that there may have been more than the trace has.
func (p *process) unfinished() bool { return p.partial || p.trace.State != profile.Finalized }

// lane is a thread of a process: what it did has an order.
type lane struct {
	id      int32 // in replay.lanes
	thread  int32
	process *process
	call    *call // its last, whose completions may still follow
	last    int64 // when it ended
	ahead   []event
	// ideal is the time, in ns since the start of the job, if calls took none but
	// for what they wait for.
	ideal int64
	mpi   int64 // ns in calls between Init and Finalize
	jumps []jump
}

// lane finds the lane of a thread, or makes it.
func (r *replay) lane(p *process, thread int32) *lane {
	for len(p.lanes) <= int(max(thread, 0)) {
		p.lanes = append(p.lanes, nil)
	}
	at := &p.lanes[max(thread, 0)]
	if *at == nil {
		*at = &lane{id: int32(len(r.lanes)), thread: thread, process: p, last: p.from(), ideal: p.from() - r.start}
		r.lanes = append(r.lanes, *at)
	}
	return *at
}
