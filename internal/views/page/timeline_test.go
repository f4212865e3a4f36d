package page

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/timeline"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

const (
	start = int64(1_700_000_000_000_000_000)
	us    = int64(1000)
)

// process is a trace in memory.
type process struct {
	trace  profile.Trace
	kinds  []profile.EventKind
	events profile.Events
	err    error
}

func (p *process) Trace() *profile.Trace { return &p.trace }

func (p *process) Each(f func(*profile.Events, []profile.EventKind) error) error {
	return errors.Join(p.err, f(&p.events, p.kinds))
}

// add appends an event from one time to another, in µs after the start.
func (p *process) add(k profile.EventKind, from, to int64, bytes uint64, tag int32, seq uint32) {
	i := slices.Index(p.kinds, k)
	if i < 0 {
		i = len(p.kinds)
		p.kinds = append(p.kinds, k)
	}
	e := &p.events
	e.Start, e.Duration = append(e.Start, start+from*us), append(e.Duration, (to-from)*us)
	e.Bytes, e.Kind, e.Tag = append(e.Bytes, bytes), append(e.Kind, uint32(i)), append(e.Tag, tag)
	e.Link, e.Seq = append(e.Link, 0), append(e.Seq, seq)
	p.trace.Events++
}

// pair returns two ranks: rank 0 sends to a thread of rank 1, which waits for the message,
// and thread 0 of rank 1 makes a call in a callback of another.
func pair() (*process, *process) {
	var ps [2]*process
	for r := range ps {
		ps[r] = &process{trace: profile.Trace{Run: "job", Rank: r, Size: 2, Threads: 1 + 2*r, InitEnd: start + 10*us, FinalizeStart: start + int64(90+r)*us,
			Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD", Size: 2, Rank: r}}}}
		ps[r].add(profile.EventKind{Call: "Init", Class: profile.Other, Comm: -1, Peer: profile.PeerNone}, 0, 10, 0, profile.NoTag, 0)
	}
	a, b := ps[0], ps[1]
	a.add(profile.EventKind{Call: "Send", Direction: profile.Send, Peer: 1, Callsite: "main a.c:7"}, 50, 60, 4096, 3, 1)
	b.add(profile.EventKind{Call: "Recv", Direction: profile.Recv, Peer: 0, Thread: 2, Callsite: "worker a.c:9"}, 20, 58, 4096, 3, 1)
	b.add(profile.EventKind{Action: profile.Moved, Call: "Irecv", Direction: profile.Recv, Peer: 0}, 58, 58, 1, 5, 9)
	b.add(profile.EventKind{Call: "Test", Comm: -1, Peer: profile.PeerNone}, 72, 73, 0, profile.NoTag, 0)
	b.add(profile.EventKind{Call: "Barrier", Class: profile.AllToAll, Peer: profile.PeerNone}, 70, 80, 0, profile.NoTag, 0)
	return a, b
}

// pairTimeline returns the timeline of pair with a wait and a critical path.
func pairTimeline(t *testing.T, limits timelineLimits) *TimelineData {
	t.Helper()
	a, b := pair()
	waits := []profile.Wait{
		{Rank: 1, Event: 4, Peer: 0, Pattern: "wait-at-barrier", Start: start + 70*us, Duration: 2 * us},
		{Rank: 1, Event: 1, Peer: 0, Pattern: "late-sender", Start: start + 20*us, Duration: 30 * us, Callsite: "worker a.c:9", PeerCallsite: "main a.c:7"},
	}
	path := &trace.CriticalPath{Jumps: 1, Segments: []trace.PathSegment{{Rank: 0, From: start, To: start + 50*us}, {Rank: 1, Thread: 2, From: start + 50*us, To: start + 80*us}}}
	tl, err := timelineOf([]profile.EventSource{a, b}, waits, path, limits)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// names returns texts of a timeline by their indices.
func (tl *TimelineData) names(indices ...int) (out []string) {
	for _, i := range indices {
		out = append(out, tl.Texts[i])
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTimeline(t *testing.T) {
	tl := pairTimeline(t, pageLimits)
	if tl.Length != 80*us || tl.InitEnd != 10*us || tl.FinalizeStart != 91*us || tl.Overview != nil || tl.EventsTotal != 7 {
		t.Errorf("length %d, Init to %d, Finalize from %d, overview %v, %d events", tl.Length, tl.InitEnd, tl.FinalizeStart, tl.Overview, tl.EventsTotal)
	}
	equal(t, "ranks", tl.Lines.Rank, []int{0, 1, 1})
	equal(t, "threads", tl.Lines.Thread, []int{-1, 0, 2})
	// The barrier began before the test, which it made in a callback.
	equal(t, "starts", tl.Events[1].Start, []int64{0, 70 * us, 2 * us})
	equal(t, "durations", tl.Events[1].Duration, []int64{10 * us, 10 * us, us})
	equal(t, "bytes", tl.Events[2].Bytes, []uint64{4096}) // the message of the Irecv is no call
	kinds := tl.Kinds
	recv := tl.Events[2].Kind[0]
	equal(t, "receive", tl.names(kinds.Call[recv], kinds.Comm[recv], kinds.Site[recv]), []string{"Recv", "MPI_COMM_WORLD", "worker a.c:9"})
	if kinds.Direction[recv] != "recv" || kinds.Peer[recv] != 0 || timeline.Activities()[kinds.Activity[recv]].Name != "send, receive" {
		t.Errorf("receive: %s, peer %d, activity %d", kinds.Direction[recv], kinds.Peer[recv], kinds.Activity[recv])
	}
	m := tl.Messages
	equal(t, "messages", []any{m.From, m.To, m.Start, m.End, m.Bytes, m.Tag, tl.names(m.Comm...)},
		[]any{[]int{0}, []int{2}, []int64{50 * us}, []int64{8 * us}, []uint64{4096}, []int32{3}, []string{"MPI_COMM_WORLD"}})
	w := tl.Waits
	equal(t, "waits", []any{w.Line, w.Start, w.Duration, w.Peer, tl.names(w.Pattern...), tl.names(w.PeerSite...)},
		[]any{[]int{2, 1}, []int64{20 * us, 70 * us}, []int64{30 * us, 2 * us}, []int{0, 0}, []string{"late-sender", "wait-at-barrier"}, []string{"main a.c:7", ""}})
	equal(t, "path", tl.Path, pathColumns{Line: []int{0, 2}, From: []int64{0, 50 * us}, To: []int64{50 * us, 80 * us}})
}

// TestTimelineOfManyEvents requires that a run above the budget of events has an overview,
// the longest waits, and the threads that waited.
func TestTimelineOfManyEvents(t *testing.T) {
	tl := pairTimeline(t, timelineLimits{events: 6, columns: 8, lanes: 256, messages: 10, waits: 1})
	if tl.Events != nil || tl.WaitsTotal != 2 || tl.MessagesTotal != 1 || len(tl.Messages.From) != 1 {
		t.Errorf("events %v, %d waits, %d messages", tl.Events, tl.WaitsTotal, tl.MessagesTotal)
	}
	equal(t, "waits", tl.Waits.Line, []int{2})
	// Columns of 10 µs: the thread is in Recv from 20 to 58.
	messaging := slices.IndexFunc(timeline.Activities(), func(c plot.LegendEntry) bool { return c.Name == "send, receive" }) - 1
	equal(t, "shares", tl.Overview.Shares[2][messaging], []byte{0, 0, 255, 255, 255, 204, 0, 0})
	for activity, shares := range tl.Overview.Shares[2] {
		if activity != messaging && shares != nil {
			t.Errorf("shares of activity %d: %v", activity, shares)
		}
	}
	tl = pairTimeline(t, timelineLimits{events: 6, columns: 8, lanes: 1, messages: 10, waits: 10})
	equal(t, "ranks in one lane", []any{tl.Overview.PerLane, len(tl.Overview.Shares), tl.Lines.Rank, tl.Lines.Thread, tl.Waits.Line},
		[]any{2, 1, []int{0, 1}, []int{-1, -1}, []int{1, 1}})
}

func TestTimelineErrors(t *testing.T) {
	a, b := pair()
	b.err = errors.New("damaged")
	if _, err := timelineOf([]profile.EventSource{a, b}, nil, nil, pageLimits); err == nil || !strings.Contains(err.Error(), "rank 1: damaged") {
		t.Errorf("got %v, want the rank whose trace is damaged", err)
	}
	b.err, b.trace.FinalizeStart = nil, 0
	tl, err := timelineOf([]profile.EventSource{a, b}, nil, nil, pageLimits)
	if err != nil || tl.FinalizeStart != 0 || tl.Path.Line != nil {
		t.Errorf("error %v, MPI_Finalize at %d, path %v", err, tl.FinalizeStart, tl.Path)
	}
}
