package live

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

// hangsAfter is how many seconds a process may be in one call before it counts as hanging.
const hangsAfter = 5.0

// mostProcesses is the largest number of processes of a job that a reading lists. They are
// the first of `status --json`: those that ended, then those in a call for the longest time.
const mostProcesses = 10_000

// noRank is the notice of a reading before the first process has begun.
const noRank = "no rank has called MPI_Init yet"

// Snapshot is what a run was doing at one moment: the answer to /data.
type Snapshot struct {
	Number   uint64    `json:"number"` // of readings since the server started
	At       time.Time `json:"at"`
	TookS    float64   `json:"reading_took_s"`
	Finished bool      `json:"finished"` // the run has ended: the report can be asked for
	Problem  string    `json:"problem,omitempty"`
	Jobs     []LiveJob `json:"jobs"`
	Notice   string    `json:"notice,omitempty"` // why there are no jobs

	final     bool          // the run has ended and nothing in its directory will change
	sheets    []Sheets      // one for each job
	cost      time.Duration // see startCost
	published time.Time
	encoded   func() packed // the reading as JSON; made when the first client asks for it
}

// LiveJob is one job of a reading.
type LiveJob struct {
	Index int `json:"index"` // the job of requests, and of the report; damaged jobs count too
	views.Watched
	// Matrices is the number of the reading whose matrices are the latest. They are the
	// answer to /matrices.
	Matrices uint64          `json:"matrices"`
	Sections []views.Section `json:"sections"`
}

// jobOf returns a job of a reading that was made at a time.
func jobOf(j *aggregate.Job, at time.Time, before *LiveJob, since time.Time) LiveJob {
	out := LiveJob{Watched: views.Watched{Status: j.Status(), Totals: j.Totals()}}
	s := out.Status
	out.ProcessesTotal = len(s.Processes)
	s.Processes = s.Processes[:min(len(s.Processes), mostProcesses)]
	out.Waits = make([]views.Waiting, len(s.Processes))
	elapsed := 0.0 // since the first process began
	if start := j.Start(); start > 0 {
		elapsed = float64(at.UnixNano()-start) / 1e9
	}
	var hanging []int
	for i := range s.Processes {
		e := &s.Processes[i]
		out.Waits[i] = waiting(e, elapsed)
		if out.Waits[i].Hanging && e.Rank >= 0 {
			hanging = append(hanging, e.Rank)
		}
	}
	if len(hanging) > 0 {
		out.Hanging = profile.RankSetOf(hanging...).String()
	}
	if seconds := at.Sub(since).Seconds(); before != nil && seconds > 0 && out.Totals.Calls >= before.Totals.Calls {
		out.Rates = &views.JobRates{OverS: seconds, Calls: float64(out.Totals.Calls-before.Totals.Calls) / seconds,
			Messages: difference(out.Totals.Messages, before.Totals.Messages) / seconds, Bytes: difference(out.Totals.Bytes, before.Totals.Bytes) / seconds}
	}
	out.Sections = views.Live(&out.Watched)
	return out
}

// difference returns a - b, and 0 if a process is missing that was there before.
func difference(a, b uint64) float64 { return float64(a - min(a, b)) }

// waiting returns what follows from the calls of a process. elapsed is the time since the
// first process began, in seconds.
func waiting(e *aggregate.End, elapsed float64) views.Waiting {
	out := views.Waiting{For: e.WaitsFor()}
	known := e.LastCallS
	for i := range e.Calls {
		known = max(known, e.Calls[i].SinceS)
		out.Hanging = out.Hanging || e.Calls[i].ForS > hangsAfter
	}
	out.Hanging = out.Hanging && (e.State.Runs() || e.State == profile.EndUnknown)
	if e.State == profile.EndUnknown {
		out.AgeS = new(max(0, elapsed-known))
	}
	return out
}

// read reads the recordings. It returns no error: Problem says what is wrong, even if reading
// panics, because this process may also run the job.
func (r *Reader) read(before *Snapshot) (out *Snapshot) {
	out = &Snapshot{Number: 1, At: time.Now(), Jobs: []LiveJob{}}
	if before != nil {
		out.Number = before.Number + 1
	}
	cost := startCost()
	out.encoded = sync.OnceValue(func() packed { return packJSON(out, nil) })
	defer func() {
		if p := recover(); p != nil {
			out.Problem = fmt.Sprintf("read the recordings: internal error: %v", p)
		}
		out.TookS, out.cost = time.Since(out.At).Seconds(), cost()
	}()
	r.readInto(out, before)
	return out
}

func (r *Reader) readInto(out, before *Snapshot) {
	info, err := r.dir.ReadInfo()
	if err != nil {
		out.Problem = err.Error() // what the ranks do is shown nevertheless
	}
	out.Finished, out.final = r.end(info)
	if !out.Finished && r.Ended == nil && (before == nil || before.Finished) {
		out.Finished = r.finalized(info)
	}
	if out.Finished {
		return
	}
	opened, err := source.Open([]string{string(r.dir)}, source.Options{Depth: source.Whole, Known: r.symbols, RunOnly: true})
	if err != nil {
		out.Problem = err.Error()
		return
	}
	last := int64(0) // latest known moment of any process
	for i, src := range opened.Jobs {
		live := source.LiveSource{Of: src, Read: out.At}
		j := aggregate.NewJob(aggregate.Options{})
		err := live.Each(func(p *profile.Profile) error {
			r.symbols = p.Symbols
			last = max(last, p.End, p.Exit.At)
			j.Add(p)
			return nil
		})
		if err != nil {
			out.Problem = err.Error()
			continue
		}
		r.addJob(out, before, i, j)
	}
	if len(out.Jobs) == 0 {
		out.Notice = noRank
	}
	out.Finished = r.Ended == nil && over(out, info, last)
}

// addJob adds a job to a reading, with its matrices if they changed. index is its index among
// all jobs of the run.
func (r *Reader) addJob(out, before *Snapshot, index int, j *aggregate.Job) {
	var earlier *LiveJob
	var since time.Time
	var sheets Sheets
	if before != nil {
		if at := slices.IndexFunc(before.Jobs, func(b LiveJob) bool { return b.Status.Run == j.Run }); at >= 0 {
			earlier, since, sheets = &before.Jobs[at], before.At, before.sheets[at]
		}
	}
	job := jobOf(j, out.At, earlier, since)
	job.Index = index
	if earlier != nil {
		job.Matrices = earlier.Matrices
	}
	changed := sheets.of != job.Totals.Messages || sheets.body == nil
	if changed && out.At.Sub(sheets.at) >= sheets.wait() {
		job.Matrices, sheets = out.Number, r.sheetsOf(j, job.Totals.Messages, out.At)
	}
	out.Jobs, out.sheets = append(out.Jobs, job), append(out.sheets, sheets)
}

// Sheets are the matrices of a job, as JSON.
type Sheets struct {
	body   []byte
	packed func() packed
	of     uint64 // messages in them
	at     time.Time
	cost   time.Duration
}

// wait returns the least time between these matrices and the next.
func (s *Sheets) wait() time.Duration {
	if len(s.body) > 1<<20 {
		return max(5*time.Second, share*s.cost)
	}
	return share * s.cost
}
