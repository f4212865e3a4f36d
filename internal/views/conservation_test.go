package views_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

// Indices of the first point-to-point rows of the fixture.
const (
	sendRow = 2
	recvRow = 3
)

// lose removes messages from what a rank received from the rank before it.
func lose(p *profile.Profile, messages, bytes uint64) {
	p.Rows[recvRow].Messages -= messages
	p.Rows[recvRow].Bytes -= bytes
}

func abnormal(k profile.AbnormalKind, peer int32, count uint64) profile.AbnormalOps {
	return profile.AbnormalOps{Kind: k, Call: "Irecv", Peer: peer, Count: count}
}

func left(call string, peer int32) profile.AbnormalOps {
	return profile.AbnormalOps{Kind: profile.LeftCall, Call: call, Peer: peer, Count: 1}
}

// conservationCases change the fixture, in which six pairs exchange 14 messages
// of 152 bytes in all. Rank r sends three messages of 10 + r bytes to rank r+1.
var conservationCases = []struct {
	name   string
	change func(ps []*profile.Profile) []*profile.Profile
	want   string
}{
	{"nothing is wrong", func(ps []*profile.Profile) []*profile.Profile { return ps },
		"conservation: ok, 6 pairs with 14 point-to-point messages (152 B) compared\n"},
	{"a message was lost", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[3], 1, 12)
		return ps
	}, "conservation: sent and received differ for 1 pair; 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n2 -> 3          3         2          36        24\n"},
	{"bytes alone", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[3], 0, 1)
		lose(ps[1], 0, 2)
		return ps
	}, "conservation: sent and received differ for 2 pairs; 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n0 -> 1          3         3          30        28\n2 -> 3          3         3          36        35\n"},
	{"more received than sent", func(ps []*profile.Profile) []*profile.Profile {
		ps[0].Rows[sendRow].Messages, ps[0].Rows[sendRow].Bytes = 0, 0
		return ps
	}, "conservation: sent and received differ for 1 pair; 6 pairs with 11 point-to-point messages (122 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n0 -> 1          0         3           0        30\n"},
	{"a truncated message", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[1], 1, 10)
		ps[1].Abnormal = []profile.AbnormalOps{abnormal(profile.TruncatedReceive, 0, 1), abnormal(profile.CancelledReceive, 0, 2)}
		return ps
	}, "conservation: ok, 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"not completed normally: 2 receives cancelled (rank 1), 1 receive truncated (rank 1); they explain 1 pair\n"},
	{"a truncated message that was not sent", func(ps []*profile.Profile) []*profile.Profile {
		ps[1].Abnormal = []profile.AbnormalOps{abnormal(profile.TruncatedReceive, 0, 1)}
		return ps
	}, "conservation: sent and received differ for 1 pair; 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n0 -> 1          3         3          30        30\n" +
		"not completed normally: 1 receive truncated (rank 1)\n"},
	{"a receive cancelled explains nothing", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[1], 1, 10)
		ps[1].Abnormal = []profile.AbnormalOps{abnormal(profile.CancelledReceive, 0, 1)}
		return ps
	}, "conservation: sent and received differ for 1 pair; 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n0 -> 1          3         2          30        20\n" +
		"not completed normally: 1 receive cancelled (rank 1)\n"},
	{"a receive from anybody, freed: one message and no more", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[1], 1, 10)
		lose(ps[3], 1, 12)
		ps[1].Abnormal = []profile.AbnormalOps{abnormal(profile.FreedReceive, profile.PeerAnySource, 1)}
		return ps
	}, "conservation: sent and received differ for 1 pair; 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n2 -> 3          3         2          36        24\n" +
		"not completed normally: 1 receive freed while active (rank 1); they explain 1 pair\n"},
	{"a cancelled send", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[1], 1, 10)
		a := abnormal(profile.CancelledSend, profile.PeerNone, 1)
		a.Comm = -1
		ps[0].Abnormal = []profile.AbnormalOps{a}
		return ps
	}, "conservation: ok, 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"not completed normally: 1 send cancelled (rank 0); they explain 1 pair\n"},
	{"a persistent send that was cancelled, of another size", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[1], 1, 10)
		a := abnormal(profile.CancelledSend, 1, 1)
		a.Bytes = 9
		ps[0].Abnormal = []profile.AbnormalOps{a}
		return ps
	}, "conservation: sent and received differ for 1 pair; 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"pair    msgs sent  received  bytes sent  received\n0 -> 1          3         2          30        20\n" +
		"not completed normally: 1 send cancelled (rank 0)\n"},
	{"half of a failed Sendrecv", func(ps []*profile.Profile) []*profile.Profile {
		ps[0].Rows[sendRow].Messages, ps[0].Rows[sendRow].Bytes = 2, 20
		ps[0].Abnormal = []profile.AbnormalOps{abnormal(profile.FailedSend, 1, 1)}
		return ps
	}, "conservation: ok, 6 pairs with 13 point-to-point messages (142 B) compared\n" +
		"not completed normally: 1 send of a Sendrecv that failed, not counted (rank 0); they explain 1 pair\n"},
	{"a Send left by an exception, which was sent", func(ps []*profile.Profile) []*profile.Profile {
		ps[0].Rows[sendRow].Messages, ps[0].Rows[sendRow].Bytes = 2, 20
		ps[0].Abnormal = []profile.AbnormalOps{left("Send", 1)}
		return ps
	}, "conservation: ok, 6 pairs with 13 point-to-point messages (142 B) compared\n" +
		"not completed normally: 1 call left by an exception or longjmp (rank 0); they explain 1 pair\n"},
	{"a Wait left by an exception", func(ps []*profile.Profile) []*profile.Profile {
		lose(ps[1], 1, 10)
		ps[1].Abnormal = []profile.AbnormalOps{left("Wait", profile.PeerNone)}
		return ps
	}, "conservation: partial, no difference in 3 pairs with 7 point-to-point messages (82 B) compared\n" +
		"not completed normally: 1 call left by an exception or longjmp (rank 1)\n" +
		"not compared: 3 pairs with rank 1: calls with requests were left by an exception or longjmp\n"},
	{"a rank is missing", func(ps []*profile.Profile) []*profile.Profile { return slices.Delete(ps, 2, 3) },
		"conservation: partial, no difference in 3 pairs with 7 point-to-point messages (76 B) compared\n" +
			"not compared: 3 pairs with rank 2: not recorded\n"},
	{"a rank was killed", func(ps []*profile.Profile) []*profile.Profile {
		ps[1].State = profile.Running
		lose(ps[1], 1, 10)
		return ps
	}, "conservation: partial, no difference in 3 pairs with 7 point-to-point messages (82 B) compared\n" +
		"not compared: 3 pairs with rank 1: not finalized\n"},
	{"one side was paused", func(ps []*profile.Profile) []*profile.Profile {
		ps[0].Pauses = 1
		ps[0].Rows[sendRow].Messages--
		return ps
	}, "conservation: partial, no difference in 3 pairs with 7 point-to-point messages (76 B) compared\n" +
		"not compared: 3 pairs with rank 0: recording was off part of the time\n"},
	{"sends folded without their peers", func(ps []*profile.Profile) []*profile.Profile {
		ps[0].Rows[sendRow].Peer = profile.PeerLost
		return ps
	}, "conservation: partial, no difference in 4 pairs with 10 point-to-point messages (115 B) compared\n" +
		"not compared: 2 pairs with rank 0: calls counted without their peer\n"},
	{"a rank comes twice", func(ps []*profile.Profile) []*profile.Profile { return append(ps, jobs.FixtureRank(3)) },
		"conservation: partial, no difference in 3 pairs with 7 point-to-point messages (70 B) compared\n" +
			"not compared: 3 pairs with rank 3: recorded more than once\n"},
	{"requests were lost", func(ps []*profile.Profile) []*profile.Profile {
		ps[3].Losses.Requests = 1
		lose(ps[3], 1, 12)
		return ps
	}, "conservation: partial, no difference in 4 pairs with 10 point-to-point messages (109 B) compared\n" +
		"not compared: 2 pairs with rank 3: requests not followed\n"},
	{"calls were not recorded", func(ps []*profile.Profile) []*profile.Profile {
		ps[2].Losses.Calls, ps[2].Losses.Damaged, ps[3].Losses.Damaged = 1, 1, 2
		return ps
	}, "conservation: partial, no difference in 1 pair with 3 point-to-point messages (30 B) compared\n" +
		"not compared: 5 pairs with ranks 2-3: damaged recording\n"},
	{"nothing can be compared", func(ps []*profile.Profile) []*profile.Profile { return ps[:1] },
		"conservation: unknown, no pair could be compared\n" +
			"not compared: 3 pairs with ranks 1-3: not recorded\n"},
	{"an incomplete rank without messages", func(ps []*profile.Profile) []*profile.Profile {
		for _, p := range ps {
			p.Size = 5
		}
		return ps
	}, "conservation: partial, no difference in 6 pairs with 14 point-to-point messages (152 B) compared\n" +
		"no message is known from or to rank 4: not recorded\n"},
	{"messages to another world", func(ps []*profile.Profile) []*profile.Profile {
		ps[2].Comms[1].Members.List = []int32{profile.PeerElsewhere, 2}
		ps[2].Rows[7] = profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Comm: 1, Peer: 0, Messages: 4, Bytes: 9}
		ps[0].Rows = slices.Delete(ps[0].Rows, 7, 8)
		return ps
	}, "conservation: partial, no difference in 5 pairs with 13 point-to-point messages (145 B) compared\n" +
		"not compared: 4 messages (9 B) to other worlds, 0 (0 B) from there\n"},
	{"no messages", func(ps []*profile.Profile) []*profile.Profile {
		for _, p := range ps {
			p.Rows = p.Rows[:2]
		}
		return ps
	}, "conservation: no point-to-point messages\n"},
}

func TestConservation(t *testing.T) {
	for _, c := range conservationCases {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			found := aggregate.New(c.change(jobs.Fixture())).Conservation(aggregate.AllRanks)
			if err := terminal.Write(&b, views.ConservationSections(found), terminal.Options{ASCII: true}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(b.String(), "\n\n", "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
