package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// onRank returns the wait states of a rank in a function: their number by
// pattern, and the partners' call sites.
func onRank(found *trace.Result, rank int, function string) (count map[trace.Pattern]uint64, partners []string) {
	count = map[trace.Pattern]uint64{}
	for _, w := range found.WaitStates {
		if w.Rank == rank && strings.HasPrefix(w.Callsite, function+" ") {
			count[w.Pattern] += w.Count
			partners = append(partners, w.PeerCallsite)
		}
	}
	slices.Sort(partners)
	return count, slices.Compact(partners)
}

// TestEager checks the waits of rank 0 in an exchange. It must wait for a late
// sender with messages of any size. In a blocking send it must wait for a late
// receiver only if the MPI does not buffer the message.
func TestEager(t *testing.T) {
	const times = 10 // as in eager.c
	withEachAlone(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "eager")
		for _, size := range []int{8, 1 << 20} {
			t.Run(strconv.Itoa(size), func(t *testing.T) {
				j, _ := m.trace(t, 2, nil, program, strconv.Itoa(size))
				var exchanges, late, long uint64 // numbers of exchanges and of sends to which rank 1 was late, and of long sends
				if n, _ := fmt.Sscan(j.stdout, &exchanges, &late, &long); j.code != 0 || n != 3 || exchanges < times/2 || late < times/2 {
					t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
				}
				if size == 8 || long == 0 { // buffered: no sender waits for the receiver
					late = 0
				}
				found := analyze(t, j.dir)
				checkMatched(t, &found.Matching)
				count, partners := onRank(found, 0, "exchange")
				diff(t, "waits in the exchange", map[trace.Pattern]uint64{trace.LateSender: exchanges}, count)
				diff(t, "their partners", []string{markedLine(t, "eager", "exchange", "sends")}, partners)
				want, receiver := map[trace.Pattern]uint64{}, []string(nil)
				if late > 0 {
					want[trace.LateReceiver] = late
					receiver = []string{markedLine(t, "eager", "receive_from", "receives")}
				}
				count, partners = onRank(found, 0, "send_to")
				diff(t, "waits in the sends", want, count)
				diff(t, "their partners", receiver, partners)
			})
		}
	})
}

// TestEagerLimit checks that a trace records the eager limit that the user has
// set for Open MPI.
func TestEagerLimit(t *testing.T) {
	const limit = 20_000
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		name := "btl_vader_eager_limit"
		if m.name == "openmpi5" {
			name = "btl_sm_eager_limit"
		}
		setenv(t, "OMPI_MCA_"+name, strconv.Itoa(limit))
		_, traces := m.trace(t, 2, nil, m.compile(t, "eager"), "8")
		for _, src := range traces {
			got := src.Trace().EagerLimit(profile.InNode)
			if want := (profile.EagerLimit{Path: profile.InNode, Bytes: limit, Variable: name}); got == nil || *got != want {
				t.Errorf("rank %d: %+v, want %+v", src.Trace().Rank, got, want)
			}
		}
	})
}
