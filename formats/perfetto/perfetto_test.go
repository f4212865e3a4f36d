package perfetto

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// file is a written file, read back.
type file struct {
	TraceEvents []event
	OtherData   TraceTotals
}

type event struct {
	Ph       string
	Pid, Tid int
	Ts, Dur  json.Number
	Name     string
	Cat      string
	ID       int
	Bp       string
	Args     map[string]any
}

// export writes processes that start at 1000 s, and reads the file.
func export(t *testing.T, o Options, ps ...*jobs.Process) file {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, Write(&out, jobs.Sources(ps...), o))
	zip, err := gzip.NewReader(&out)
	testenv.NoError(t, err)
	var f file
	text, err := io.ReadAll(zip)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// of returns the events of a phase.
func (f file) of(phase string) (out []event) {
	for _, e := range f.TraceEvents {
		if e.Ph == phase {
			out = append(out, e)
		}
	}
	return out
}

// lines returns the events of a phase as "pid/tid ts dur name".
func (f file) lines(phase string) (out []string) {
	for _, e := range f.of(phase) {
		line := []string{string(rune('0'+e.Pid)) + "/" + string(rune('0'+e.Tid)), e.Ts.String()}
		switch phase {
		case "X":
			line = append(line, e.Dur.String(), e.Name)
		case "C":
			line = append(line, e.Name, e.Args["bytes"].(json.Number).String())
		default:
			line = append(line, e.Name+string(rune('0'+e.ID)))
		}
		out = append(out, strings.Join(line, " "))
	}
	return out
}

// UnmarshalJSON keeps the text of numbers.
func (e *event) UnmarshalJSON(text []byte) error {
	type plain event
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode((*plain)(e))
}

const second = int64(1e9)

// TestBlocking has a late sender: the receive starts before the send, and ends
// after the send's start.
func TestBlocking(t *testing.T) {
	const t0 = 1000 * second
	a, b := jobs.NewProcess("run", 0, 2), jobs.NewProcess("run", 1, 2)
	a.Add(jobs.Call("Init", t0, t0+500), jobs.Send("Send", t0+3000, t0+4500, 1, 100, 1))
	b.Add(jobs.Recv("Recv", t0+1000, t0+5001, 0, 100, 1))
	f := export(t, Options{}, a, b)
	want := []string{"1/1 0 0.500 Init", "2/2 1 4.001 Recv", "1/1 3 1.500 Send"}
	if diff := cmp.Diff(want, f.lines("X")); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1/1 3 message1"}, f.lines("s")); diff != "" {
		t.Errorf("starts:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2/2 5 message1"}, f.lines("f")); diff != "" {
		t.Errorf("ends:\n%s", diff)
	}
	// Rank 1 is process 2. Process 3 has the counters of the job.
	if diff := cmp.Diff([]string{"3/3 3 in flight 100", "2/2 3 unreceived 100", "3/3 5.001 in flight 0", "2/2 5.001 unreceived 0"}, f.inOrder(t).lines("C")); diff != "" {
		t.Errorf("counters:\n%s", diff)
	}
	o := f.OtherData
	if o.Slices != 3 || o.Calls != 3 || o.Messages != 1 || o.Arrows != 1 || o.Unreceived+o.Unsent+o.Backward != 0 || o.StartNs != t0 || o.Start != "1970-01-01T00:16:40Z" {
		t.Errorf("totals %+v", o)
	}
}

func TestArguments(t *testing.T) {
	a := jobs.NewProcess("run", 0, 1)
	send := jobs.Send("Send", 10, 20, profile.PeerProcNull, 5, 0)
	send.Callsite, send.Slice = "f<int> a\x1b.cc:1", "two\nlines"
	recv := jobs.Recv("Irecv", 20, 30, profile.PeerAnySource, 0, 0)
	recv.Direction, recv.Tag = profile.None, profile.AnyTag
	bcast := jobs.Send("Bcast", 30, 40, 0, 8, 0)
	bcast.Class, bcast.Tag = profile.OneToAll, profile.NoTag
	a.Add(send, recv, bcast)
	var got []map[string]any
	for _, e := range export(t, Options{}, a).of("X") {
		got = append(got, e.Args)
	}
	world := "MPI_COMM_WORLD"
	want := []map[string]any{
		{"callsite": "f<int> a\x1b.cc:1", "slice": "two\nlines", "comm": world, "peer": "MPI_PROC_NULL", "bytes": json.Number("5"), "tag": json.Number("7")},
		{"callsite": "main app.c:1", "slice": "run", "comm": world, "peer": "MPI_ANY_SOURCE", "tag": "MPI_ANY_TAG"},
		{"callsite": "main app.c:1", "slice": "run", "comm": world, "root": json.Number("0"), "bytes": json.Number("8")},
	}
	testenv.Equal(t, want, got)
}

// A receive that was posted earlier arrives in the Waitall that completed it,
// and that of a Sendrecv in the Sendrecv, whichever comes first. The sends of a
// Startall begin in it.
func TestMessagesOfOtherCalls(t *testing.T) {
	a, b := jobs.NewProcess("run", 0, 2), jobs.NewProcess("run", 1, 2)
	wait := jobs.Call("Waitall", 300, 400)
	first, second := jobs.Recv("Irecv", 300, 400, 1, 10, 1).Moved(), jobs.Recv("Irecv", 300, 400, 1, 20, 2).Moved()
	a.Add(jobs.Call("Irecv", 100, 150), jobs.Call("Irecv", 150, 200), wait, first, second)
	got := jobs.Recv("Sendrecv", 500, 600, 1, 30, 3).Moved()
	got.Link = 1
	a.Add(got, jobs.Send("Sendrecv", 500, 600, 1, 40, 1))
	start := jobs.Call("Startall", 200, 250)
	b.Add(start, jobs.Send("Startall", 200, 250, 0, 10, 1).Moved(), jobs.Send("Startall", 200, 250, 0, 20, 2).Moved())
	b.Add(jobs.Send("Sendrecv", 450, 590, 0, 30, 3))
	end := jobs.Recv("Sendrecv", 450, 590, 0, 40, 1).Moved()
	end.Link = -1
	b.Add(end)
	f := export(t, Options{}, a, b)
	if n := len(f.of("X")); n != 6 || f.OtherData.Messages != 4 {
		t.Errorf("%d slices, want 6; %+v", n, f.OtherData)
	}
	checkArrows(t, f, map[string]int{"Startall > Waitall": 2, "Sendrecv > Sendrecv": 2})
	checkFile(t, f)
}

// checkArrows compares the calls in which arrows begin and end.
func checkArrows(t *testing.T, f file, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, a := range arrows(t, f) {
		got[a[0].Name+" > "+a[1].Name]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrows (-want +got):\n%s", diff)
	}
}

func TestThreadsAndJobs(t *testing.T) {
	a, b := jobs.NewProcess("one", 0, 2), jobs.NewProcess("two", 0, 1)
	late := jobs.Send("Ssend", 10, 90, 1, 5, 1)
	quick := jobs.Recv("Recv", 50, 60, 0, 5, 1)
	quick.Thread = 1
	late.Peer = 0
	a.Add(quick, late) // messages to itself, in the order of ending
	b.Add(jobs.Recv("Recv", 0, 100, 0, 5, 1))
	a.Trace().Threads = 2
	f := export(t, Options{}, a, b)
	// Job one has processes 1, 2, and 3 for its counters; job two has 4 and 5.
	if diff := cmp.Diff([]string{"4/4 0 0.100 Recv", "1/6 0.050 0.010 Recv", "1/1 0.010 0.080 Ssend"}, f.lines("X")); diff != "" {
		t.Errorf("slices:\n%s", diff)
	}
	if o := f.OtherData; o.Messages != 1 || o.Unsent != 1 {
		t.Errorf("%+v", o)
	}
	names := map[string]bool{}
	for _, e := range f.of("M") {
		if e.Name == "process_name" || e.Name == "thread_name" && e.Pid != e.Tid {
			names[e.Args["name"].(string)] = true
		}
	}
	want := map[string]bool{"rank 0 (node) of job one": true, "rank 0 (node) of job two": true, "all ranks of job one": true,
		"all ranks of job two": true, "thread 1": true}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names:\n%s", diff)
	}
	checkFile(t, f)
}

// A thread's long call comes in the file after short calls of another thread.
// Its sends must be counted before what other ranks do meanwhile.
func TestCountersOfThreads(t *testing.T) {
	a, b := jobs.NewProcess("run", 0, 2), jobs.NewProcess("run", 1, 2)
	a.Trace().Threads = 2
	long := jobs.Send("Ssend", 10, 90, 1, 5, 1)
	long.Thread = 1
	begun := jobs.Call("Init_thread", 0, 5)
	other := jobs.Call("Comm_rank", 5, 6)
	other.Thread = 1
	a.Add(begun, other, jobs.Call("Test", 50, 60), long)
	b.Add(jobs.Send("Send", 20, 25, 1, 100, 1), jobs.Recv("Recv", 30, 35, 1, 100, 1), jobs.Recv("Recv", 40, 80, 0, 5, 1))
	f := export(t, Options{}, a, b)
	want := []string{"3/3 0.010 in flight 5", "3/3 0.020 in flight 105", "3/3 0.035 in flight 5", "3/3 0.080 in flight 0"}
	var got []string
	for _, line := range f.inOrder(t).lines("C") {
		if strings.HasPrefix(line, "3/3") {
			got = append(got, line)
		}
	}
	testenv.Equal(t, want, got)
	checkFile(t, f)
}

// Times from a rounded clock, and a call inside another call.
func TestSlicesNest(t *testing.T) {
	a := jobs.NewProcess("run", 0, 1)
	a.Add(jobs.Call("A", 0, 100), jobs.Call("B", 99, 150), // 1 ns too early
		jobs.Call("C", 160, 190), jobs.Call("D", 155, 170), // contains C, whose time is not included
		jobs.Call("E", 170, 180), // within D in real time, but out of order
		jobs.Call("F", 200, 200), jobs.Call("G", 200, 210))
	f := export(t, Options{}, a)
	checkFile(t, f)
	want := []string{"1/1 0 0.100 A", "1/1 0.100 0.050 B", "1/1 0.160 0.030 C", "1/1 0.155 0.035 D"}
	if diff := cmp.Diff(want, f.lines("X")[:4]); diff != "" {
		t.Errorf("slices:\n%s", diff)
	}
	if n := len(f.of("X")); n != 7 {
		t.Errorf("%d slices, want 7", n)
	}
}

// A message that arrives before it was sent has no arrow, but the counters
// still end at 0.
func TestClocksDisagree(t *testing.T) {
	a, b := jobs.NewProcess("run", 0, 2), jobs.NewProcess("run", 1, 2)
	a.Add(jobs.Send("Send", 1000, 1100, 1, 8, 1))
	b.Add(jobs.Recv("Recv", 100, 200, 0, 8, 1))
	f := export(t, Options{}, a, b)
	if o := f.OtherData; o.Messages != 1 || o.Backward != 1 || o.Arrows != 0 || len(f.of("s"))+len(f.of("f")) != 0 {
		t.Errorf("%+v", o)
	}
	checkFile(t, f)
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	a, b := ring(4, 10)[0], jobs.NewProcess("run", 1, 4)
	b.Err = broken
	if err := Write(io.Discard, jobs.Sources(a, b), Options{}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if err := Write(io.Discard, jobs.Sources(jobs.NewProcess("run", 0, 1)), Options{}); !errors.Is(err, errNoEvents) {
		t.Errorf("no events: error %v", err)
	}
	for _, o := range []Options{{From: time.Hour}, {From: 20 * time.Microsecond, To: 10 * time.Microsecond}} {
		if err := Write(io.Discard, jobs.Sources(a), o); err == nil || !strings.Contains(err.Error(), "no events between") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	if err := Write(new(testenv.FullWriter), jobs.Sources(a), Options{}); !errors.Is(err, testenv.ErrFull) {
		t.Errorf("error %v", err)
	}
}

// ring returns a job in which each rank, in each step of 1 µs, posts a receive,
// sends 100 bytes to the next rank, and waits: 100 ns, in every tenth step 300
// ns.
func ring(ranks, steps int) []*jobs.Process {
	ps := make([]*jobs.Process, ranks)
	for r := range ps {
		p := jobs.NewProcess("run", r, ranks)
		p.Batch = 17
		before, next := int32((r+ranks-1)%ranks), int32((r+1)%ranks)
		for s := range steps {
			at, wait := int64(s)*1000+int64(r), int64(100)
			if s%10 == 9 {
				wait = 300
			}
			posted := jobs.Recv("Irecv", at, at+20, before, 0, 0)
			posted.Direction, posted.Link = profile.None, 3
			sent := jobs.Send("Isend", at+20, at+60, next, 100, uint32(s+1))
			sent.Link = 3
			moved := jobs.Recv("Irecv", at+500, at+500+wait, before, 100, uint32(s+1)).Moved()
			moved.Link = -3
			done := jobs.Call("Isend", at+500+wait, at+500+wait)
			done.Action, done.Link = profile.Completed, -3
			p.Add(posted, sent, jobs.Call("Waitall", at+500, at+500+wait), moved, done)
		}
		ps[r] = p
	}
	return ps
}

func TestRing(t *testing.T) {
	const ranks, steps = 5, 100
	f := export(t, Options{}, ring(ranks, steps)...)
	o := f.OtherData
	if len(f.of("X")) != 3*ranks*steps || o.Calls != 3*ranks*steps || len(f.of("s")) != ranks*steps || len(f.of("f")) != ranks*steps {
		t.Errorf("%+v", o)
	}
	checkArrows(t, f, map[string]int{"Isend > Waitall": ranks * steps})
	checkFile(t, f)
	// At most one message of each rank is in flight at a time.
	for _, e := range f.of("C") {
		if v, _ := e.Args["bytes"].(json.Number).Int64(); v < 0 || v > 100*ranks || e.Name == "unreceived" && v > 100 {
			t.Fatalf("%+v", e)
		}
	}
}

func TestRange(t *testing.T) {
	const ranks, steps = 2, 100
	// From the middle of step 9's Waitall on rank 0 to step 20's. Rank 1 is 1
	// ns later.
	f := export(t, Options{From: 9600 * time.Nanosecond, To: 20500 * time.Nanosecond}, ring(ranks, steps)...)
	// Rank 0: Waitall 9, all calls of 10 to 19, and Irecv, Isend and the
	// beginning of Waitall of 20. Rank 1: the same without the last one.
	if n := len(f.of("X")); n != 1+3*10+3+1+3*10+2 {
		t.Errorf("%d slices, want 67", n)
	}
	// Of step 20, only the message that rank 0 receives is seen to arrive.
	checkArrows(t, f, map[string]int{"Isend > Waitall": 2*10 + 1})
	for _, e := range f.TraceEvents {
		if ts, _ := e.Ts.Float64(); e.Ph == "C" && (ts < 9.6 || ts > 20.5) {
			t.Errorf("%+v", e)
		}
	}
}

func TestMaxEvents(t *testing.T) {
	const ranks, steps = 4, 1000
	ps := ring(ranks, steps)
	for _, most := range []int{100, 1000, 10000} {
		f := export(t, Options{MaxEvents: most}, ps...)
		n := len(f.TraceEvents) - len(f.of("M"))
		if n > most+ranks || n < most/20 {
			t.Errorf("got %d events, want at most %d", n, most)
		}
		var calls int64
		for _, e := range f.of("X") {
			if count, ok := e.Args["count"].(json.Number); ok {
				v, _ := count.Int64()
				calls += v
				continue
			}
			calls++
		}
		if calls != 3*ranks*steps || f.OtherData.Calls != 3*ranks*steps || f.OtherData.Messages != ranks*steps {
			t.Errorf("at most %d: %d calls in slices, want %d; %+v", most, calls, 3*ranks*steps, f.OtherData)
		}
		if checkFile(t, f); t.Failed() {
			return
		}
	}
	// A tenth of the Waitalls is long. Each of those has its own slice and an
	// arrow.
	f := export(t, Options{MaxEvents: 8 * ranks * steps / 10}, ps...)
	long := 0
	for _, e := range f.of("X") {
		if e.Name == "Waitall" && e.Dur == "0.300" {
			long++
		}
	}
	if long != ranks*steps/10 || len(f.of("f")) != ranks*steps/10 {
		t.Errorf("%d long calls, %d arrows, want %d; %+v", long, len(f.of("f")), ranks*steps/10, f.OtherData)
	}
	if f := export(t, Options{MaxEvents: 9 * ranks * steps}, ps...); len(f.of("X")) != 3*ranks*steps || len(f.of("s")) != ranks*steps {
		t.Errorf("all slices fit, but some were left out: %+v", f.OtherData)
	}
}

func TestRunsOfOneCall(t *testing.T) {
	a := jobs.NewProcess("run", 0, 1)
	for i := range int64(100) {
		a.Add(jobs.Call("Test", 100*i, 100*i+7))
	}
	a.Add(jobs.Call("Wait", 10000, 20000))
	f := export(t, Options{MaxEvents: 8}, a)
	var got []event
	for _, e := range f.of("X") {
		got = append(got, e)
	}
	// The length is 20001 ns: two intervals, the second of which begins at
	// 10001.
	if len(got) != 2 || got[0].Name != "Test" || got[0].Args["count"] != json.Number("100") || got[0].Args["time_us"] != json.Number("0.700") ||
		got[0].Dur != "9.907" || got[1].Name != "Wait" {
		t.Errorf("%+v", got)
	}
}

// The limits of the buckets, and what each must hold.
func TestDurations(t *testing.T) {
	for range 10000 {
		ns := rand.Uint64() >> (1 + rand.IntN(63))
		b := bucket(ns)
		if low, next := shortestOf(b), shortestOf(b+1); int64(ns) < low || int64(ns) >= next {
			t.Fatalf("%d ns is in bucket %d, which is from %d to %d", ns, b, low, next)
		}
	}
	var d durations
	for ns := range int64(1000) {
		d.count(ns)
	}
	for _, n := range []uint64{0, 1, 10, 100, 1000} {
		from := d.threshold(n)
		if longer := uint64(1000 - min(from, 1000)); longer > n || longer < n-n/4-1 && n > 100 {
			t.Errorf("got %d durations of %d ns or longer, want %d or slightly fewer", longer, from, n)
		}
	}
}
