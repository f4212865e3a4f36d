package perfetto

import (
	"fmt"
	"io"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// timeline is a file that is being written.
type timeline struct {
	*shownEvents
	out       sink
	srcs      []profile.EventSource
	jobs      []*jobTracks
	processes []*rankTrack

	sent, received map[messageKey]flowEnd // ends of messages whose other end has not come yet
	changes        deltas

	slices, samples           uint64
	calls                     uint64 // number of calls in all slices
	flows, messages, backward uint64
}

// jobTracks is the processes of one MPI_COMM_WORLD.
type jobTracks struct {
	run      string
	ranks    map[int32]*rankTrack
	inFlight counter
}

// rankTrack is a rank in the file.
type rankTrack struct {
	trace      *profile.Trace
	job        *jobTracks
	rank       int32
	pid        int
	perThread  int // difference between the tids of a process's threads
	tracks     []*track
	comms      []int // number of each communicator, by its index
	kinds      []kindJSON
	unreceived counter
}

func newTimeline(w io.Writer, srcs []profile.EventSource, p *shownEvents) *timeline {
	t := &timeline{shownEvents: p, out: sink{w: w}, srcs: srcs, sent: map[messageKey]flowEnd{}, received: map[messageKey]flowEnd{}}
	comms, byRun := map[[2]string]int{}, map[string]*jobTracks{}
	for _, src := range srcs {
		trace := src.Trace()
		j := byRun[trace.Run]
		if j == nil {
			j = &jobTracks{run: trace.Run, ranks: map[int32]*rankTrack{}}
			byRun[trace.Run] = j
			t.jobs = append(t.jobs, j)
		}
		p := &rankTrack{trace: trace, job: j, rank: int32(trace.Rank)}
		j.ranks[p.rank] = p
		for _, c := range trace.Comms {
			id := [2]string{trace.Run, c.ID}
			if _, known := comms[id]; !known {
				comms[id] = len(comms)
			}
			p.comms = append(p.comms, comms[id])
		}
		t.processes = append(t.processes, p)
	}
	t.number()
	return t
}

// number gives each process its pid: rank + 1 in the first job, and so on for
// the jobs after it. The last pid of a job is for its counters.
func (t *timeline) number() {
	used := 0
	for _, j := range t.jobs {
		size := 0
		for _, p := range j.ranks {
			size = max(size, p.trace.Size, p.trace.Rank+1)
			p.pid = used + p.trace.Rank + 1
			p.unreceived = counter{pid: p.pid, name: "unreceived", interval: t.rankEvery}
		}
		used += max(size, 0) + 1
		j.inFlight = counter{pid: used, name: "in flight", interval: t.jobEvery}
	}
	for _, p := range t.processes {
		p.perThread = used
	}
}

// tid returns the number of a thread, which is unique over all processes. The
// first thread has the number of its process.
func (p *rankTrack) tid(thread int) int { return p.pid + thread*p.perThread }

func (p *rankTrack) track(thread int) *track {
	for len(p.tracks) <= thread {
		p.tracks = append(p.tracks, &track{pid: p.pid, tid: p.tid(len(p.tracks)), call: host{span: never}})
	}
	return p.tracks[thread]
}

func (p *rankTrack) kind(i uint32, kinds []profile.EventKind) *kindJSON {
	for len(p.kinds) <= int(i) {
		p.kinds = append(p.kinds, newKind(kinds[len(p.kinds)], p.trace))
	}
	return &p.kinds[i]
}

func (t *timeline) write() error {
	t.out.line = append(t.out.line, `{"traceEvents":[`...)
	t.names()
	err := merge(t.srcs, t.threads, func(s *stream) {
		t.countUntil(s.floor)
		t.event(t.processes[s.index], s.e, s.i, s.kinds)
	})
	if err != nil {
		return err
	}
	t.finish()
	t.out.flush()
	return t.out.err
}

func (t *timeline) event(p *rankTrack, e *profile.Events, i int, kinds []profile.EventKind) {
	k := p.kind(e.Kind[i], kinds)
	tr := p.track(threadOf(&k.EventKind))
	switch k.Action {
	case profile.Called:
		tr.call = t.called(tr, k, e, i)
		t.message(p, k, e, i, tr.call)
	case profile.Moved:
		t.message(p, k, e, i, t.hostOf(tr, e, i))
	}
}

// called adds a call.
func (t *timeline) called(tr *track, k *kindJSON, e *profile.Events, i int) host {
	call := host{span: span{e.Start[i], e.Start[i] + e.Duration[i]}}
	call.shown = call.touches(span{t.from, t.to})
	rest := func(b []byte) []byte { return k.appendCall(b, e.Bytes[i], e.Tag[i]) }
	switch {
	case !call.shown:
	case e.Duration[i] >= t.shortest:
		t.endRun(tr)
		call.span = tr.fit(call.span)
		t.slice(tr, call.span, rest)
		t.calls++
	default:
		if window := call.start / t.runEvery; window != tr.run.window {
			t.endRun(tr)
			tr.run.window = window
		}
		tr.run.add(call.span, k.Call, rest)
	}
	return call
}

// hostOf returns the call that a message event belongs to. If the call comes
// later, it is shown if it overlaps the requested time.
func (t *timeline) hostOf(tr *track, e *profile.Events, i int) host {
	at := hostSpan(e, i, tr.call.span)
	if at == tr.call.span {
		return tr.call
	}
	return host{span: at, shown: at.touches(span{t.from, t.to})}
}

func (t *timeline) endRun(tr *track) {
	if len(tr.run.names) == 0 {
		return
	}
	t.calls += uint64(tr.run.calls())
	t.slice(tr, tr.fit(tr.run.span), tr.run.appendTo)
	tr.run.reset()
}

func (t *timeline) slice(tr *track, at span, rest func([]byte) []byte) {
	t.slices++
	b := t.out.begin('X', tr.pid, tr.tid)
	b = append(b, `"ts":`...)
	b = appendMicroseconds(b, at.start-t.trace.start)
	b = append(b, `,"dur":`...)
	b = appendMicroseconds(b, at.end-at.start)
	t.out.end(rest(append(b, ',')))
}

// names writes the names of processes and threads, and the order of ranks.
func (t *timeline) names() {
	for i, p := range t.processes {
		t.name("process_name", p.pid, p.pid, fmt.Sprintf("rank %d (%s)", p.rank, text.Line(p.trace.Host))+t.ofRun(p.job))
		t.order(p.pid, len(t.jobs)+i)
		for thread := range t.threads[i] {
			t.name("thread_name", p.pid, p.tid(thread), fmt.Sprintf("thread %d", thread))
		}
	}
	for i, j := range t.jobs {
		t.name("process_name", j.inFlight.pid, j.inFlight.pid, "all ranks"+t.ofRun(j))
		t.order(j.inFlight.pid, i)
	}
}

// ofRun returns a text that tells jobs apart if there are several.
func (t *timeline) ofRun(j *jobTracks) string {
	if len(t.jobs) == 1 {
		return ""
	}
	return " of job " + text.Line(j.run)
}

func (t *timeline) name(what string, pid, tid int, name string) {
	b := t.out.begin('M', pid, tid)
	b = append(b, `"name":"`+what+`","args":{"name":`...)
	t.out.end(append(appendText(b, name), '}'))
}

func (t *timeline) order(pid, at int) {
	b := t.out.begin('M', pid, pid)
	b = append(b, `"name":"process_sort_index","args":{"sort_index":`...)
	t.out.end(append(strconv.AppendInt(b, int64(at), 10), '}'))
}
