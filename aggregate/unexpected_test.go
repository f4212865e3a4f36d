package aggregate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func number[T any](v T) *T { return &v }

func TestLateReceives(t *testing.T) {
	s := New(watched()).Summary()
	want := []LateReceives{
		{Call: "Recv", Communicator: "MPI_COMM_WORLD", Late: 1 + 2 + 3, Receives: number(uint64(12)), Share: number(0.5), Queue: 20,
			Ranks: 3, Pairs: 3, Most: []LatePair{{2, 3, 3, 20}, {1, 2, 2, 20}, {0, 1, 1, 20}}},
		{Call: "Irecv", Communicator: "Comm_split#00000000", Late: 4, Receives: number(uint64(16)), Share: number(0.25), Queue: 12.5,
			Ranks: 1, Pairs: 1, Most: []LatePair{{profile.PeerAnySource, 2, 4, 12.5}}},
	}
	testenv.Equal(t, want, s.LateReceives, cmpopts.IgnoreFields(LateReceives{}, "Site"))
	if s.LateOver != "10" {
		t.Errorf("late over %q", s.LateOver)
	}
	for i, site := range []string{"exchange ring.c:40", "post ring.c:50"} {
		if got := s.LateReceives[i].Label; got != site {
			t.Errorf("at %s, want %s", got, site)
		}
	}
	rank, err := New(watched()).RankSummary(2)
	if err != nil {
		t.Fatal(err)
	}
	if l := rank.LateReceives; len(l) != 2 || l[0].Call != "Irecv" || l[0].Late != 4 || *l[0].Share != 1 || l[1].Late != 2 || *l[1].Receives != 3 {
		t.Errorf("of rank 2: %+v", l)
	}
}

// Only the pairs with the most late receives are kept, and all are counted.
func TestLatePairs(t *testing.T) {
	const n = 3 * maxLatePairs
	var ps []*profile.Profile
	for r := range n {
		p := hungRank(r)
		p.Size, p.Comms[0].Members.N = n, n
		p.Late = []profile.Late{{Call: "Recv", Comm: 0, Peer: int32((r + 1) % n), Callsite: at(r, siteRecv), Count: uint64(r + 1), Queued: 1}}
		ps = append(ps, p)
	}
	slices.Reverse(ps[3:20])
	l := New(ps).Summary().LateReceives[0]
	if l.Late != n*(n+1)/2 || l.Pairs != n || l.Ranks != n || len(l.Most) != maxLatePairs || l.Receives != nil {
		t.Fatalf("got %+v", l)
	}
	for i, pair := range l.Most {
		if r := n - 1 - i; pair.To != r || pair.From != (r+1)%n || pair.Late != uint64(r+1) {
			t.Errorf("%d: %+v", i, pair)
		}
	}
}

// Late receives without a known call site are listed too. Receives of a
// persistent request count only if they received something.
func TestLateReceivesWithoutSite(t *testing.T) {
	p := hungRank(0)
	p.Rows = []profile.Row{
		{Call: "Startall", Class: profile.P2P, Comm: -1, Peer: profile.PeerNone, Callsite: at(0, siteRecv), Calls: 1},
		{Call: "Startall", Class: profile.P2P, Direction: profile.Recv, Peer: 1, Callsite: at(0, siteRecv), Messages: 8, Bytes: 8},
	}
	p.Late = []profile.Late{
		{Call: "Startall", Comm: 0, Peer: 1, Callsite: at(0, siteRecv), Count: 2, Queued: 4},
		{Call: "Recv", Comm: -1, Peer: profile.PeerLost, Count: 1, Queued: 3},
	}
	l := New([]*profile.Profile{p}).Summary().LateReceives
	if len(l) != 2 || *l[0].Receives != 8 || *l[0].Share != 0.25 || l[1].Label != "unknown" || l[1].Receives != nil {
		t.Errorf("got %+v", l)
	}
}

// In B one more receive is late, and rank 0's counter of MPI_COMM_WORLD is
// larger by 30.
func TestCompareWatched(t *testing.T) {
	changed := watched()
	changed[3].Late = append(changed[3].Late, changed[3].Late[0])
	for i := range changed[0].Readings {
		if r := &changed[0].Readings[i]; r.Moment == profile.ReadAtFinalize && r.Values[0] == 150 {
			r.Values[0] = 180
		}
	}
	d := Compare(comparedOf(t, watched()), comparedOf(t, changed), DiffOptions{})
	if len(d.Late) != 1 || d.Late[0].Late != (Measure{6, 7}) || d.Late[0].Line != 40 || d.Late[0].Call != "Recv" {
		t.Errorf("late: %+v", d.Late)
	}
	testenv.Equal(t, []CounterChange{{"sent", "counter", 1214, 1244}}, d.Counters)
}

// Late receives are compared only if both jobs have the same
// --watch-unexpected.
func TestCompareWatchedOtherwise(t *testing.T) {
	other := watched()
	for _, p := range other {
		p.Settings = nil
	}
	d := Compare(comparedOf(t, watched()), comparedOf(t, other), DiffOptions{})
	if d.Late != nil {
		t.Errorf("got %+v", d.Late)
	}
	if same := Compare(comparedOf(t, watched()), comparedOf(t, watched()), DiffOptions{}); same.Late == nil || len(same.Late)+len(same.Counters) > 0 {
		t.Errorf("of the same: %+v %+v", same.Late, same.Counters)
	}
}
