package aggregate

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/profile"
)

// lateText writes the table of late receives, of as many sites as that of call
// sites has. It has nothing to tell where none was late.
func (s *Summary) lateText(w io.Writer, o TextOptions) {
	if len(s.LateReceives) == 0 || o.Sites == 0 {
		return
	}
	list := s.LateReceives
	if o.Sites > 0 {
		list = list[:min(len(list), o.Sites)]
	}
	t := table{{"", "call", "communicator", "late", "% of receives", "mean queue", "most"}}
	for i := range list {
		l := &list[i]
		share := o.none()
		if l.Share != nil {
			share = percent(*l.Share)
		}
		t = append(t, []string{"", o.clean(l.Call), l.communicatorText(o), count(l.Late), share, threeDigits(l.Queue), l.mostText(o)})
	}
	t, left := o.fit(t, widest(list, func(l *LateReceives) string { return l.label }), "mean queue", "% of receives", "communicator")
	for i := range list {
		t[i+1][0] = o.shorten(o.clean(list[i].label), left)
	}
	t[0][0] = "late receives"
	lines := t.lines()
	fmt.Fprintf(w, "\n%s\n", lines[0])
	for i := range list {
		fmt.Fprintln(w, lines[i+1])
		o.callersText(w, " ", list[i].Callers)
	}
	if more := len(s.LateReceives) - len(list); more > 0 {
		fmt.Fprintf(w, "and %s (mpitrace report --top all)\n", CountOf(uint64(more), "more place"))
	}
	fmt.Fprintf(w, "late: posted while more than %s waited to be received\n", s.lateOverText(o))
}

// lateOverText is how many messages may wait.
func (s *Summary) lateOverText(o TextOptions) string {
	switch s.LateOver {
	case "", mixed:
		return "--watch-unexpected messages"
	case "1":
		return "1 message"
	}
	return o.clean(s.LateOver) + " messages"
}

func (l *LateReceives) communicatorText(o TextOptions) string {
	switch {
	case l.Others:
		return "others"
	case l.Communicator == "":
		return o.none()
	}
	return o.clean(l.Communicator)
}

// mostText is the pair with the most late receives, with their number if there
// are other pairs.
func (l *LateReceives) mostText(o TextOptions) string {
	pair := l.Most[0]
	text := fmt.Sprintf("%s %s %d", sourceText(pair.From), o.pick("→", "->"), pair.To)
	if l.Pairs > 1 {
		text += fmt.Sprintf(" (%s)", count(pair.Late))
	}
	return text
}

func sourceText(from int) string {
	switch {
	case from >= 0:
		return fmt.Sprint(from)
	case from == profile.PeerAnySource:
		return "any"
	case from == profile.PeerElsewhere:
		return "another world"
	}
	return "unknown"
}
