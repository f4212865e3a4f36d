package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/profile"
)

// eventKey holds the fields by which events are compared with rows.
type eventKey struct {
	call      string
	direction profile.Direction
	comm      string
	peer      int
	thread    int32
	slice     string
}

// eventSum holds the sums that are compared.
type eventSum struct{ calls, messages, bytes, time uint64 }

// eventsOf returns the sums of a source's events. It multiplies the bytes of
// collectives and file calls by the number of receivers, as in rows.
func eventsOf(t *testing.T, src profile.EventSource) (sums map[eventKey]*eventSum, abnormal map[profile.AbnormalKind]uint64) {
	t.Helper()
	sums, abnormal = map[eventKey]*eventSum{}, map[profile.AbnormalKind]uint64{}
	comms := src.Trace().Comms
	n := uint64(0)
	err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		n += uint64(e.Len())
		for i := range e.Start {
			k := &kinds[e.Kind[i]]
			if k.Action == profile.Abnormal {
				abnormal[k.AbnormalKind]++
			}
			if k.Action != profile.Called && k.Action != profile.Moved {
				continue
			}
			key := eventKey{call: k.Call, direction: k.Direction, peer: int(k.Peer), thread: k.Thread, slice: k.Slice}
			if k.Comm >= 0 {
				key.comm = comms[k.Comm].Label
			}
			s := sums[key]
			if s == nil {
				s = new(eventSum)
				sums[key] = s
			}
			if k.Action == profile.Called {
				s.calls++
				s.time += uint64(e.Duration[i])
			}
			if k.Direction != profile.None {
				s.messages++
				s.bytes += e.Bytes[i]
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != src.Trace().Events {
		t.Errorf("%d events, of %d that it has", n, src.Trace().Events)
	}
	return sums, abnormal
}

// rowsOf returns the same sums of a profile's rows.
func rowsOf(p *profile.Profile) map[eventKey]*eventSum {
	slices := map[uint32]string{}
	for _, s := range p.Slices {
		slices[s.Index] = s.Name
	}
	sums := map[eventKey]*eventSum{}
	for i := range p.Rows {
		r := &p.Rows[i]
		key := eventKey{call: r.Call, direction: r.Direction, peer: int(r.Peer), thread: r.Thread, slice: slices[r.Slice]}
		if r.Comm >= 0 {
			key.comm = p.Comms[r.Comm].Label()
			key.peer = p.Comms[r.Comm].WorldRank(r.Peer)
		}
		s := sums[key]
		if s == nil {
			s = new(eventSum)
			sums[key] = s
		}
		s.calls += r.Calls
		s.time += r.TimeNs
		s.messages += r.Messages
		s.bytes += r.Bytes
	}
	return sums
}

// checkAddsUp requires that a process has as many events as its rows count,
// with the same total messages, bytes and time.
func checkAddsUp(t *testing.T, p *profile.Profile, src profile.EventSource) {
	t.Helper()
	events, abnormal := eventsOf(t, src)
	rows := rowsOf(p)
	for key, row := range rows {
		got := events[key]
		if got == nil {
			t.Errorf("rank %d: %+v: no events of %d calls and %d messages", p.Rank, key, row.calls, row.messages)
			continue
		}
		delete(events, key)
		fan := uint64(1)
		if got.messages != 0 {
			fan = row.messages / got.messages
		}
		// The time of each event is rounded to 1 ns, and is by the clock of the
		// node. The clock that the process calibrated itself differs by about
		// 10 in 10^9.
		rounded := row.calls + 1 + row.time/1e6
		if got.calls != row.calls || got.time+rounded < row.time || row.time+rounded < got.time {
			t.Errorf("rank %d: %+v: events of %d calls and %d ns, rows %d and %d", p.Rank, key, got.calls, got.time, row.calls, row.time)
		}
		class := classOf(p, key.call)
		if class == profile.P2P && (got.messages != row.messages || got.bytes != row.bytes) || class == profile.OneSided && got.bytes != row.bytes ||
			class.Collective() && row.messages > 0 && fan*got.messages != row.messages {
			t.Errorf("rank %d: %+v: events of %d messages and %d bytes, rows %d and %d", p.Rank, key, got.messages, got.bytes, row.messages, row.bytes)
		}
	}
	for key, got := range events {
		t.Errorf("rank %d: %+v: events %+v, and no row", p.Rank, key, *got)
	}
	want := map[profile.AbnormalKind]uint64{}
	for _, a := range p.Abnormal {
		// Without a call, it is what the reader has found missing. A call that never returned has no event.
		if a.Call != "" && a.Kind != profile.LeftCall {
			want[a.Kind] += a.Count
		}
	}
	diff(t, fmt.Sprintf("rank %d: abnormal", p.Rank), want, abnormal)
}

func classOf(p *profile.Profile, call string) profile.Class {
	for i := range p.Rows {
		if p.Rows[i].Call == call {
			return p.Rows[i].Class
		}
	}
	return profile.Other
}

// trace records a test program with its events, and opens the traces.
func (m implementation) trace(t *testing.T, n int, flags []string, program ...string) (job, []profile.EventSource) {
	t.Helper()
	j := m.traceInto(t, filepath.Join(t.TempDir(), "run"), n, flags, program...)
	return j, j.traces
}

func (m implementation) traceInto(t *testing.T, dir string, n int, flags []string, program ...string) job {
	t.Helper()
	j := recordInto(t, dir, append([]string{"--trace"}, flags...), m.launch(n, program...)...)
	for rank := range n {
		src, err := tracefile.Open(filepath.Join(j.dir, fmt.Sprintf("trace.%d.arrow", rank)))
		if err != nil {
			t.Fatalf("%v\n%s", err, j.stderr)
		}
		j.traces = append(j.traces, src)
	}
	left, _ := filepath.Glob(filepath.Join(j.dir, "recordings", "*"))
	if len(left) != 1 || len(j.ranks) != n {
		t.Errorf("files %q, want the recordings of %d ranks alone, in a container", left, n)
	}
	return j
}

// TestEventsAddUp requires that the events of a run agree with its profile.
// TestSanitized does the same for each program, without `mpitrace run`.
func TestEventsAddUp(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		jobs := map[string]job{
			"cancelled": m.recordedTraced(t, "cancelled"), "callbacks": m.recordedTraced(t, "callbacks"),
			"thread_sends": m.traceInto(t, filepath.Join(t.TempDir(), "run"), 2, nil, m.compile(t, "thread_sends"), "1000"),
		}
		for _, n := range togetherRanks {
			jobs[fmt.Sprint(n, " ranks")] = m.togetherTraced(t, n)
		}
		for name, j := range jobs {
			t.Run(name, func(t *testing.T) {
				if j.code != 0 {
					t.Fatalf("exit status %d\n%s", j.code, j.stderr)
				}
				for r, p := range j.ranks {
					checkAddsUp(t, p, j.traces[r])
				}
			})
		}
	})
}

// checkEventsBeside does the same for the event files beside recordings.
func checkEventsBeside(t *testing.T, ranks []*profile.Profile) {
	t.Helper()
	for _, p := range ranks {
		_, clock, err := recording.ReadClock(p.Source)
		if err != nil {
			t.Fatal(err)
		}
		events, err := recording.OpenEvents(p, clock)
		if err != nil {
			t.Fatal(err)
		}
		checkAddsUp(t, p, events)
		if len(events.Problems) > 0 {
			t.Errorf("rank %d: %s", p.Rank, strings.Join(events.Problems, "; "))
		}
	}
}
