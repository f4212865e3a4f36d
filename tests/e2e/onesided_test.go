package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// TestOneSided uses a window on the ranks in reverse order, in which a rank
// accesses the next rank: world rank 0 accesses 2, 1 accesses 0, and 2 accesses
// 1.
func TestOneSided(t *testing.T) {
	to := func(sizes ...int) volumes {
		return messages(0, 2, sizes...).plus(messages(1, 0, sizes...)).plus(messages(2, 1, sizes...))
	}
	written := to(5*4, 7*4, 2*4, 4, 4, 6*4) // Put, Accumulate, Get_accumulate, Fetch_and_op, Compare_and_swap, Rput
	read := to(3*4, 2*4, 4*4, 4, 4, 8*4)    // Get, Get_accumulate twice, Fetch_and_op, Compare_and_swap, Rget
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "onesided")
		gotWritten, gotRead := volumes{}, volumes{}
		for _, p := range ranks {
			for _, f := range p.Traffic().Flows {
				switch f.Kind {
				case profile.RemoteWrite:
					gotWritten.add(f.From, f.To, f.Bytes, f.Messages)
				case profile.RemoteRead:
					gotRead.add(f.From, f.To, f.Bytes, f.Messages)
				}
			}
		}
		diff(t, "written", written, gotWritten)
		diff(t, "read", read, gotRead)
		calls := callsBy(ranks)
		for call, n := range map[string]uint64{"Put": 2, "Get_accumulate": 2, "Win_fence": 3, "Win_lock": 1,
			"Win_flush": 1, "Win_unlock": 1, "Win_allocate": 1, "Win_free": 1} {
			diff(t, "calls of "+call, []uint64{n, n, n}, calls[call])
		}
		// What a rank reads counts as sent from its target to it.
		job := aggregate.New(ranks)
		want, got := written, volumes{}
		for _, pair := range [][2]int{{2, 0}, {0, 1}, {1, 2}} {
			want = want.plus(messages(pair[0], pair[1], 3*4, 2*4, 4*4, 4, 4, 8*4))
		}
		for pair, v := range job.Matrices()[matrix.OneSided].All() {
			got.add(pair.From, pair.To, v.Bytes, v.Messages)
		}
		diff(t, "matrix", want, got)
	})
}

func TestFiles(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "files")
		for _, p := range ranks {
			want := map[string]profile.FlowVolume{
				"write File_write_at":     {Bytes: 1000, Count: 1},
				"write File_write_at_all": {Bytes: 400, Count: 1},
				"read File_read_at":       {Bytes: uint64(3 * (10 + p.Rank)), Count: 3},
			}
			if d := cmp.Diff(want, movedByFiles(t, p)); d != "" {
				t.Errorf("rank %d: %s", p.Rank, d)
			}
		}
	})
}
