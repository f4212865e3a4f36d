package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// As in late.h: each wait occurs twice and takes 200 ms, or longer on a busy
// machine.
const (
	lateTimes   = 2
	lateSeconds = lateTimes * 0.2
)

// analyze returns the result of `mpitrace analyze` for a run directory.
func analyze(t *testing.T, dir string) *trace.Result {
	t.Helper()
	out := succeed(t, nil, mpitrace, "analyze", "--json", dir)
	var found trace.Result
	if err := json.Unmarshal([]byte(out.stdout), &found); err != nil {
		t.Fatalf("%v\n%s", err, out.stdout)
	}
	return &found
}

// checkMatched requires that all messages and collectives were matched.
func checkMatched(t *testing.T, m *trace.Matching) {
	t.Helper()
	if m.Sent != m.Matched || m.Received != m.Matched || m.SizesDiffer > 0 || m.Collectives.Complete != m.Collectives.Instances {
		t.Errorf("not all matched: %+v", *m)
	}
}

// A knownWait is a wait state that a program contains by design.
type knownWait struct {
	pattern    trace.Pattern
	rank, peer int
	function   string
	share      float64 // expected time, as a fraction of lateSeconds
}

var lateWaits = map[string][]knownWait{
	"late": {
		{trace.LateSender, 1, 0, "receive", 1},
		{trace.LateSender, 0, 1, "receive_any", 1},
		{trace.LateSender, 1, 0, "exchange", 1},
		{trace.LateSender, 1, 0, "probe", 1},
		{trace.LateReceiver, 0, 1, "send_synchronously", 1},
		{trace.LateReceiver, 1, 0, "send_in_background", 1},
		{trace.WaitAtBarrier, 0, 1, "barrier", 1},
		{trace.WaitAtBarrier, 1, 0, "barrier_in_background", 1},
		{trace.WaitAtNxN, 1, 0, "sum_for_all", 1},
		{trace.LateBroadcast, 1, 0, "broadcast", 1},
		{trace.EarlyReduce, 0, 1, "sum_for_root", 1},
	},
	"latest": {
		{trace.LateSender, 0, 2, "receive_both", 1},
		{trace.WaitAtBarrier, 0, 2, "barrier", 1},
		{trace.WaitAtBarrier, 1, 2, "barrier", 0.5},
		{trace.WaitAtNxN, 0, 2, "sum_for_all", 1},
		{trace.WaitAtNxN, 1, 2, "sum_for_all", 0.5},
		{trace.EarlyReduce, 0, 2, "gather", 1},
	},
	"late_onesided": {
		{trace.WaitAtWinCreate, 0, 1, "create_window", 1},
		{trace.WaitAtWinCreate, 2, 1, "create_window", 1},
		{trace.WaitAtWinCreate, 0, 2, "allocate_window", 1},
		{trace.WaitAtWinCreate, 1, 2, "allocate_window", 1},
		{trace.WaitAtWinFree, 1, 0, "free_window", 1},
		{trace.WaitAtWinFree, 2, 0, "free_window", 1},
		{trace.WaitAtFence, 0, 1, "fence", 1},
		{trace.WaitAtFence, 2, 1, "fence", 1},
		{trace.WaitAtCommCreate, 1, 0, "duplicate", 1},
		{trace.WaitAtCommCreate, 2, 0, "duplicate", 1},
		{trace.WaitAtCommCreate, 0, 1, "duplicate_in_background", 1},
		{trace.WaitAtCommCreate, 2, 1, "duplicate_in_background", 1},
		{trace.WaitAtCommCreate, 0, 2, "split", 1},
		{trace.WaitAtCommCreate, 1, 2, "split", 1},
		{trace.WaitAtCommCreate, 0, 2, "create_of_two", 1},
		{trace.WaitAtCommCreate, 0, 1, "make_grid", 1},
		{trace.WaitAtCommCreate, 2, 1, "make_grid", 1},
		{trace.LateNeighbor, 1, 0, "neighbors", 1},
		{trace.LatePost, 0, 1, "post", 1},
		{trace.LateComplete, 1, 2, "complete", 1},
		{trace.LockContention, 2, 0, "lock", 0.75},
		{trace.WaitForProgress, 0, 1, "flush", 0.75},
	},
}

// key returns the program's name for a wait.
func (k *knownWait) key() string { return fmt.Sprint(k.function, " ", k.rank, " ", k.peer) }

// is reports whether a wait state is the known one. On a busy machine a target
// may return into MPI long before it gets a processor to answer; the pattern is
// then Undecided.
func (k *knownWait) is(w *trace.WaitState) bool {
	return w.Rank == k.rank && w.Peer == k.peer &&
		(w.Pattern == k.pattern || k.pattern == trace.WaitForProgress && w.Pattern == trace.Undecided)
}

// asPlanned runs a program of lateWaits, and repeats it up to five times if its
// ranks were not as late as intended: on a busy machine another rank may be
// delayed instead.
func asPlanned(t *testing.T, program string, run func() (dir, stdout string)) (dir, stdout string) {
	t.Helper()
	for range 6 {
		dir, stdout = run()
		measured := lateAsMeasured(t, stdout)
		if !slices.ContainsFunc(lateWaits[program], func(k knownWait) bool { return measured[k.key()] < 0.8*k.share*lateSeconds }) {
			break
		}
	}
	return dir, stdout
}

// lateAsMeasured returns the waiting times by the program's own clock, in
// seconds.
func lateAsMeasured(t *testing.T, stdout string) map[string]float64 {
	t.Helper()
	measured := map[string]float64{}
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n")[1:] {
		var function string
		var rank, peer int
		var seconds float64
		if _, err := fmt.Sscan(line, &function, &rank, &peer, &seconds); err != nil {
			t.Fatalf("the program printed %q: %v", line, err)
		}
		measured[fmt.Sprint(function, " ", rank, " ", peer)] = seconds
	}
	return measured
}

// markedSite returns the call site in a function that is marked as waiting.
func markedSite(t *testing.T, program, function string) string {
	t.Helper()
	return markedLine(t, program, function, "waits")
}

// markedLine returns the line in a function of a program that ends in /* mark
// */.
func markedLine(t *testing.T, program, function, mark string) string {
	t.Helper()
	inside := false
	for i, line := range strings.Split(string(readAll(t, filepath.Join(root, "tests", "programs", program+".c"))), "\n") {
		inside = inside && line != "}" || strings.HasPrefix(line, "static void "+function+"(")
		if inside && strings.HasSuffix(line, "/* "+mark+" */") {
			return fmt.Sprintf("%s %s.c:%d", function, program, i+1)
		}
	}
	t.Fatalf("%s.c marks no line of %s", program, function)
	return ""
}

// checkLate requires that the program's intended waits were found, as long as
// the program measured them itself, and no others in those calls.
func checkLate(t *testing.T, program, stdout string, found *trace.Result) {
	t.Helper()
	const tolerance = 0.05
	measured := lateAsMeasured(t, stdout)
	rest := found.WaitStates
	marked := map[string]bool{}
	for _, k := range lateWaits[program] {
		want := measured[k.key()]
		if want < k.share*lateSeconds/2 { // on a busy machine the waiting rank may be late itself
			t.Errorf("%s: the program measured %.3f s, want a wait of %.3f s", k.key(), want, k.share*lateSeconds)
		}
		site := markedSite(t, program, k.function)
		marked[site] = true
		late := k.function
		if k.pattern == trace.WaitForProgress {
			late = "synchronize" // the target's next MPI call
		}
		var sum trace.WaitState
		rest = slices.DeleteFunc(slices.Clone(rest), func(w trace.WaitState) bool {
			if !k.is(&w) || w.Callsite != site {
				return false
			}
			if !strings.HasPrefix(w.PeerCallsite, late+" ") {
				t.Errorf("%s: waited for a call in %s, want one in %s", k.key(), w.PeerCallsite, late)
			}
			sum.Count, sum.Time = sum.Count+w.Count, sum.Time+w.Time
			return true
		})
		if sum.Count != lateTimes || sum.Time < (1-tolerance)*want || sum.Time > (1+tolerance)*want {
			t.Errorf("%s: %v at %s %d times, %.4f s, want %d and %.4f s", k.key(), k.pattern, site, sum.Count, sum.Time, lateTimes, want)
		}
	}
	for _, w := range rest {
		// Calls that synchronize ranks between phases wait for any delay of the
		// machine.
		meets := strings.Contains(w.Callsite, " late.h:") || program == "late_onesided" && !marked[w.Callsite]
		if !meets && w.Time > tolerance*lateSeconds {
			t.Errorf("another wait: %+v", w)
		}
	}
}

// TestKnownWaits runs programs in which each rank is late in turn.
func TestKnownWaits(t *testing.T) {
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		for program, ranks := range map[string]int{"late": 2, "latest": 3, "late_onesided": 3} {
			t.Run(program, func(t *testing.T) {
				dir, stdout := asPlanned(t, program, func() (dir, stdout string) {
					j, _ := m.trace(t, ranks, nil, m.compile(t, program))
					if j.code != 0 || !strings.HasPrefix(j.stdout, "ok\n") {
						t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
					}
					return j.dir, j.stdout
				})
				found := analyze(t, dir)
				checkMatched(t, &found.Matching)
				checkLate(t, program, stdout, found)
			})
		}
	})
}

// TestWildcards sends 10^5 messages (10^6 above level quick) from seven ranks
// to one that receives them from any source with all calls. Each must be
// matched with its send, which the sizes prove.
func TestWildcards(t *testing.T) {
	each := 14_300
	if testenv.Highest() != testenv.Quick {
		each = 143_000
	}
	withEachAt(t, testenv.Highest(), debian, func(t *testing.T, m implementation) {
		j, _ := m.trace(t, 8, nil, m.compile(t, "wildcards"), strconv.Itoa(each))
		if j.code != 0 || !strings.HasPrefix(j.stdout, "ok\n") {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		found := analyze(t, j.dir)
		checkMatched(t, &found.Matching)
		diff(t, "messages", uint64(7*each), found.Matching.Matched)
	})
}

// received returns the number of messages received according to the profiles.
func received(ranks []*profile.Profile) uint64 {
	n := uint64(0)
	for _, p := range ranks {
		for i := range p.Rows {
			if r := &p.Rows[i]; r.Class == profile.P2P && r.Direction == profile.Recv && r.Peer != profile.PeerProcNull {
				n += r.Messages
			}
		}
	}
	return n
}

// TestMatched runs programs that receive in unusual ways. Each received message
// of the profile must be matched, and the others counted with the reason.
func TestMatched(t *testing.T) {
	programs := []struct {
		name     string
		matched  uint64
		abnormal uint64 // sends without a known receive
	}{
		{name: "cancelled", matched: 1},
		{name: "isendrecv", abnormal: 6},   // MPICH does not set the status
		{name: "threads", matched: 80_000}, // 10,000 on each of four threads, on two ranks
		{name: "one_sided_reads", matched: 1},
		{name: "freed", matched: 1, abnormal: 3},
		{name: "shifted", matched: 12 + 9, abnormal: 3}, // of the second four and so on one each
	}
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, n := range togetherRanks {
			all := uint64(0) // the tests of the parts know these messages, all of which are received
			for _, v := range pointToPoint(m.together(t, n).ranks) {
				all += v.Count
			}
			t.Run(fmt.Sprint(n, " ranks"), func(t *testing.T) { checkMatching(t, m.togetherTraced(t, n), all, 0) })
		}
		for _, program := range programs {
			if m.lacks(program.name) == "" {
				t.Run(program.name, func(t *testing.T) {
					checkMatching(t, m.recordedTraced(t, program.name), program.matched, program.abnormal)
				})
			}
		}
	})
}

// checkMatching requires that a number of messages were received and matched, and that
// no others were sent but the abnormal ones.
func checkMatching(t *testing.T, j job, matched, abnormal uint64) {
	t.Helper()
	got := analyze(t, j.dir).Matching
	diff(t, "received, by the profile", matched, received(j.ranks))
	want := trace.Matching{Sent: matched + abnormal, Received: matched, Matched: matched,
		UnmatchedSends: map[trace.Reason]uint64{}, UnmatchedReceives: map[trace.Reason]uint64{}, Collectives: got.Collectives}
	if abnormal > 0 {
		want.UnmatchedSends[trace.Abnormal] = abnormal
	}
	diff(t, "matching", want, got)
	diff(t, "complete collectives", got.Collectives.Instances, got.Collectives.Complete)
}

// elsewhere returns a command line that runs a command on a host named
// "elsewhere".
func elsewhere(t *testing.T, command ...string) []string {
	t.Helper()
	testenv.Need(t, "unshare", "hostname")
	if os.Geteuid() != 0 {
		testenv.Skip(t, "another host name needs root")
	}
	return append([]string{"unshare", "--uts", "sh", "-c", `hostname elsewhere && exec "$@"`, "sh"}, command...)
}

// onTwoHosts runs a traced program on two ranks and converts the events. The
// second rank has another library and another host name.
func (m implementation) onTwoHosts(t *testing.T, lib, other, program string) (dir, stdout string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_TRACE=on"}
	line := append(m.launch(1, preload(lib, env, program)...), ":", "-n", "1")
	out := succeed(t, nil, append(line, elsewhere(t, preload(other, env, program)...)...)...)
	succeed(t, nil, mpitrace, "report", "--full", dir)
	return dir, out.stdout
}

// flight identifies a message.
type flight struct {
	comm     string
	from, to int32
	tag      int32
	seq      uint32
}

// checkForwards requires that each message was received, and not before it was
// sent.
func checkForwards(t *testing.T, traces []profile.EventSource) {
	t.Helper()
	sent, got := map[flight]int64{}, map[flight]int64{}
	for _, src := range traces {
		own := src.Trace()
		err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			for i, seq := range e.Seq {
				k := &kinds[e.Kind[i]]
				switch {
				case seq == 0 || k.Class != profile.P2P:
				case k.Direction == profile.Send:
					sent[flight{own.Comms[k.Comm].Label, int32(own.Rank), k.Peer, e.Tag[i], seq}] = e.Start[i]
				case k.Direction == profile.Recv:
					got[flight{own.Comms[k.Comm].Label, k.Peer, int32(own.Rank), e.Tag[i], seq}] = e.Start[i] + e.Duration[i]
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(sent) == 0 || len(sent) != len(got) {
		t.Errorf("%d messages sent, %d received", len(sent), len(got))
	}
	for f, at := range got {
		if since, ok := sent[f]; !ok || at < since {
			t.Errorf("%+v: received %d ns after it was sent (%t)", f, at-since, ok)
		}
	}
}

// TestClocksOfHosts runs one of two ranks on a host whose clock is the same as
// the other's, or 5 ms ahead and 20 ppm too fast. After conversion no message
// may be received before it was sent, and waits must agree with the program's
// own clock.
func TestClocksOfHosts(t *testing.T) {
	skews := []struct {
		level         testenv.Level
		name, clock   string
		offset, drift float64 // ns; ns per ns
	}{
		{testenv.All, "the same", "", 0, 0},
		{testenv.Quick, "skewed", "CLOCK_OF_ANOTHER_HOST", 5e6, 20e-6},
	}
	atOnce(t, 2, debian, func(t *testing.T, m implementation) {
		for _, skew := range skews {
			t.Run(skew.name, func(t *testing.T) {
				testenv.At(t, skew.level)
				lib, flags := m.library(t), []string{"-O0", "-DBOOT_OF_ANOTHER_HOST"}
				if skew.clock != "" {
					flags = append(flags, "-D"+skew.clock)
				}
				other := m.libraryWith(t, "clocks.h", flags...)
				dir, stdout := asPlanned(t, "late", func() (dir, stdout string) {
					return m.onTwoHosts(t, lib, other, m.compile(t, "late"))
				})
				var traces []profile.EventSource
				for rank := range 2 {
					src, err := tracefile.Open(filepath.Join(dir, fmt.Sprintf("trace.%d.arrow", rank)))
					if err != nil {
						t.Fatal(err)
					}
					traces = append(traces, src)
				}
				checkForwards(t, traces)
				found := analyze(t, dir)
				checkMatched(t, &found.Matching)
				checkLate(t, "late", stdout, found)
				checkCorrection(t, traces, skew.offset, skew.drift, 1e9*lateAsMeasured(t, stdout)["ping 0 0"])
			})
		}
	})
}

// checkCorrection requires that the correction of the second host's clock makes
// it equal to the first's, both at the start and at the end of its trace. The fastest
// round trip, in ns, bounds how well messages can tell the clocks' difference.
func checkCorrection(t *testing.T, traces []profile.EventSource, offset, drift, roundTrip float64) {
	t.Helper()
	own := traces[1].Trace()
	if own.Host != "elsewhere" || traces[0].Trace().Host == own.Host || traces[0].Trace().Clock != nil || traces[0].Trace().Clocks == nil {
		t.Fatalf("hosts %q and %q, correction %v", traces[0].Trace().Host, own.Host, traces[0].Trace().Clock)
	}
	var by profile.ClockCorrection
	if own.Clock != nil {
		by = *own.Clock
	}
	tolerance := max(100_000, 3*roundTrip) // ns
	for _, at := range []int64{own.Start, own.End} {
		want := -offset - drift*float64(at-own.Start)
		added := by.Offset + by.Drift*float64(at-by.At)
		if math.Abs(added-want) > tolerance {
			t.Errorf("%.1f s after the start: %.0f ns added to the clock, want %.0f", float64(at-own.Start)/1e9, added, want)
		}
	}
}
