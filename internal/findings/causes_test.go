package findings

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// The run of all causes below: four ranks, 10 s, of which they wait for each other in 40 %.
const (
	causeRanks = 4
	causeRunS  = 10.0
)

func waitingJob() (*aggregate.Summary, *trace.Result) {
	s := computing(6, 6, 6, 6)
	s.Program, s.RanksExpected = "app", causeRanks
	s.Tree.Traced = true
	s.Tree.Parts[aggregate.Waiting], s.Tree.Parts[aggregate.MovingData] = s.Tree.Parts[aggregate.MovingData], 0
	s.Tree.Before = s.Tree.Parts
	return s, &trace.Result{Ranks: causeRanks, Runtime: causeRunS, POP: &trace.POPFactors{Ranks: causeRanks, Runtime: causeRunS, UsefulMax: 6, Serialisation: 0.7}}
}

var (
	recvAt = causes.Stop{Call: "Recv", Callsite: "solve app.f90:10"}
	sendAt = causes.Stop{Call: "Send", Callsite: "solve app.f90:31"}
	haloAt = causes.Stop{Call: "Recv", Callsite: "halo app.f90:52 < main app.f90:9"}
	sumAt  = causes.Stop{Call: "Allreduce", Callsite: "step app.c:7"}
)

// causeOf returns a cause of a share of the time, which ranks cause in equal parts. Ranks see it in waits
// of one pattern.
func causeOf(class causes.Class, share float64, ranks, waiters profile.RankSet, at causes.Stop, pattern trace.Pattern) causes.Cause {
	cost := int64(share * causeRanks * causeRunS * 1e9)
	c := causes.Cause{Class: class, Burst: &causes.Burst{Before: recvAt, After: sendAt}, CostNs: cost, Share: share, Waits: 10, Pairs: waiters.Len(), Named: ranks,
		Seen: []causes.Seen{{Stop: at, Pattern: pattern.String(), Ranks: waiters, CostNs: cost}}}
	for rank := range ranks.All() {
		c.Ranks = append(c.Ranks, causes.RankCost{Rank: rank, CostNs: cost / int64(ranks.Len())})
	}
	return c
}

func saves(c causes.Cause, s float64) causes.Cause {
	c.SavesS = &s
	return c
}

// with returns a cause with something changed.
func with(c causes.Cause, change func(c *causes.Cause)) causes.Cause {
	c.Seen = slices.Clone(c.Seen)
	change(&c)
	return c
}

var (
	rank0, rank1, pair, rest = profile.RankSetOf(0), profile.RankSetOf(1), profile.RankSetOf(1, 3), profile.RankSetOf(1, 2, 3)

	imbalance  = causeOf(causes.Imbalance, 0.3, rank0, rest, sumAt, trace.WaitAtNxN)
	varying    = causeOf(causes.Varying, 0.3, profile.RankSetOf(0, 1, 2, 3), profile.RankSetOf(0, 1, 2, 3), sumAt, trace.WaitAtNxN)
	lateSends  = causeOf(causes.Order, 0.3, pair, profile.RankSetOf(0, 2), haloAt, trace.LateSender)
	latePosts  = causeOf(causes.Order, 0.3, rank1, rank0, sendAt, trace.LateReceiver)
	inTurn     = with(causeOf(causes.Chain, 0.3, profile.RankSetOf(0, 1, 2), rest, recvAt, trace.LateSender), func(c *causes.Cause) { c.BoundS = 2.5 })
	inOneCall  = with(causeOf(causes.InCall, 0.3, rank0, rest, recvAt, trace.LateSender), func(c *causes.Cause) { c.Burst, c.Call = nil, &recvAt })
	ofPrograms = with(imbalance, func(c *causes.Cause) { c.From, c.To = "ocean", "atmos" })
)

// small returns a cause of 1.9 % of the time, which is too little for a finding.
func small(c causes.Cause) causes.Cause {
	return with(c, func(c *causes.Cause) {
		c.CostNs, c.Share = int64(0.019*causeRanks*causeRunS*1e9), 0.019
		c.Seen[0].CostNs = c.CostNs
	})
}

// causeTests are the kinds of causes: one for which a rule holds, and one for which it nearly does.
var causeTests = []struct {
	name   string
	causes []causes.Cause
	change func(*aggregate.Summary, *trace.Result)
	want   Finding
	// The near misses: another cause, or a job that differs.
	nearly       causes.Cause
	nearlyChange func(*aggregate.Summary, *trace.Result)
}{
	{name: "imbalance", causes: []causes.Cause{imbalance}, nearly: small(imbalance),
		want: Finding{Rule: LoadImbalance, Ranks: rank0, SavesS: 3,
			Text:  "Rank 0 computes longer than the others. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7.",
			Try:   "Move work off rank 0. At most 3.00 s shorter.",
			Cause: "rank 0 computes longer than the others between Recv at solve app.f90:10 and Send at solve app.f90:31"}},
	{name: "imbalance, 8 times the work", causes: []causes.Cause{saves(imbalance, 2.1)}, nearly: small(imbalance),
		change: func(s *aggregate.Summary, _ *trace.Result) {
			for i := range s.Ranks[1:] {
				s.Ranks[1+i].MPIShare = 0.95 // rank 0 computes in 60 % of the time
			}
		},
		want: Finding{Rule: LoadImbalance, Ranks: rank0, SavesS: 2.1,
			Text:  "Rank 0 has 12 times the work of the others. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7.",
			Try:   "Move work off rank 0. This saves 2.10 s.",
			Cause: "rank 0 has 12 times the work of the others"}},
	{name: "work of one rank", nearly: small(imbalance),
		causes: []causes.Cause{with(imbalance, func(c *causes.Cause) { c.Alone, c.Burst = true, &causes.Burst{Before: sumAt, After: sumAt} })},
		want: Finding{Rule: LoadImbalance, Ranks: rank0, SavesS: 3,
			Text:  "Rank 0 alone computes while the others wait. The computing is between two calls of Allreduce at step app.c:7. You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7.",
			Try:   "Split what rank 0 does alone, or let the others go on meanwhile. At most 3.00 s shorter.",
			Cause: "rank 0 alone computes between two calls of Allreduce at step app.c:7"}},
	{name: "varying work, the last rank changes", causes: []causes.Cause{varying}, nearly: small(varying),
		want: Finding{Rule: VaryingWork, SavesS: 3,
			Text:  "The last rank changes. Now one computes longer, now another. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. Rank 0 costs most, 25 % of it. You see it as: ranks 0-3 wait 12.0 s in Allreduce at step app.c:7.",
			Try:   "Even out the steps, or wait less often, so that ranks can run ahead. At most 3.00 s shorter.",
			Cause: "the last rank changes, because work varies between Recv at solve app.f90:10 and Send at solve app.f90:31"}},
	{name: "varying work of one rank, more than its imbalance", nearly: with(varying, func(c *causes.Cause) { c.Class = causes.Imbalance }),
		causes: []causes.Cause{with(varying, func(c *causes.Cause) {
			c.Ranks = []causes.RankCost{{Rank: 1, CostNs: c.CostNs/2 + 1}, {Rank: 0, CostNs: c.CostNs/2 - 1}}
		}), with(small(imbalance), func(c *causes.Cause) { c.Share = 0 })},
		want: Finding{Rule: VaryingWork, Ranks: rank1, SavesS: 3,
			Text:  "Rank 1 computes longer in some steps than in others. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 0-3 wait 12.8 s in Allreduce at step app.c:7.",
			Try:   "Even out the steps, or wait less often, so that ranks can run ahead. At most 3.00 s shorter.",
			Cause: "rank 1 computes longer in some steps than in others, between Recv at solve app.f90:10 and Send at solve app.f90:31"}},
	{name: "late senders", causes: []causes.Cause{lateSends}, nearly: small(lateSends),
		want: Finding{Rule: LateSender, Ranks: pair, SavesS: 3,
			Text:  "Ranks 1, 3 compute before Send at solve app.f90:31. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 0, 2 wait 12.0 s in Recv at halo app.f90:52 (2 pairs of ranks).",
			Try:   "Let ranks 1, 3 send before computing. At most 3.00 s shorter.",
			Cause: "ranks 1, 3 compute before they send"}},
	{name: "late senders, many ranks", nearly: small(lateSends),
		causes: []causes.Cause{causeOf(causes.Order, 0.3, profile.RankSetOf(1, 3, 5, 7), profile.RankSetOf(0, 2, 4, 6), haloAt, trace.LateSender)},
		want: Finding{Rule: LateSender, Ranks: profile.RankSetOf(1, 3, 5, 7), SavesS: 3,
			Text:  "Ranks 1, 3, 5, 7 compute before Send at solve app.f90:31. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: 4 ranks wait 12.0 s in Recv at halo app.f90:52 (4 pairs of ranks).",
			Try:   "Let these ranks send before computing. At most 3.00 s shorter.",
			Cause: "4 ranks compute before they send"}},
	{name: "late in a collective", nearly: small(lateSends),
		causes: []causes.Cause{causeOf(causes.Order, 0.3, rank1, rank0, sumAt, trace.WaitAtNxN)},
		want: Finding{Rule: LateSender, Ranks: rank1, SavesS: 3,
			Text:  "Rank 1 computes before Send at solve app.f90:31. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: rank 0 waits 12.0 s in Allreduce at step app.c:7.",
			Try:   "Let rank 1 call Allreduce before computing. At most 3.00 s shorter.",
			Cause: "rank 1 computes before it calls Allreduce"}},
	{name: "late receiver", causes: []causes.Cause{latePosts}, nearly: with(latePosts, func(c *causes.Cause) {
		c.Seen = []causes.Seen{{Stop: sendAt, Pattern: "late-sender", CostNs: c.CostNs}}
	}),
		want: Finding{Rule: LateReceiver, Ranks: rank1, SavesS: 3,
			Text:  "Rank 1 computes before Send at solve app.f90:31. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: rank 0 waits 12.0 s in Send at solve app.f90:31.",
			Try:   "Post the receive (Irecv) before computing on rank 1, and wait for it afterwards. At most 3.00 s shorter.",
			Cause: "rank 1 computes before it posts its receive"}},
	{name: "late receiver, above the eager limit", causes: []causes.Cause{latePosts}, change: sendsOf(16 << 10), nearly: small(latePosts),
		want: Finding{Rule: LateReceiver, Ranks: rank1, SavesS: 3,
			Text:  "Rank 1 computes before Send at solve app.f90:31. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: rank 0 waits 12.0 s in Send at solve app.f90:31.",
			Try:   "Post the receive (Irecv) before computing on rank 1, and wait for it afterwards. Or raise the eager limit (btl_eager_limit, now 4.00 KiB): then these sends, of 16.0 KiB on average, do not wait. At most 3.00 s shorter.",
			Cause: "rank 1 computes before it posts its receive"}},
	{name: "target that does not call MPI", nearly: small(latePosts),
		causes: []causes.Cause{causeOf(causes.Order, 0.3, rank1, rank0, sendAt, trace.WaitForProgress)},
		want: Finding{Rule: LateReceiver, Ranks: rank1, SavesS: 3,
			Text:  "Rank 1 computes before Send at solve app.f90:31. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: rank 0 waits 12.0 s in Send at solve app.f90:31.",
			Try:   "Call MPI more often on rank 1, or let MPI make progress in a thread. At most 3.00 s shorter.",
			Cause: "rank 1 computes before it calls MPI again"}},
	{name: "chain", causes: []causes.Cause{inTurn}, nearly: inTurn, nearlyChange: func(_ *aggregate.Summary, r *trace.Result) { r.POP.Serialisation = 0.8 },
		want: Finding{Rule: SerialChain, Ranks: profile.RankSetOf(0, 1, 2), SavesS: 2.5,
			Text:  "Ranks 0-2 compute one after the other. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 1-3 wait 12.0 s in Recv at solve app.f90:10.",
			Try:   "Split the data into blocks, and send each block as soon as it is computed. At most 2.50 s shorter.",
			Cause: "ranks 0-2 compute one after the other"}},
	{name: "hot rank", change: func(s *aggregate.Summary, _ *trace.Result) {
		s.Calls = append(s.Calls, aggregate.CallTotals{Call: recvAt.Call, Class: profile.P2P.String()})
	}, causes: []causes.Cause{inOneCall}, nearly: with(inOneCall, func(c *causes.Cause) {
		c.Ranks = []causes.RankCost{{Rank: 0, CostNs: c.CostNs / 2}, {Rank: 1, CostNs: c.CostNs / 2}}
	}),
		want: Finding{Rule: HotRank, Ranks: rank0, SavesS: 3,
			Text:  "Rank 0 is in Recv at solve app.f90:10 while others wait for it. You see it as: ranks 1-3 wait 12.0 s in Recv at solve app.f90:10.",
			Try:   "Use a collective (Gather, Reduce, Bcast), or forward the data along a tree of ranks. At most 3.00 s shorter.",
			Cause: "rank 0 is in Recv at solve app.f90:10 while others wait for it"}},
	{name: "late start", nearly: small(inOneCall),
		causes: []causes.Cause{with(inOneCall, func(c *causes.Cause) { c.Call = &causes.Stop{Call: "Init"} })},
		want: Finding{Rule: HotRank, Ranks: rank0, SavesS: 3,
			Text:  "Rank 0 leaves MPI_Init later than the others. You see it as: ranks 1-3 wait 12.0 s in Recv at solve app.f90:10.",
			Try:   "See how the launcher starts the ranks. A longer run loses no more time to this. At most 3.00 s shorter.",
			Cause: "rank 0 leaves MPI_Init later than the others"}},
	{name: "slow in a collective", nearly: small(inOneCall),
		causes: []causes.Cause{with(inOneCall, func(c *causes.Cause) { c.Call = &sumAt })},
		want: Finding{Rule: HotRank, Ranks: rank0, SavesS: 3,
			Text:  "Rank 0 is in Allreduce at step app.c:7 while others wait for it. You see it as: ranks 1-3 wait 12.0 s in Recv at solve app.f90:10.",
			Try:   "See why this call takes longer on rank 0 than on others: its data, its core, its network. At most 3.00 s shorter.",
			Cause: "rank 0 is in Allreduce at step app.c:7 while others wait for it"}},
	{name: "programs", causes: []causes.Cause{ofPrograms}, nearly: with(ofPrograms, func(c *causes.Cause) { c.From = "atmos" }),
		want: Finding{Rule: BetweenPrograms, Ranks: rank0, SavesS: 3,
			Text:  "ocean waits for atmos in 30.0 % of the time. Mostly because rank 0 of atmos computes between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7.",
			Try:   "Give atmos more of the ranks, or let the programs exchange data less often. At most 3.00 s shorter.",
			Cause: "ocean waits for atmos, 30 %"}},
}

// TestCauses checks the finding of each kind of cause: its words, and that a job which nearly has the
// cause has no such finding.
func TestCauses(t *testing.T) {
	for _, test := range causeTests {
		t.Run(test.name, func(t *testing.T) {
			s, traced := waitingJob()
			traced.Causes = test.causes
			if test.change != nil {
				test.change(s, traced)
			}
			found := Of(s, traced)
			if len(found) == 0 {
				t.Fatal("no finding")
			}
			f, w := &found[0], &test.want
			if f.Rule != w.Rule || f.Ranks.Compare(w.Ranks) != 0 || f.Text != w.Text || f.Try != w.Try || f.Cause != w.Cause || f.SavesS < w.SavesS-1e-6 || f.SavesS > w.SavesS+1e-6 {
				t.Errorf("got  %+v\nwant %+v", *f, *w)
			}
			if r := ReportOf(s, traced); !strings.Contains(r.Verdict, "The ranks wait for each other: "+f.Cause+"; "+clause(f.Try)+".") {
				t.Errorf("verdict %q", r.Verdict)
			}
			s, traced = waitingJob()
			traced.Causes = []causes.Cause{test.nearly}
			if test.nearlyChange != nil {
				test.nearlyChange(s, traced)
			}
			for _, f := range Of(s, traced) {
				if f.Rule == test.want.Rule {
					t.Errorf("nearly: %+v", f)
				}
			}
		})
	}
}

// sendsOf gives the job an eager limit of 4 KiB, and sends of a size at one call site.
func sendsOf(bytes uint64) func(*aggregate.Summary, *trace.Result) {
	return func(s *aggregate.Summary, r *trace.Result) {
		r.EagerLimits = []trace.ObservedEagerLimit{{Path: profile.InNode, Bytes: 4 << 10, Variable: "btl_eager_limit"}}
		site := aggregate.CallSite{Site: aggregate.Site{NamedPlace: aggregate.NamedPlace{Label: sendAt.Callsite}}, Call: "Send", Class: profile.P2P.String()}
		site.Sent.Messages, site.Sent.Bytes = 10, 10*bytes
		site.Sizes = []aggregate.SizeCount{{Most: bytes}}
		site.Sizes[0].Messages = 10
		s.CallSites = append(s.CallSites, site)
	}
}

// TestCausesOfOneFinding checks that bursts of the same ranks are one finding, and that those of other
// ranks are not.
func TestCausesOfOneFinding(t *testing.T) {
	elsewhere := with(small(imbalance), func(c *causes.Cause) { c.Burst, c.Seen[0].Stop = &causes.Burst{Before: sumAt, After: recvAt}, haloAt })
	minor := with(elsewhere, func(c *causes.Cause) { c.CostNs, c.Share, c.Seen[0].CostNs = c.CostNs/2, c.Share/2, c.CostNs/2 })
	others := with(elsewhere, func(c *causes.Cause) { c.Named, c.Ranks = rank1, []causes.RankCost{{Rank: 1, CostNs: c.CostNs}} })
	nearly := with(elsewhere, func(c *causes.Cause) { c.Named = profile.RankSetOf(0, 2) })
	for _, test := range []struct {
		name string
		more causes.Cause
		want string
	}{
		{"same ranks", elsewhere, "Rank 0 computes longer than the others. Most of the computing is between Recv at solve app.f90:10 and Send at solve app.f90:31; the rest is at 1 other place. " +
			"You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7, and 760 ms at 1 other place."},
		{"nearly the same ranks", nearly, "Rank 0 computes longer than the others. Most of the computing is between Recv at solve app.f90:10 and Send at solve app.f90:31; the rest is at 1 other place. " +
			"You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7, and 760 ms at 1 other place."},
		{"hardly any time", minor, "Rank 0 computes longer than the others. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7."},
		{"other ranks", others, "Rank 0 computes longer than the others. The computing is between Recv at solve app.f90:10 and Send at solve app.f90:31. You see it as: ranks 1-3 wait 12.0 s in Allreduce at step app.c:7."},
	} {
		s, traced := waitingJob()
		traced.Causes = []causes.Cause{imbalance, test.more}
		if found := Of(s, traced); len(found) != 1 || found[0].Text != test.want {
			t.Errorf("%s: %+v", test.name, found)
		}
	}
}

// TestOnlyTogether checks what is said of a cause without which the ranks wait for another one.
func TestOnlyTogether(t *testing.T) {
	second := with(lateSends, func(c *causes.Cause) { c.Share = 0.1 })
	for saved, want := range map[float64]string{
		1.6:  "Move work off rank 0. This saves 1.60 s.",
		1.4:  "Move work off rank 0. Alone this saves 1.40 s; more only together with the late sender of ranks 1, 3.",
		-0.2: "Move work off rank 0. Alone this saves nothing; more only together with the late sender of ranks 1, 3.",
		3.1:  "Move work off rank 0. This saves 3.00 s.", // 30 % of 10 s is the most
	} {
		s, traced := waitingJob()
		traced.Causes = []causes.Cause{saves(imbalance, saved), second}
		if found := Of(s, traced); len(found) != 2 || found[0].Try != want {
			t.Errorf("%g s: %+v", saved, found)
		}
	}
}

// TestUncertainCauses checks that nothing is said of savings if ranks had no core for long.
func TestUncertainCauses(t *testing.T) {
	s, traced := waitingJob()
	traced.Causes, s.Tree.NoCore = []causes.Cause{saves(imbalance, 2.1)}, 0.31
	if found := Of(s, traced); len(found) != 1 || found[0].Try != "Move work off rank 0." || found[0].SavesS != 0 || found[0].Uncertain == "" {
		t.Errorf("%+v", found)
	}
}

// TestCausesExplainWaits checks that the waits of which the cause is known are explained, and have no
// finding of their own.
func TestCausesExplainWaits(t *testing.T) {
	wait := trace.WaitState{Pattern: trace.WaitAtNxN, Rank: 1, Peer: 0, Call: sumAt.Call, Callsite: sumAt.Callsite, Communicator: "world", Count: 1, Time: 12, Share: 0.3}
	early := with(small(imbalance), func(c *causes.Cause) {
		c.Seen[0].Stop, c.Seen[0].Pattern = causes.Stop{Call: "Finalize"}, causes.EndedEarly
	})
	for _, test := range []struct {
		name    string
		causes  []causes.Cause
		noCore  float64
		want    []Rule
		unknown float64
	}{
		{"known", []causes.Cause{imbalance}, 0, []Rule{LoadImbalance}, 0.1},
		{"less than half is known", []causes.Cause{with(imbalance, func(c *causes.Cause) { c.Seen[0].CostNs /= 3; c.CostNs /= 3; c.Share /= 3 })}, 0, []Rule{CollectiveWaits, LoadImbalance}, 0.1},
		{"of ranks that end early, too", []causes.Cause{imbalance, early}, 0, []Rule{LoadImbalance}, 0.1},
		{"not known", []causes.Cause{with(imbalance, func(c *causes.Cause) { c.Class = causes.Unknown })}, 0, []Rule{CollectiveWaits}, 0.1},
		{"in a call", []causes.Cause{inOneCall}, 0, []Rule{CollectiveWaits, HotRank}, 0},
		{"in a call, without a core", []causes.Cause{with(inOneCall, func(c *causes.Cause) { c.Seen[0].Stop = sumAt })}, 0.31, nil, 0.4},
	} {
		s, traced := waitingJob()
		traced.Causes, traced.WaitStates, s.Tree.NoCore = test.causes, []trace.WaitState{wait}, test.noCore
		r := ReportOf(s, traced)
		var got []Rule
		for _, f := range r.Findings {
			got = append(got, f.Rule)
			if (f.Uncertain != "") != (test.noCore > 0) {
				t.Errorf("%s: uncertain %q", test.name, f.Uncertain)
			}
		}
		if !slices.Equal(got, test.want) || r.NotExplained < test.unknown-1e-6 || r.NotExplained > test.unknown+1e-6 {
			t.Errorf("%s: %q, want %q; not explained %g", test.name, got, test.want, r.NotExplained)
		}
	}
}

// TestVerdictOfSeveralCauses checks the verdict if no cause explains half of the waits.
func TestVerdictOfSeveralCauses(t *testing.T) {
	s, traced := waitingJob()
	part := func(c causes.Cause, share float64) causes.Cause {
		return with(c, func(c *causes.Cause) { c.Share = share })
	}
	traced.Causes = []causes.Cause{part(imbalance, 0.15), part(lateSends, 0.12), part(inTurn, 0.1)}
	const want = "app on 4 ranks, 10.0 s: computing 60 %, waiting 40 %. The ranks wait for each other, for several reasons. The largest costs 15 %: " +
		"rank 0 computes longer than the others between Recv at solve app.f90:10 and Send at solve app.f90:31; move work off rank 0."
	if got := ReportOf(s, traced).Verdict; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
