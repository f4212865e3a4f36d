package findings_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func imbalances(t *testing.T, models ...synth.Model) []findings.Finding {
	t.Helper()
	return slices.DeleteFunc(findings.Of(summaryOf(t, synth.Coupled(models...)), nil), func(f findings.Finding) bool { return f.Rule != findings.LoadImbalance })
}

// TestImbalanceOfPrograms compares ranks of the same program only.
func TestImbalanceOfPrograms(t *testing.T) {
	const ms = time.Millisecond
	ocean := synth.Model{Name: "ocean", Useful: []time.Duration{200 * ms, 200 * ms, 200 * ms}}
	atmos := synth.Model{Name: "atmos", Build: "abcd", Useful: []time.Duration{900 * ms}}
	if found := imbalances(t, ocean, atmos); len(found) > 0 {
		t.Errorf("of balanced programs: %+v", found)
	}
	ocean.Useful = []time.Duration{600 * ms, 150 * ms, 150 * ms}
	found := imbalances(t, ocean, atmos)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	f := found[0]
	// The others of ocean lack 600 - 300 ms on average, on 3 of 4 ranks of a run of 1 s.
	if math.Abs(f.Share-0.225) > 1e-6 || f.Ranks.Compare(profile.RankSetOf(0)) != 0 {
		t.Errorf("%+v", f)
	}
	testenv.Equal(t, "Within ocean, rank 0 computes 600 ms, the mean is 300 ms. The others wait in Allreduce at step app.c:10 of ocean.", f.Text)
	testenv.Equal(t, "Within ocean: move work off rank 0; at most 300 ms shorter.", f.Try)
}

// TestHotRankOfPrograms does not take the only rank of a second program for a hot rank, as it would
// be among ranks of the same program.
func TestHotRankOfPrograms(t *testing.T) {
	const ms, clients, messages = time.Millisecond, 5, 10
	rule := func(server string) (rules []findings.Rule) {
		client := synth.Model{Name: "model", Useful: []time.Duration{400 * ms, 400 * ms, 400 * ms, 400 * ms, 400 * ms}}
		job := synth.Coupled(client, synth.Model{Name: server, Useful: []time.Duration{400 * ms}})
		var ps profile.List
		for rank := range clients + 1 {
			p := job.Profile(rank)
			row := profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: clients, Calls: messages, Messages: messages, Bytes: 100 * messages, TimeNs: uint64(300 * ms)}
			if rank == clients {
				row.Call, row.Direction = "Recv", profile.Recv
			}
			for to := range clients {
				if rank == clients {
					row.Peer = int32(to)
				}
				if rank == clients || to == 0 {
					p.Rows = append(p.Rows, row)
				}
			}
			ps = append(ps, p)
		}
		for _, f := range findings.Of(summaryOf(t, ps), nil) {
			rules = append(rules, f.Rule)
		}
		return rules
	}
	if among := rule("model"); !slices.Contains(among, findings.HotRank) {
		t.Errorf("of one program: %v", among)
	}
	if of := rule("server"); slices.Contains(of, findings.HotRank) {
		t.Errorf("of two programs: %v", of)
	}
}
