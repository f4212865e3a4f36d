package views

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// abnormalWords holds the words for each kind of abnormal message: the noun,
// and what happened to it.
var abnormalWords = [profile.NumAbnormalKinds][2]string{
	profile.CancelledReceive:  {"receive", "cancelled"},
	profile.TruncatedReceive:  {"receive", "truncated"},
	profile.FreedReceive:      {"receive", "freed while active"},
	profile.FailedReceive:     {"receive", "failed"},
	profile.UnfinishedReceive: {"receive", "never completed"},
	profile.UntoldReceive:     {"receive", "whose status the MPI does not give"},
	profile.CancelledSend:     {"send", "cancelled"},
	profile.FreedSend:         {"send", "freed while being cancelled"},
	profile.FailedSend:        {"send", "of a Sendrecv that failed, not counted"},
	profile.DoubtfulSend:      {"send", "of a Sendrecv that failed, counted"},
	profile.LeftCall:          {"call", "left by an exception or longjmp"},
}

// conservation adds the result of the check that what was sent was received, and each group of
// messages that was not compared.
func conservation(out *Section, c *aggregate.Conservation) {
	compared := fmt.Sprintf("%s with %s (%s) compared", text.CountOf(c.Pairs, "pair"),
		text.CountOf(c.Sent.Messages, "point-to-point message"), text.Bytes(c.Sent.Bytes))
	var verdict string
	switch {
	case c.Verdict == aggregate.Conserved:
		verdict = "ok, " + compared
	case c.Verdict == aggregate.PartlyKnown && c.Pairs == 0:
		verdict = "unknown, no pair could be compared"
	case c.Verdict == aggregate.PartlyKnown:
		verdict = "partial, no difference in " + compared
	case c.Verdict == aggregate.Differs:
		verdict = fmt.Sprintf("sent and received differ for %s; %s", text.CountOf(c.Unequal, "pair"), compared)
	case c.Verdict == aggregate.NoMessages:
		verdict = "no point-to-point messages"
	}
	out.Fact("conservation", verdict)
	if c.Verdict == aggregate.Differs {
		out.Add(differing(c))
	}
	if len(c.Abnormal) > 0 {
		out.Fact("not completed normally", abnormal(c))
	}
	for _, n := range c.NotCompared {
		if n.Pairs == 0 {
			out.Fact(fmt.Sprintf("no message is known from or to %s", n.Ranks), string(n.Reason))
			continue
		}
		out.Fact("not compared", fmt.Sprintf("%s with %s: %s", text.CountOf(n.Pairs, "pair"), n.Ranks, n.Reason))
	}
	if x := c.OtherWorlds; x != (aggregate.Exchange{}) {
		out.Fact("not compared", fmt.Sprintf("%s (%s) to other worlds, %s (%s) from there", text.CountOf(x.Sent.Messages, "message"),
			text.Bytes(x.Sent.Bytes), text.Count(x.Received.Messages), text.Bytes(x.Received.Bytes)))
	}
}

// pairCell names a pair of ranks.
func pairCell(from, to int) Cell { return Cell{fmt.Sprintf("%d → %d", from, to), from} }

// differing returns the table of the pairs that differ most.
func differing(c *aggregate.Conservation) *Table {
	type R = aggregate.Imbalance
	t := tableOf("differing", c.Differing,
		col("pair", "pair", Words, func(x *R) Cell { return pairCell(x.From, x.To) }),
		col("messages_sent", "msgs sent", Count, func(x *R) Cell { return countCell(x.Sent.Messages) }),
		col("messages_received", "received", Count, func(x *R) Cell { return countCell(x.Received.Messages) }),
		col("bytes_sent", "bytes sent", Count, func(x *R) Cell { return countCell(x.Sent.Bytes) }),
		col("bytes_received", "received", Count, func(x *R) Cell { return countCell(x.Received.Bytes) })).top(-1, "pair", "")
	t.Rest = c.Unequal - len(c.Differing)
	return t
}

// abnormal returns, for example, "2 receives cancelled, 1 send cancelled (ranks 0-1)".
func abnormal(c *aggregate.Conservation) string {
	var parts []string
	for _, s := range c.Abnormal {
		k, _ := profile.ParseAbnormalKind(s.Kind)
		parts = append(parts, fmt.Sprintf("%s %s (%s)", text.CountOf(s.Count, abnormalWords[k][0]), abnormalWords[k][1], s.Ranks))
	}
	words := strings.Join(parts, ", ")
	if c.Explained > 0 {
		words += fmt.Sprintf("; they explain %s", text.CountOf(c.Explained, "pair"))
	}
	return words
}
