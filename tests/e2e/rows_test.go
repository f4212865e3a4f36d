package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// sentBetween returns what inter_collectives.c sends between world rank 0 and
// the other group, whose j-th member is world rank 3 - j.
func sentBetween(form) map[string]volumes {
	across := func(there, back func(j int) int) volumes {
		v := volumes{}
		for j := range 3 {
			v = v.plus(message(0, 3-j, there(j))).plus(message(3-j, 0, back(j)))
		}
		return v
	}
	back := func(bytes int) volumes {
		return message(3, 0, bytes).plus(message(2, 0, bytes)).plus(message(1, 0, bytes))
	}
	there := func(bytes int) volumes {
		return message(0, 3, bytes).plus(message(0, 2, bytes)).plus(message(0, 1, bytes))
	}
	wide := func(j int) int { return 4 - 2*(j%2) } // sizeof(int) or sizeof(short)
	return map[string]volumes{
		"Bcast": message(2, 0, 10), "Scatterv": message(2, 0, 14), "Gatherv": message(0, 3, 12),
		"Gather": back(11), "Scatter": there(13), "Reduce": message(0, 1, 5*4),
		"Allgather": across(each(6), each(9)), "Alltoall": across(each(4), each(7)),
		"Allgatherv":           across(each(15), func(j int) int { return 16 + j }),
		"Alltoallv":            across(func(j int) int { return 20 + j }, func(j int) int { return 30 + j }),
		"Alltoallw":            across(wide, func(j int) int { return 2 * wide(j) }),
		"Allreduce":            across(each(2*4), each(2*4)),
		"Reduce_scatter_block": across(each(1*4), each(3*4)), // bytes that each receiver gets
		"Barrier":              across(each(0), each(0)),
	}
}

func TestCollectivesBetween(t *testing.T) { eachForm(t, "inter_collectives", sentBetween) }

// TestBlocksBetween checks the operations and bytes per class of the
// intercommunicator. Those of a root are its own calls with MPI_ROOT.
func TestBlocksBetween(t *testing.T) {
	type classes struct{ O2A, A2O, A2A profile.FlowVolume }
	var want [4]classes
	want[2].O2A = profile.FlowVolume{Bytes: 10 + 14, Count: 2} // Bcast, Scatterv
	want[0].O2A = profile.FlowVolume{Bytes: 3 * 13, Count: 1}  // Scatter
	want[0].A2O = profile.FlowVolume{Bytes: 3 * 11, Count: 1}  // Gather
	want[1].A2O = profile.FlowVolume{Bytes: 5 * 4, Count: 1}   // Reduce
	want[3].A2O = profile.FlowVolume{Bytes: 12, Count: 1}      // Gatherv
	rooted := []string{"Bcast", "Scatterv", "Scatter", "Gather", "Gatherv", "Reduce"}
	for call, v := range sentBetween(form{}) {
		if slices.Contains(rooted, call) {
			continue
		}
		for r := range want {
			want[r].A2A.Count++
		}
		for p, vol := range v {
			want[p.From].A2A.Bytes += vol.Bytes
		}
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		var got [4]classes
		for r, p := range m.part(t, "inter_collectives") {
			for _, block := range p.Traffic().Comms {
				// Other forms also have a communicator of this name. No data move on it.
				if c := (classes{block.O2A, block.A2O, block.A2A}); block.Name == "between" && c != (classes{}) {
					got[r] = c
				}
			}
		}
		diff(t, "blocks", want, got)
	})
}

// TestCollectivesOfNothing checks that a count of 0 is a message of 0 bytes.
func TestCollectivesOfNothing(t *testing.T) {
	odd := func(rank int) int { return 3 * (rank % 2) }
	up := func(wide int) volumes {
		return eachPair(4, func(from, to int) int {
			switch to - from {
			case 1:
				return 5 * wide
			case -1:
				return 0
			}
			return -1
		})
	}
	eachForm(t, "zeros", func(form) map[string]volumes {
		return map[string]volumes{
			"Bcast": fromRoot(4, 2, each(0)), "Gather": toRoot(4, 2, each(0)),
			"Alltoall": toOthers(4, size(0)), "Allreduce": toOthers(4, size(0)),
			"Gatherv": toRoot(4, 1, odd), "Scatterv": fromRoot(4, 0, odd),
			"Allgatherv":         toOthers(4, func(from, to int) int { return odd(from) }),
			"Alltoallv":          toOthers(4, func(from, to int) int { return odd(to) }),
			"Alltoallw":          toOthers(4, func(from, to int) int { return 4 * odd(to) }),
			"Reduce_scatter":     toOthers(4, func(from, to int) int { return 4 * odd(to) }),
			"Neighbor_alltoallv": up(1), "Neighbor_alltoallw": up(2),
		}
	})
}

// TestLargeSends checks that large-count calls are recorded under the names of
// the calls with int counts, and persistent ones under the call that made or
// started them.
func TestLargeSends(t *testing.T) {
	withEach(t, large, func(t *testing.T, m implementation) {
		both := func(bytes int) volumes { return message(0, 1, bytes).plus(message(1, 0, bytes)) }
		j := record(t, nil, m.launch(2, m.compile(t, "large_sends"))...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s", j.code, j.stderr)
		}
		checkWhole(t, 2, j)
		sent := sentBy(j.ranks)
		for call, v := range map[string]volumes{
			"Bsend": message(0, 1, 1), "Rsend": message(0, 1, 2), "Ibsend": message(0, 1, 4), "Issend": message(0, 1, 8),
			"Irsend": message(0, 1, 16), "Send": message(0, 1, 256), "Sendrecv_replace": both(512), "Isendrecv": both(1024),
			"Isendrecv_replace": both(2048),
		} {
			diff(t, call, v, sent[call])
		}
		diff(t, "point-to-point", messages(0, 1, 1, 2, 4, 8, 16, 32, 64, 128, 256).plus(both(512)).plus(both(1024)).plus(both(2048)),
			pointToPoint(j.ranks))
		received := receivedBy(j.ranks)
		diff(t, "Irecv", messages(0, 1, 1, 2, 4, 8, 16, 32, 64, 128), received["Irecv"])
		diff(t, "Imrecv", message(0, 1, 256), received["Imrecv"])
		diff(t, "Sendrecv_replace", both(512), received["Sendrecv_replace"])
		calls := callsBy(j.ranks)
		for call, n := range map[string][]uint64{"Isendrecv": {1, 1}, "Startall": {1, 0}, "Bsend_init": {1, 0},
			"Ssend_init": {1, 0}, "Rsend_init": {1, 0}, "Buffer_attach": {1, 1}, "Buffer_detach": {1, 1}} {
			diff(t, "calls of "+call, n, calls[call])
		}
	})
}

// TestMoments checks that a call belongs to the slice in which it began, that
// its time is that from entering to leaving, and that a row has the shortest
// and the longest time.
func TestMoments(t *testing.T) {
	withEachAlone(t, anyMPI, func(t *testing.T, m implementation) {
		j := m.run(t, 2, m.compile(t, "moments"))
		sent := sentIn(j.ranks)
		for _, v := range sent {
			for p := range v {
				if p.From != p.To {
					delete(v, p)
				}
			}
		}
		diff(t, "sent to itself, by slice", map[string]volumes{"run": toSelf(2, 1), "2": toSelf(2, 4, 16)}, sent)
		for _, p := range j.ranks {
			for _, r := range p.Rows {
				if r.Call == "Comm_free" && (r.Slice != 0 || r.TimeNs < 100e6) {
					t.Errorf("rank %d: Comm_free in slice %d took %d ns, want slice 0 and 100 ms", p.Rank, r.Slice, r.TimeNs)
				}
				if p.Rank == 0 && r.Call == "Allreduce" && (r.Calls != 2 || r.TimeNs < 380e6 || r.MinNs < 80e6 || r.MinNs > r.TimeNs/2 ||
					r.MaxNs < 280e6 || r.MinNs+r.MaxNs+2 < r.TimeNs || r.MinNs+r.MaxNs > r.TimeNs+2) {
					t.Errorf("rank 0 waited %d ns, the least %d, the most %d, in %d Allreduces, want 100 ms and 300 ms",
						r.TimeNs, r.MinNs, r.MaxNs, r.Calls)
				}
			}
		}
		for rank, own := range momentsOf(t, j.stderr) {
			if app := uint64(j.ranks[rank].FinalizeStart - j.ranks[rank].InitEnd); app < own.all || app > own.all+500e6 {
				t.Errorf("rank %d: application time %d ns, want slightly more than %d", rank, app, own.all)
			}
		}
	})
}

// moments are times of a rank in ns, by the clock of moments.c.
type moments struct{ all, inAllreduce uint64 }

// momentsOf returns what the two ranks of moments.c print.
func momentsOf(t *testing.T, printed string) (of [2]moments) {
	t.Helper()
	seen := 0
	for line := range strings.Lines(printed) {
		var rank int
		var m moments
		if _, err := fmt.Sscanf(line, "moments %d %d %d", &rank, &m.all, &m.inAllreduce); err == nil {
			of[rank] = m
			seen++
		}
	}
	if seen != len(of) {
		t.Fatalf("%d ranks printed their times:\n%s", seen, printed)
	}
	return of
}

// TestProfFiles checks lines of .prof files whose numbers are known by
// arithmetic.
func TestProfFiles(t *testing.T) {
	lines := func(t *testing.T, m implementation, n int, program string, rank int) []string {
		j := record(t, []string{"--format", "prof"}, m.launch(n, m.compile(t, program))...)
		text, err := os.ReadFile(filepath.Join(j.dir, "prof", fmt.Sprintf("%s.%d.prof", program, rank)))
		if err != nil {
			t.Fatal(err, j.stderr)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	histogram := func(columns ...int) string {
		h := make([]string, 66)
		for i := range h {
			h[i] = "0"
		}
		for _, c := range columns {
			h[c] = "1"
		}
		return strings.Join(h, ",")
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		// One message of each power of two to 128 bytes, and one of no bytes.
		// The barrier in Finalize is the MPI's own and is not recorded.
		diff(t, "sends", []string{"# POINT TO POINT",
			"E\t0\t1\t255 bytes\t9 msgs sent\t" + histogram(0, 1, 2, 3, 4, 5, 6, 7, 8), "# OSC", "# COLLECTIVES"},
			withoutBlocks(lines(t, m, 2, "sends", 0)))
		diff(t, "onesided", []string{"# POINT TO POINT", "# OSC",
			"S\t0\t2\t88 bytes\t6 msgs sent", "R\t0\t2\t76 bytes\t6 msgs sent",
			"# COLLECTIVES", "C\t0\t1\t0 bytes\t1 msgs sent", "C\t0\t2\t0 bytes\t1 msgs sent"},
			withoutBlocks(lines(t, m, 3, "onesided", 0)))
		// Rank 2 is the root of a Bcast of 40 bytes on the reversed
		// communicator.
		got := strings.Join(lines(t, m, 4, "subcomm", 2), "\n")
		if want := "procs: 3,2,1,0\nO2A\t2\t120 bytes\t1 msgs sent\nA2O\t2\t0 bytes\t0 msgs sent\nA2A\t2\t0 bytes\t0 msgs sent"; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	})
}

// withoutBlocks returns the lines without the blocks of communicators.
func withoutBlocks(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if kind, _, _ := strings.Cut(line, "\t"); kind != "D" && kind != "O2A" && kind != "A2O" && kind != "A2A" {
			kept = append(kept, line)
		}
	}
	return kept
}

// TestSizeClassesOfCollectives checks that the size class is that of one
// message, not of all messages of a call together.
func TestSizeClassesOfCollectives(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		want := map[string]uint8{"Barrier": 0, "Bcast": 4, "Gather": 4, "Scatter": 4, "Reduce": 5, "Allgather": 4,
			"Alltoall": 5, "Allreduce": 5, "Reduce_scatter_block": 4, "Scan": 4, "Exscan": 5}
		seen := map[string]bool{}
		for _, p := range m.part(t, "collectives") {
			for _, r := range p.Rows {
				class, ok := want[r.Call]
				if seen[r.Call] = true; ok && r.Direction == profile.Send && r.Messages > 0 && r.SizeClass != class {
					t.Errorf("rank %d: %s in size class %d, want %d", p.Rank, r.Call, r.SizeClass, class)
				}
			}
		}
		for call := range want {
			if !seen[call] {
				t.Errorf("missing: %s", call)
			}
		}
	})
}
