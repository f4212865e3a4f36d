package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// toSelf returns one message of each size from each of n ranks to itself.
func toSelf(n int, bytes ...int) volumes {
	v := volumes{}
	for r := range n {
		v = v.plus(messages(r, r, bytes...))
	}
	return v
}

// sendrecvs returns a want in which only Sendrecv moves data.
func sendrecvs(v volumes) want {
	moved := map[string]volumes{"Sendrecv": v}
	return want{sent: moved, received: moved}
}

func TestInitInLibrary(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		dir := t.TempDir()
		source := filepath.Join(root, "tests", "programs", "init_library.c")
		library, program := filepath.Join(dir, "libinit.so"), filepath.Join(dir, "program")
		succeed(t, nil, m.cc, "-Wall", "-DLIBRARY", "-shared", "-fPIC", source, "-o", library)
		succeed(t, nil, m.cc, "-Wall", source, "-o", program, library)
		w := sendrecvs(toSelf(2, 5))
		w.calls = map[string][]uint64{"Init": {1, 1}, "Barrier": {1, 1}, "Finalize": {1, 1}}
		w.sent["Barrier"] = toOthers(2, func(int, int) int { return 0 })
		w.received = map[string]volumes{"Sendrecv": toSelf(2, 5)}
		w.check(t, m.run(t, 2, program).ranks)
	})
}

// TestEnds ends a program in each way other than MPI_Finalize. Calls of exit
// handlers must be recorded, too.
func TestEnds(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		for _, way := range []string{"return", "exit", "_exit", "signal"} {
			t.Run(way, func(t *testing.T) {
				j := record(t, nil, m.launch(2, m.compile(t, "ends"), way)...)
				if len(j.ranks) != 2 {
					t.Fatalf("%d recordings, exit status %d\n%s", len(j.ranks), j.code, j.stderr)
				}
				want := messages(0, 0, 7).times(100).plus(messages(1, 1, 7).times(100))
				if way == "return" || way == "exit" {
					want = want.plus(toSelf(2, 9))
				}
				diff(t, "sent", want, pointToPoint(j.ranks))
				for _, p := range j.ranks {
					if p.State != profile.Running || p.Losses.Any() || len(p.Problems) > 0 {
						t.Errorf("rank %d: %v, lost %+v, %q", p.Rank, p.State, p.Losses, p.Problems)
					}
				}
				if !strings.Contains(j.stderr, "partial") {
					t.Errorf("the report does not say that it is partial:\n%s", j.stderr)
				}
			})
		}
	})
}

func TestChildren(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "children"))
		w := sendrecvs(toSelf(2, 1, 2, 4, 8))
		w.calls = map[string][]uint64{"Sendrecv": {4, 4}, "Info_create": nil, "Finalize": {1, 1}}
		w.check(t, j.ranks)
		for _, p := range j.ranks {
			if len(p.Slices) != 1 {
				t.Errorf("rank %d has slices %+v", p.Rank, p.Slices)
			}
		}
	})
}

// TestCallbacks checks that calls inside a call are counted, and that their
// time is not part of the outer call's. A call that never returns is not
// counted.
func TestCallbacks(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "callbacks"))
		calls := callsBy(j.ranks)
		for call, want := range map[string][]uint64{
			"Comm_free": {1, 1}, "Finalize": {1, 1}, "Barrier": {2, 2}, "Sendrecv": {3, 3}, "Allreduce": {1, 1}, "Send": nil,
		} {
			diff(t, "calls of "+call, want, calls[call])
		}
		diff(t, "sent", toSelf(2, 3, 5, 16), sentBy(j.ranks)["Sendrecv"])
		diff(t, "left", map[string]uint64{"Send": 10}, leftBy(j.ranks[0]))
		// The MPI decides which rank adds which elements, and how often.
		if n := calls["Info_create"]; n[0]+n[1] != elements(t, j.stderr) {
			t.Errorf("Info_create: %v calls, while elements were added\n%s", n, j.stderr)
		}
		rows := map[string]profile.Row{}
		for _, row := range j.ranks[0].Rows {
			rows[row.Call] = row
		}
		if barriers := rows["Barrier"].TimeNs; barriers < 2*150e6 {
			t.Errorf("rank 0 waited %d ns in two Barriers for rank 1, want 400 ms", barriers)
		}
		// One of the Barriers is in Comm_free, which takes inFree ns by the program's clock.
		var inFree uint64
		if _, after, _ := strings.Cut("\n"+j.stderr, "\nfree 0 "); true {
			fmt.Sscan(after, &inFree)
		}
		if free, barrier := rows["Comm_free"].TimeNs, rows["Barrier"].MinNs; free+barrier > inFree {
			t.Errorf("Comm_free took %d ns without its Barrier, which took at least %d ns; the program measured %d ns for both", free, barrier, inFree)
		}
	})
}

// elements returns the sum of what the ranks print: how often a callback was
// called.
func elements(t *testing.T, text string) uint64 {
	t.Helper()
	total, seen := uint64(0), 0
	for line := range strings.Lines(text) {
		var n uint64
		if _, err := fmt.Sscanf(line, "elements %d", &n); err == nil {
			total += n
			seen++
		}
	}
	if seen != 2 || total == 0 {
		t.Errorf("%d ranks reported, of %d elements", seen, total)
	}
	return total
}

func TestInitInThread(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		w := sendrecvs(toSelf(2, 1, 2, 4))
		w.calls = map[string][]uint64{"Init_thread": {1, 1}, "Finalize": {1, 1}}
		ranks := m.run(t, 2, m.compile(t, "init_thread")).ranks
		w.check(t, ranks)
		diff(t, "tables, which go from a thread that ends to the next", 1, ranks[0].Threads)
	})
}

// TestInitUnseen checks that the first call that the library sees starts the
// recording, if it has not seen MPI_Init.
func TestInitUnseen(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		w := sendrecvs(toSelf(2, 1).plus(toOthers(2, func(int, int) int { return 2 })))
		w.calls = map[string][]uint64{"Sendrecv": {2, 2}, "Init": nil, "Finalize": {1, 1}}
		w.check(t, m.run(t, 2, m.compile(t, "pmpi_init")).ranks)
	})
}

func TestSingleton(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j := record(t, nil, m.compile(t, "many_phases"), "4")
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		checkWhole(t, 1, j)
		sendrecvs(messages(0, 0, 0, 1, 2, 3).times(2)).check(t, j.ranks)
	})
}

// TestNotPositionIndependent runs a program that is not position-independent.
// It has its own copies of Open MPI's predefined handles.
func TestNotPositionIndependent(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "sendrecv", "-fno-pie", "-no-pie")
		if out, err := exec.Command("readelf", "-h", program).Output(); err != nil || !strings.Contains(string(out), "EXEC") {
			t.Fatalf("%v\n%s", err, out)
		}
		ring := volumes{}
		for from := range 3 {
			ring.add(from, (from+1)%3, uint64(10*(from+1)), 1)
			ring.add(from, (from+2)%3, 3*4, 1)
		}
		ranks := m.run(t, 3, program).ranks
		diff(t, "sent", ring.plus(message(0, 1, 7)).plus(message(1, 2, 7)), pointToPoint(ranks))
		checkReceived(t, ranks)
	})
}
