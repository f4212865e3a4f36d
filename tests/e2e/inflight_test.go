package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mpitrace/mpitrace/aggregate"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/profile"
)

// inflight is the call that rank 0 of inflight.c is in, and its communicator:
// world, dup, or half, in which the ranks are in reverse order.
type inflight struct {
	how, comm string
	call      profile.OpenCall
}

// inflights lists the calls in which rank 0 hangs. A double has 8 bytes, a pair
// is 2 ints.
var inflights = []inflight{
	{"recv", "Comm_dup", profile.OpenCall{Call: "Recv", Direction: profile.Recv, Peer: 1, Bytes: 7 * 8, Sized: true}},
	{"recv-any", "Comm_split", profile.OpenCall{Call: "Recv", Direction: profile.Recv, Peer: profile.PeerAnySource, Bytes: 7 * 2 * 4, Sized: true}},
	{"ssend", "Comm_dup", profile.OpenCall{Call: "Ssend", Direction: profile.Send, Peer: 1, Bytes: 7 * 2 * 4, Sized: true}},
	{"sendrecv", "Comm_dup", profile.OpenCall{Call: "Sendrecv", Direction: profile.Send, Peer: 0, Source: 1, Bytes: 4, Sized: true}},
	{"probe", "Comm_dup", profile.OpenCall{Call: "Probe", Peer: 1}},
	{"barrier", "Comm_split", profile.OpenCall{Call: "Barrier", Direction: profile.Send, Peer: profile.PeerNone, Sized: true}},
	{"bcast", "Comm_dup", profile.OpenCall{Call: "Bcast", Peer: 1}},
	{"reduce", "Comm_dup", profile.OpenCall{Call: "Reduce", Peer: 0}},
	{"waitall", "", profile.OpenCall{Call: "Waitall", Peer: profile.PeerNone, Requests: 3}},
	{"fence", "Comm_dup", profile.OpenCall{Call: "Win_fence", Peer: profile.PeerNone}},
	{"dup", "Comm_split", profile.OpenCall{Call: "Comm_dup", Peer: profile.PeerNone}},
	{"handler", "world", profile.OpenCall{Call: "Recv", Direction: profile.Recv, Peer: 1, Bytes: 7 * 8, Sized: true}},
	{"longjmp-recv", "Comm_dup", profile.OpenCall{Call: "Recv", Direction: profile.Recv, Peer: 1, Bytes: 7 * 8, Sized: true}},
	{how: "between"},
	{how: "longjmp"},
	{how: "longjmp-sendrecv"},
}

// TestInFlight reads the recordings of jobs that hang, and reads them again
// after their ranks have been killed. Both must show the call that each rank is
// in.
func TestInFlight(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "inflight")
		var launchers sync.WaitGroup // Open MPI's launcher takes 2 s to notice that its ranks are gone
		defer launchers.Wait()
		for _, w := range inflights {
			t.Run(w.how, func(t *testing.T) { checkInFlight(t, m, w, &launchers, program) })
		}
		t.Run("not timed", func(t *testing.T) { checkInFlight(t, m, inflights[0], &launchers, program, "MPITRACE_TIMING=off") })
		t.Run("timed by samples", func(t *testing.T) { checkInFlight(t, m, inflights[0], &launchers, program, "MPITRACE_TIMING=sampled") })
	})
}

func checkInFlight(t *testing.T, m implementation, want inflight, launchers *sync.WaitGroup, program string, settings ...string) {
	dir, begun := t.TempDir(), time.Now().UnixNano()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	command := m.launch(2, preload(m.library(t), append([]string{"MPITRACE_DIR=" + dir}, settings...), program, want.how)...)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) // no output, as it only reports that ranks were killed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	launchers.Go(func() {
		cmd.Wait()
		cancel()
	})
	p := awaitInFlight(ctx, t, dir, want)
	alive := p.Open
	ranks := readRecordings(t, dir)
	for _, p := range ranks {
		// Once one rank is gone, the launcher may be faster to kill the others.
		if err := syscall.Kill(p.Pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Error(err)
		}
	}
	for _, p := range ranks {
		awaitEnd(ctx, t, p.Pid)
	}
	if p = rankZero(t, dir); p == nil {
		t.Fatal("the recording of rank 0 is gone")
	}
	// Times differ slightly: each reading converts them by new readings of the
	// clocks.
	near := cmp.FilterPath(func(path cmp.Path) bool { return path.Last().String() == ".Start" },
		cmp.Comparer(func(a, b int64) bool { return max(a, b)-min(a, b) < int64(time.Second) }))
	if diff := cmp.Diff(alive, p.Open, near); diff != "" {
		t.Errorf("running (-) and killed (+):\n%s", diff)
	}
	if want.call.Call == "" {
		if len(p.Open) != 0 {
			t.Errorf("got call in flight %+v, want none", p.Open)
		}
		return
	}
	checkOpen(t, p, want, begun, len(settings) > 0 && settings[0] == "MPITRACE_TIMING=off")
}

func checkOpen(t *testing.T, p *profile.Profile, want inflight, begun int64, untimed bool) {
	t.Helper()
	if len(p.Open) != 1 {
		t.Fatalf("got %d calls in flight, want 1", len(p.Open))
	}
	got := p.Open[0]
	if got.Callsite == 0 {
		t.Error("no call site")
	}
	if timed := got.Start >= begun && got.Start <= time.Now().UnixNano(); timed == untimed {
		t.Errorf("it began at %d, and the test at %d", got.Start, begun)
	}
	if comm := nameOf(p, got.Comm); comm != want.comm {
		t.Errorf("on communicator %q, want %q", comm, want.comm)
	}
	if want.call.Source == 0 {
		want.call.Source = profile.PeerNone
	}
	got.Comm, got.Callsite, got.Start, got.Class = 0, 0, 0, 0
	if diff := cmp.Diff(want.call, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// nameOf returns the constructor of a communicator, or "world".
func nameOf(p *profile.Profile, index int32) string {
	switch {
	case index < 0:
		return ""
	case p.Comms[index].Constructor == "":
		return "world"
	}
	return p.Comms[index].Constructor
}

// awaitInFlight waits until rank 0 is in the call. If no call is wanted, it
// waits until rank 0 has returned from the last one before.
func awaitInFlight(ctx context.Context, t *testing.T, dir string, want inflight) *profile.Profile {
	t.Helper()
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		p := rankZero(t, dir)
		if p == nil {
			continue
		}
		if want.call.Call == "" && len(p.Open) == 0 && callsOf(p, "Type_commit") == 1 && (want.how != "longjmp" || callsOf(p, "Send") == 1) {
			return p
		}
		if len(p.Open) == 1 && p.Open[0].Call == want.call.Call && callsOf(p, "Type_commit") == 1 {
			time.Sleep(50 * time.Millisecond)
			return rankZero(t, dir)
		}
	}
	t.Fatal("rank 0 never came to its call")
	return nil
}

// awaitEnd waits until a process has ended or is a zombie.
func awaitEnd(ctx context.Context, t *testing.T, pid int) {
	t.Helper()
	for running(pid) {
		if ctx.Err() != nil {
			t.Fatalf("process %d never ended", pid)
		}
		time.Sleep(time.Millisecond)
	}
}

// rankZero reads rank 0's recording. It returns nil if there is none yet.
func rankZero(t *testing.T, dir string) *profile.Profile {
	t.Helper()
	for _, path := range recordingFiles(t, dir) {
		if p, err := recording.ReadFile(path); err == nil && p.Rank == 0 {
			return p
		}
	}
	return nil
}

func callsOf(p *profile.Profile, name string) uint64 {
	var n uint64
	for i := range p.Rows {
		if p.Rows[i].Call == name {
			n += p.Rows[i].Calls
		}
	}
	return n
}

// TestJumped checks that calls left by a longjmp do not disturb the recording
// of later ones.
func TestJumped(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		for _, p := range m.run(t, 2, m.compile(t, "jumped")).ranks {
			calls, bytes := map[string]uint64{}, map[string]uint64{}
			for _, r := range p.Rows {
				calls[r.Call] += r.Calls
				bytes[r.Call] += r.Bytes
			}
			if calls["Send"] != 0 || calls["Barrier"] != 10 || calls["Allreduce"] != 10 || bytes["Allreduce"] != 40 {
				t.Errorf("rank %d: calls %v, bytes %v", p.Rank, calls, bytes)
			}
			diff(t, "left", map[string]uint64{"Send": 10}, leftBy(p))
		}
	})
}

// leftBy returns the number of calls that a process left, by call.
func leftBy(p *profile.Profile) map[string]uint64 {
	left := map[string]uint64{}
	for _, a := range p.Abnormal {
		if a.Kind == profile.LeftCall {
			left[a.Call] += a.Count
		}
	}
	return left
}

// TestExceptions checks that calls which C++ exceptions leave are counted apart and
// named, and that what they may have received explains what was sent.
func TestExceptions(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compileFile(t, filepath.Join(root, "tests", "programs", "exceptions.cc"),
			"-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-Wl,--no-as-needed", "-lstdc++")
		for _, flags := range [][]string{nil, {"--trace"}} {
			j := m.runAs(t, flags, 2, program)
			diff(t, "left", map[string]uint64{"Send": 100, "Reduce_local": 3, "Recv": 5}, leftBy(j.ranks[0]))
			diff(t, "left", map[string]uint64{"Send": 100, "Reduce_local": 3}, leftBy(j.ranks[1]))
			diff(t, "calls of Sendrecv", []uint64{10, 10}, callsBy(j.ranks)["Sendrecv"])
			diff(t, "calls of Barrier", []uint64{11, 11}, callsBy(j.ranks)["Barrier"])
			checkConserved(t, j, 2, 1)
			diff(t, "problems", []string{
				"5 calls of Recv left by an exception or longjmp, and not counted (rank 0)",
				"6 calls of Reduce_local left by an exception or longjmp, and not counted (ranks 0-1)",
				"200 calls of Send left by an exception or longjmp, and not counted (ranks 0-1)",
			}, aggregate.New(j.ranks).Problems())
		}
		strict := []string{mpitrace, "run", "--strict", "-o", filepath.Join(t.TempDir(), "run"), "--"}
		if out := execute(t, nil, append(strict, m.launch(2, program)...)...); out.code != 3 {
			t.Errorf("exit status %d with --strict, want 3\n%s", out.code, out.stderr)
		}
	})
}

// TestPaths checks that calls of the general path record neither the bytes of
// the calls before them nor less when they are nested deeper than the thread
// keeps calls: paths.c.
func TestPaths(t *testing.T) {
	const rounds, depth = 10, 14
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		p := m.run(t, 1, m.compile(t, "paths")).ranks[0]
		diff(t, "left", map[string]uint64{}, leftBy(p)) // although more calls are nested than lines are kept
		for _, call := range []string{"Comm_group", "Group_free", "Request_free", "Info_create", "Info_free"} {
			rows := slices.DeleteFunc(slices.Clone(p.Rows), func(r profile.Row) bool { return r.Call != call || r.Direction != profile.None })
			if len(rows) != 1 || rows[0].Calls != rounds || rows[0].SizeClass != 0 || rows[0].Bytes != 0 {
				t.Errorf("%s: got rows %+v, want one of %d calls without bytes", call, rows, rounds)
			}
		}
		var dups uint64
		for _, r := range p.Rows {
			if r.Call == "Comm_dup" && r.Comm >= 0 {
				dups += r.Calls
			}
		}
		if dups != 2+depth {
			t.Errorf("%d calls of Comm_dup on a known communicator, want %d", dups, 2+depth)
		}
	})
}
