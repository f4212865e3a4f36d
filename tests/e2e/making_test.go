package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// TestIntercommunicatorReduceScatter has counts in each group that say what its
// own members receive: 1, 2 and 3 ints from each rank of the left group, 3 and
// 3 from each of the right, twice.
func TestIntercommunicatorReduceScatter(t *testing.T) {
	want := volumes{}
	for _, left := range []int{0, 1} {
		for i, right := range []int{2, 3, 4} {
			want = want.plus(messages(left, right, 4*(i+1), 4*(i+1)))
			want = want.plus(messages(right, left, 12, 12))
		}
	}
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			withEach(t, f.has, func(t *testing.T, m implementation) {
				job := aggregate.New(m.part(t, "inter_reduce_scatter", f.flags...))
				got := volumes{}
				for pair, v := range job.Matrices()[matrix.Collective].All() {
					got.add(pair.From, pair.To, v.Bytes, v.Messages)
				}
				diff(t, "matrix", want.times(f.started), got)
				if problems := job.Summary().Problems; len(problems) != 0 {
					t.Error(problems)
				}
			})
		})
	}
}

// TestFoldedCommunicators makes and frees communicators repeatedly. The number
// of records must not grow, and all ranks must agree on the communicators
// although they made them at different call sites.
func TestFoldedCommunicators(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		j := m.run(t, 3, m.compile(t, "fold"))
		profile.Unify(j.ranks)
		ids := map[string]map[int]bool{}
		for _, p := range j.ranks {
			if n := len(p.Comms); n > 8 {
				t.Errorf("rank %d has %d records", p.Rank, n)
			}
			for i := range p.Comms {
				if c := &p.Comms[i]; c.Name != "MPI_COMM_SELF" {
					if ids[c.ID] == nil {
						ids[c.ID] = map[int]bool{}
					}
					ids[c.ID][p.Rank] = true
				}
			}
		}
		for id, ranks := range ids {
			if len(ranks) != 3 {
				t.Errorf("communicator %s is known to ranks %v, want all three", id, ranks)
			}
		}
		step := func(k int) func(from, to int) int {
			return func(from, to int) int {
				if (from+k)%3 == to {
					return 4
				}
				return -1
			}
		}
		exchanged := eachPair(3, step(1)).times(10)
		want{
			sent: map[string]volumes{
				"Sendrecv":           exchanged,
				"Neighbor_allgather": eachPair(3, step(1)).times(40).plus(eachPair(3, step(2)).times(40)),
			},
			received: map[string]volumes{"Sendrecv": exchanged},
		}.check(t, j.ranks)
	})
}

// TestDamagedRecording truncates a recording. It must still count as part of
// its job, or be left out with a message that names it.
func TestDamagedRecording(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		cut := m.recordFiles(t, 4, dir, nil, m.compile(t, "subcomm"))[1].Source
		for _, size := range []int64{9000, 4200, 100} {
			if err := os.Truncate(cut, size); err != nil {
				t.Fatal(err)
			}
			out := execute(t, nil, mpitrace, "report", "--full", dir)
			if !strings.Contains(out.stderr, filepath.Base(cut)) {
				t.Errorf("cut at %d: %q does not name the file", size, out.stderr)
			}
			if n := strings.Count(out.stdout, " of 4 ranks, "); n != 1 || strings.Contains(out.stdout, "job1") {
				t.Errorf("cut at %d: %d jobs, want 1\n%s", size, n, out.stdout)
			}
		}
	})
}
