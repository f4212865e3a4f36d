package aggregate

import (
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// asideWords are what text says of each kind: the noun, and what became of it.
var asideWords = [profile.NumAsideKinds][2]string{
	profile.CancelledReceive:  {"receive", "cancelled"},
	profile.TruncatedReceive:  {"receive", "truncated"},
	profile.FreedReceive:      {"receive", "freed while active"},
	profile.FailedReceive:     {"receive", "failed"},
	profile.UnfinishedReceive: {"receive", "never completed"},
	profile.UntoldReceive:     {"receive", "whose status the MPI does not give"},
	profile.CancelledSend:     {"send", "cancelled"},
	profile.FreedSend:         {"send", "freed while being cancelled"},
	profile.FailedSend:        {"send", "of a Sendrecv whose receive was truncated"},
}

// text is a line, and one for each thing that the line does not hold for.
func (c *Conservation) text(w io.Writer, o TextOptions) {
	compared := fmt.Sprintf("%s with %s (%s) compared", CountOf(uint64(c.Pairs), "pair"),
		CountOf(c.Sent.Messages, "point-to-point message"), bytesText(c.Sent.Bytes))
	switch {
	case c.Verdict == Conserved:
		fmt.Fprintf(w, "\nconservation: ok, %s\n", compared)
	case c.Verdict == PartlyKnown && c.Pairs == 0:
		fmt.Fprintln(w, "\nconservation: unknown, no pair could be compared")
	case c.Verdict == PartlyKnown:
		fmt.Fprintf(w, "\nconservation: partial, no difference in %s\n", compared)
	case c.Verdict == Differs:
		fmt.Fprintf(w, "\nconservation: sent and received differ for %s; %s\n", CountOf(uint64(c.Unequal), "pair"), compared)
		c.differingText(w, o)
	case c.Verdict == NoMessages:
		fmt.Fprintln(w, "\nconservation: no point-to-point messages")
	}
	if len(c.SetAside) > 0 {
		fmt.Fprintf(w, "set aside: %s\n", c.asideText())
	}
	for _, n := range c.NotCompared {
		if n.Pairs == 0 {
			fmt.Fprintf(w, "no message is known from or to %s: %s\n", n.Ranks, n.Reason)
			continue
		}
		fmt.Fprintf(w, "not compared: %s with %s: %s\n", CountOf(uint64(n.Pairs), "pair"), n.Ranks, n.Reason)
	}
	if x := c.OtherWorlds; x != (Exchange{}) {
		fmt.Fprintf(w, "not compared: %s (%s) to other worlds, %s (%s) from there\n", CountOf(x.Sent.Messages, "message"),
			bytesText(x.Sent.Bytes), count(x.Received.Messages), bytesText(x.Received.Bytes))
	}
}

func (c *Conservation) differingText(w io.Writer, o TextOptions) {
	t := table{{"pair", "msgs sent", "received", "bytes sent", "received"}}
	for _, x := range c.Differing {
		t = append(t, []string{fmt.Sprintf("%d %s %d", x.From, o.pick("→", "->"), x.To),
			count(x.Sent.Messages), count(x.Received.Messages), count(x.Sent.Bytes), count(x.Received.Bytes)})
	}
	t.write(w)
	if more := c.Unequal - len(c.Differing); more > 0 {
		fmt.Fprintf(w, "and %s\n", CountOf(uint64(more), "more pair"))
	}
}

// asideText reads "2 receives cancelled, 1 send cancelled (ranks 0-1)".
func (c *Conservation) asideText() string {
	var parts []string
	for _, s := range c.SetAside {
		k, _ := profile.ParseAsideKind(s.Kind)
		parts = append(parts, fmt.Sprintf("%s %s (%s)", CountOf(s.Count, asideWords[k][0]), asideWords[k][1], s.Ranks))
	}
	text := strings.Join(parts, ", ")
	if c.Explained > 0 {
		text += fmt.Sprintf("; they explain %s", CountOf(uint64(c.Explained), "pair"))
	}
	return text
}
