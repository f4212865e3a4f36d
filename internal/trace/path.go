package trace

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/profile"
)

// pathWait is the shortest wait, in ns, at which the critical path leaves a
// rank.
const pathWait = 1000

// jump is a wait of a lane for another, at which the critical path may change
// lanes.
type jump struct {
	time int64 // end of the wait, Unix ns
	lane int32 // the lane that it waited for
}

// CriticalPath is the chain of activities that determined the end of the run.
// It leads from the rank that ended last back to its last wait, continues with
// the rank that it waited for, and so on to the start. To shorten the run,
// something on it must become shorter.
type CriticalPath struct {
	Length float64 `json:"length_s"`
	Jumps  int     `json:"jumps"` // number of changes from one rank to another
	// Computation and MPI are its two parts.
	Computation float64     `json:"computation_s"`
	MPI         float64     `json:"mpi_s"`
	Ranks       []PathRank  `json:"ranks"`     // the ranks on it, most time first
	Callsites   []PathPlace `json:"callsites"` // the MPI calls on it, most time first
	// Segments are its parts in the order of time; the longest, if there are more
	// than maxPathSegments.
	Segments []PathSegment `json:"-"`
}

// maxPathSegments is well above what a screen can show.
const maxPathSegments = 10_000

// PathSegment is a part of the critical path that is on one thread.
type PathSegment struct {
	Rank, Thread int
	From, To     int64 // Unix ns
}

// PathRank is the part of the critical path on one rank.
type PathRank struct {
	Rank        int     `json:"rank"`
	Time        float64 `json:"time_s"`
	Share       float64 `json:"share"` // of the path
	Computation float64 `json:"computation_s"`
	MPI         float64 `json:"mpi_s"`
}

// PathPlace is the part of the critical path in one call at one call site, over
// all ranks.
type PathPlace struct {
	Call     string  `json:"call"`
	Callsite string  `json:"callsite"`
	Time     float64 `json:"time_s"`
	Share    float64 `json:"share"` // of the path
}

// segment is a part of the path on one lane, in Unix ns.
type segment struct{ from, to int64 }

// criticalPath finds the path from the waits, and reads the traces again to
// find what happened on it.
func (r *replay) criticalPath() (*CriticalPath, error) {
	segments, jumps := r.walk()
	on := map[*replayedRank]*pathPart{}
	var parts []*pathPart
	for _, l := range r.lanes {
		if len(segments[l.id]) == 0 {
			continue
		}
		part := on[l.process]
		if part == nil {
			part = &pathPart{process: l.process, threads: map[int32]*threadPath{}, calls: map[callPlace]int64{}}
			on[l.process] = part
			parts = append(parts, part)
		}
		slices.Reverse(segments[l.id])
		part.threads[l.thread] = &threadPath{segments: segments[l.id]}
	}
	if err := readParts(parts); err != nil {
		return nil, err
	}
	out := r.joinPath(parts, jumps)
	out.Segments = longestSegments(r.lanes, segments)
	return out, nil
}

// longestSegments returns at most maxPathSegments parts of the path in the
// order of time.
func longestSegments(lanes []*lane, segments [][]segment) []PathSegment {
	var all []PathSegment
	for _, l := range lanes {
		for _, s := range segments[l.id] {
			if s.from < s.to {
				all = append(all, PathSegment{int(l.process.rank), int(l.thread), s.from, s.to})
			}
		}
	}
	if len(all) > maxPathSegments {
		slices.SortFunc(all, func(a, b PathSegment) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
		all = all[:maxPathSegments]
	}
	slices.SortFunc(all, func(a, b PathSegment) int { return cmp.Compare(a.From, b.From) })
	return all
}

// walk follows the path from its end to its start. It returns the segments of
// each lane, the last one first, and the number of jumps.
func (r *replay) walk() ([][]segment, int) {
	segments := make([][]segment, len(r.lanes))
	l := r.lastLane()
	if l == nil {
		return segments, 0
	}
	for _, l := range r.lanes {
		slices.SortFunc(l.jumps, func(a, b jump) int { return cmp.Compare(a.time, b.time) })
	}
	jumps := 0
	for t := l.process.to(); ; jumps++ {
		n, _ := slices.BinarySearchFunc(l.jumps, t, func(j jump, t int64) int { return cmp.Compare(j.time, t) })
		if n == 0 {
			if from := l.process.from(); from < t {
				segments[l.id] = append(segments[l.id], segment{from, t})
			}
			return segments, jumps
		}
		j := l.jumps[n-1]
		segments[l.id] = append(segments[l.id], segment{j.time, t})
		l, t = r.lanes[j.lane], j.time
	}
}

// lastLane returns thread 0 of the rank that ended last.
func (r *replay) lastLane() *lane {
	var last *lane
	for _, p := range r.processes {
		if l := p.main(); l != nil && (last == nil || p.to() > last.process.to()) {
			last = l
		}
	}
	return last
}

// main returns the first thread that has events.
func (p *replayedRank) main() *lane {
	for _, l := range p.lanes {
		if l != nil {
			return l
		}
	}
	return nil
}

// pathPart is the part of the path on one process.
type pathPart struct {
	process *replayedRank
	threads map[int32]*threadPath
	calls   map[callPlace]int64 // ns in calls
}

type callPlace struct{ call, site string }

// threadPath follows the segments of a thread while its calls are read.
type threadPath struct {
	segments []segment
	at       int
	covered  int64 // calls have been counted up to this time
}

// take returns how many ns of a call are on the path.
func (t *threadPath) take(from, to int64) int64 {
	from = max(from, t.covered)
	t.covered = max(t.covered, to)
	for t.at < len(t.segments) && t.segments[t.at].to <= from {
		t.at++
	}
	sum := int64(0)
	for i := t.at; i < len(t.segments) && t.segments[i].from < to; i++ {
		sum += overlap(from, to, t.segments[i].from, t.segments[i].to)
	}
	return sum
}

// readParts reads the traces, as many at once as there are processors.
func readParts(parts []*pathPart) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	errs := make([]error, len(parts))
	for i, part := range parts {
		group.Go(func() error {
			errs[i] = part.read()
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(errs...)
}

// ranged is implemented by sources that can skip events outside a time range.
type ranged interface {
	EachBetween(from, to int64, f func(*profile.Events, []profile.EventKind) error) error
}

func (p *pathPart) read() error {
	from, to := int64(unknownTime), int64(0)
	for _, t := range p.threads {
		from, to = min(from, t.segments[0].from), max(to, t.segments[len(t.segments)-1].to)
	}
	each := p.process.src.Each
	if src, ok := p.process.src.(ranged); ok {
		each = func(f func(*profile.Events, []profile.EventKind) error) error { return src.EachBetween(from, to, f) }
	}
	var sums []int64 // by kind
	var places []callPlace
	var tracks []*threadPath
	err := each(func(e *profile.Events, kinds []profile.EventKind) error {
		for _, k := range kinds[len(sums):] {
			sums, places = append(sums, 0), append(places, callPlace{k.Call, k.Callsite})
			tracks = append(tracks, p.trackOf(&k))
		}
		for i, start := range e.Start {
			if k := e.Kind[i]; tracks[k] != nil && e.Duration[i] > 0 {
				sums[k] += tracks[k].take(start, start+e.Duration[i])
			}
		}
		return nil
	})
	for i, ns := range sums {
		p.calls[places[i]] += ns
	}
	return err
}

// trackOf returns the path on the thread of a kind's calls. It returns nil if
// there is none, or if events of the kind are not calls.
func (p *pathPart) trackOf(k *profile.EventKind) *threadPath {
	if k.Action != profile.Called {
		return nil
	}
	return p.threads[max(k.Thread, 0)]
}

// joinPath adds up the parts of all ranks.
func (r *replay) joinPath(parts []*pathPart, jumps int) *CriticalPath {
	out := &CriticalPath{Jumps: jumps, Ranks: []PathRank{}, Callsites: []PathPlace{}}
	calls := map[callPlace]int64{}
	var length, mpi int64
	for _, p := range parts {
		all, inside := p.length(), int64(0)
		for at, ns := range p.calls {
			inside += ns
			calls[at] += ns
		}
		length += all
		mpi += inside
		out.Ranks = append(out.Ranks, PathRank{int(p.process.rank), seconds(all), 0, seconds(all - inside), seconds(inside)})
	}
	out.Length, out.MPI, out.Computation = seconds(length), seconds(mpi), seconds(length-mpi)
	for i := range out.Ranks {
		out.Ranks[i].Share = ratio(out.Ranks[i].Time, out.Length)
	}
	for at, ns := range calls {
		if ns > 0 {
			out.Callsites = append(out.Callsites, PathPlace{at.call, at.site, seconds(ns), ratio(seconds(ns), out.Length)})
		}
	}
	out.sort()
	return out
}

// length returns how much of the path is on the process, in ns.
func (p *pathPart) length() int64 {
	var sum int64
	for _, t := range p.threads {
		for _, s := range t.segments {
			sum += s.to - s.from
		}
	}
	return sum
}

func (out *CriticalPath) sort() {
	slices.SortFunc(out.Ranks, func(a, b PathRank) int { return cmp.Or(cmp.Compare(b.Time, a.Time), a.Rank-b.Rank) })
	slices.SortFunc(out.Callsites, func(a, b PathPlace) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Call, b.Call), strings.Compare(a.Callsite, b.Callsite))
	})
}
