package report

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

// conservationText prints the result of the check in one line, and a line for each group
// of messages that was not compared.
func (o *printer) conservationText(c *aggregate.Conservation) {
	compared := fmt.Sprintf("%s with %s (%s) compared", text.CountOf(c.Pairs, "pair"),
		text.CountOf(c.Sent.Messages, "point-to-point message"), text.Bytes(c.Sent.Bytes))
	switch {
	case c.Verdict == aggregate.Conserved:
		o.printf("\nconservation: ok, %s\n", compared)
	case c.Verdict == aggregate.PartlyKnown && c.Pairs == 0:
		o.println("\nconservation: unknown, no pair could be compared")
	case c.Verdict == aggregate.PartlyKnown:
		o.printf("\nconservation: partial, no difference in %s\n", compared)
	case c.Verdict == aggregate.Differs:
		o.printf("\nconservation: sent and received differ for %s; %s\n", text.CountOf(c.Unequal, "pair"), compared)
		o.differingText(c)
	case c.Verdict == aggregate.NoMessages:
		o.println("\nconservation: no point-to-point messages")
	}
	if len(c.Abnormal) > 0 {
		o.printf("not completed normally: %s\n", abnormalText(c))
	}
	for _, n := range c.NotCompared {
		if n.Pairs == 0 {
			o.printf("no message is known from or to %s: %s\n", n.Ranks, n.Reason)
			continue
		}
		o.printf("not compared: %s with %s: %s\n", text.CountOf(n.Pairs, "pair"), n.Ranks, n.Reason)
	}
	if x := c.OtherWorlds; x != (aggregate.Exchange{}) {
		o.printf("not compared: %s (%s) to other worlds, %s (%s) from there\n", text.CountOf(x.Sent.Messages, "message"),
			text.Bytes(x.Sent.Bytes), text.Count(x.Received.Messages), text.Bytes(x.Received.Bytes))
	}
}

func (o *printer) differingText(c *aggregate.Conservation) {
	t := text.NewTable("pair", "msgs sent", "received", "bytes sent", "received")
	for _, x := range c.Differing {
		t.Add(o.pair(x.From, x.To),
			text.Count(x.Sent.Messages), text.Count(x.Received.Messages), text.Count(x.Sent.Bytes), text.Count(x.Received.Bytes))
	}
	t.Write(o)
	o.more(c.Unequal-len(c.Differing), "pair", "")
}

// abnormalText returns, for example, "2 receives cancelled, 1 send cancelled (ranks 0-1)".
func abnormalText(c *aggregate.Conservation) string {
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
