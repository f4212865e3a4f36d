package live

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
)

// share is how many times longer the interval between readings is than the processor time of
// one: readings take at most a twentieth of a processor.
const share = 20

// startCost starts to measure what work costs; the function that it returns returns the cost
// since then. The cost is the processor time of this process, because on a busy machine cheap
// work may take long. It is at most the time that passed, because other goroutines use the
// processor too.
func startCost() func() time.Duration {
	start, before := time.Now(), processorTime()
	return func() time.Duration { return min(processorTime()-before, time.Since(start)) }
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Reader reads the recordings of a run while somebody looks. One goroutine reads them for all
// viewers, at most once in an interval. A reading opens the recordings and, of processes on
// this node, /proc/PID/maps. The kernel locks the memory map of a process while it lists it.
type Reader struct {
	// Ended is closed when the command has ended and its files are merged, if this process
	// runs the command. If Ended is nil, the end is found in the run directory.
	Ended <-chan struct{}

	dir    rundir.Dir
	every  time.Duration
	matrix func(*aggregate.Job) any // what /matrices returns of a job

	wanted  chan struct{}
	symbols profile.Symbols // names of call sites that were found; used by the goroutine only
	mutex   sync.Mutex
	latest  *Snapshot
	changed chan struct{} // closed when latest is replaced
}

// NewReader returns a reader of a run. matrix returns the matrices of a job.
func NewReader(dir rundir.Dir, matrix func(*aggregate.Job) any) *Reader {
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
func (r *Reader) pause(ctx context.Context, before *Snapshot) bool {
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
func (r *Reader) interval(of *Snapshot) time.Duration {
	return max(r.every, share*of.cost)
}

func (r *Reader) publish(now *Snapshot) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now.published = time.Now()
	r.latest = now
	close(r.changed)
	r.changed = make(chan struct{})
}

// Latest returns the latest reading; nil if there is none.
func (r *Reader) Latest() *Snapshot {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.latest
}

// After returns a reading whose number is above a given one. The reading was published after
// the call began, or not longer ago than two intervals. The time counts from the publishing,
// because a reading may take longer than an interval. After returns the error of the context
// if the context ends before.
func (r *Reader) After(ctx context.Context, number uint64) (*Snapshot, error) {
	began := time.Now()
	fresh := func(of *Snapshot) bool {
		return of.published.After(began) || time.Since(of.published) < 2*r.interval(of)
	}
	for {
		r.mutex.Lock()
		latest, changed := r.latest, r.changed
		r.mutex.Unlock()
		if latest != nil && (latest.final || latest.Number > number && fresh(latest)) {
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
	cost := startCost()
	body, err := json.Marshal(r.matrix(j))
	if err != nil {
		body = []byte("null")
	}
	return Sheets{body: body, packed: sync.OnceValue(func() packed { return pack(body) }), of: messages, at: at, cost: cost()}
}

// Times after which a run counts as ended, although its end is not recorded.
const (
	// mergeWait is how long after the end of the command a run counts as ended although its
	// files are not merged. The merge may take longer, or may never happen.
	mergeWait = 10 * time.Second
	// launchWait is how long after the end of all processes a run counts as ended if mpitrace
	// waits for the command, which may start other processes.
	launchWait = 30 * time.Second
	// quietWait is the same for ranks that recorded themselves.
	quietWait = 2 * time.Second
)

// end reports whether the command that mpitrace waits for has ended, and whether that is final:
// the files are merged, or the directory is gone.
func (r *Reader) end(info *rundir.Info) (finished, final bool) {
	if _, err := os.Stat(string(r.dir)); errors.Is(err, fs.ErrNotExist) {
		return true, true
	}
	if r.Ended != nil {
		select {
		case <-r.Ended:
			return true, true
		default:
			return false, false
		}
	}
	if info.ExitStatus == nil {
		return false, false
	}
	if !r.dir.Stale() {
		return true, true
	}
	return time.Since(info.Start.Add(time.Duration(info.WallNs))) > mergeWait, false
}

// finalized reports whether all ranks of a run without a command have finalized. It reads only
// the heads of recordings, because whole recordings of a large run take long.
func (r *Reader) finalized(info *rundir.Info) bool {
	if !info.Start.IsZero() {
		return false
	}
	opened, err := source.Open([]string{string(r.dir)}, source.Options{RunOnly: true})
	unfinished := func(j *source.Job) bool { return !j.Finalized() }
	return err == nil && len(opened.Jobs) > 0 && len(opened.Damage()) == 0 && !slices.ContainsFunc(opened.Jobs, unfinished)
}

// over reports whether a run counts as ended although its end is not recorded: no process runs
// any more, and none has started for a while. last is the latest known moment of a process, in
// Unix ns.
func over(now *Snapshot, info *rundir.Info, last int64) bool {
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
