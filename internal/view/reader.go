package view

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/profile"
)

// share is how many times longer the interval between readings is than the processor time of
// one: readings take at most a twentieth of a processor.
const share = 20

// processorTime returns the processor time of this process. The time that passes would not do:
// on a busy machine a reading takes long, although it costs little.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Reader reads the recordings of a run while somebody looks. However many do, one goroutine
// reads them at most once in an interval. It only reads files: the ranks do not notice it.
type Reader struct {
	// Attended is whether this process waits for the command: the run ends when it says so.
	Attended bool

	dir    run.Dir
	every  time.Duration
	matrix func(*aggregate.Job) any // what /matrices returns of a job

	wanted  chan struct{}
	symbols profile.Symbols // names of call sites that were found; used by the goroutine only
	mutex   sync.Mutex
	latest  *Reading
	changed chan struct{} // closed when latest is replaced
}

// NewReader returns a reader of a run. matrix returns the matrices of a job.
func NewReader(dir run.Dir, matrix func(*aggregate.Job) any) *Reader {
	return &Reader{dir: dir, every: time.Second, matrix: matrix, wanted: make(chan struct{}, 1), changed: make(chan struct{})}
}

// Run reads when a reading is wanted, until the context ends.
func (r *Reader) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wanted:
		}
		before := r.Latest()
		if before != nil && before.final {
			continue
		}
		if !r.pause(ctx, before) {
			return
		}
		r.publish(r.read(before))
	}
}

// pause waits until the next reading is due. It returns false if the context ends before.
func (r *Reader) pause(ctx context.Context, before *Reading) bool {
	if before == nil {
		return true
	}
	due := time.NewTimer(time.Until(before.At.Add(r.interval(before))))
	defer due.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-due.C:
		return true
	}
}

// interval returns the time from a reading to the next.
func (r *Reader) interval(of *Reading) time.Duration {
	return max(r.every, share*of.cost)
}

func (r *Reader) publish(now *Reading) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.latest = now
	close(r.changed)
	r.changed = make(chan struct{})
}

// Latest returns the latest reading; nil if there is none.
func (r *Reader) Latest() *Reading {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.latest
}

// After returns the first reading whose number is above a given one, and that is not older
// than the interval. It returns the error of the context if that ends before.
func (r *Reader) After(ctx context.Context, number uint64) (*Reading, error) {
	for {
		r.mutex.Lock()
		latest, changed := r.latest, r.changed
		r.mutex.Unlock()
		if latest != nil && (latest.final || latest.Number > number && time.Since(latest.At) < 2*r.interval(latest)) {
			return latest, nil
		}
		select {
		case r.wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// sheetsOf returns the matrices of a job.
func (r *Reader) sheetsOf(j *aggregate.Job, messages uint64, at time.Time) Sheets {
	start := processorTime()
	body, err := json.Marshal(r.matrix(j))
	if err != nil {
		body = []byte("null")
	}
	return Sheets{body: body, of: messages, at: at, cost: processorTime() - start}
}

// Times after which a run counts as ended, although nobody said so.
const (
	// mergeWait is how long after the end of the command the merged files may be missing.
	mergeWait = 10 * time.Second
	// launchWait is how long after the end of all its processes a command that mpitrace waits
	// for may start others.
	launchWait = 30 * time.Second
	// quietWait is the same for ranks that recorded themselves.
	quietWait = 2 * time.Second
)

// ended reports whether the command that mpitrace waited for has ended, and its files are
// collected and merged.
func (r *Reader) ended(info *run.Info) bool {
	return info.ExitStatus != nil && (time.Since(info.Start.Add(time.Duration(info.WallNs))) > mergeWait || !r.dir.Stale())
}

// finalized reports whether all ranks of a run that nobody waited for have finalized. It only
// reads the heads of recordings, because the recordings of a large run take long.
func (r *Reader) finalized(info *run.Info) bool {
	if !info.Start.IsZero() {
		return false
	}
	opened, err := r.dir.Open(run.Heads, io.Discard)
	unfinished := func(j *run.Job) bool { return !j.Finalized() }
	return err == nil && len(opened.Jobs) > 0 && len(opened.Damaged) == 0 && !slices.ContainsFunc(opened.Jobs, unfinished)
}

// over reports whether a run counts as ended although nobody said so. last is the latest
// known moment of a process, in Unix ns.
func over(now *Reading, info *run.Info, last int64) bool {
	if now.Problem != "" || info.ExitStatus != nil || len(now.Jobs) == 0 {
		return false
	}
	wait := quietWait
	if !info.Start.IsZero() {
		wait = launchWait
	}
	for _, j := range now.Jobs {
		if j.Status.Running+j.Status.Stopped+j.Status.Unknown > 0 {
			return false
		}
		if j.Status.Missing != "" {
			wait = launchWait
		}
	}
	return time.Since(time.Unix(0, last)) > wait
}
