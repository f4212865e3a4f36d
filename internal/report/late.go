package report

import (
	"fmt"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// lateText prints the table of late receives, if any receive was late.
func (s *summaryText) lateText() {
	if len(s.LateReceives) == 0 || s.Top == 0 {
		return
	}
	list, more := top(s.LateReceives, s.Top)
	t := text.NewTable("late receives", "call", "communicator", "late", "% of receives", "mean queue", "most")
	for i := range list {
		l := &list[i]
		share := s.none()
		if l.Share != nil {
			share = text.Percent(*l.Share)
		}
		t.Add(s.clean(l.Label), s.clean(l.Call), s.communicatorText(l), text.Count(l.Late), share, text.ThreeDigits(l.Queue), s.mostText(l))
		t.Below(s.callers(" ", l.Callers)...)
	}
	s.fit(t, "mean queue", "% of receives", "communicator")
	s.table(t, more, "place", topAll)
	s.printf("late: posted while more than %s waited to be received\n", s.lateOverText())
}

// lateOverText returns how many messages may wait before a receive counts as late.
func (s *summaryText) lateOverText() string {
	switch s.LateOver {
	case "", aggregate.Mixed:
		return "--watch-unexpected messages"
	case "1":
		return "1 message"
	}
	return s.clean(s.LateOver) + " messages"
}

func (o *printer) communicatorText(l *aggregate.LateReceives) string {
	switch {
	case l.Others:
		return "others"
	case l.Communicator == "":
		return o.none()
	}
	return o.clean(l.Communicator)
}

// mostText returns the pair of ranks with the most late receives. If there are
// other pairs, it adds the pair's number of late receives.
func (o *printer) mostText(l *aggregate.LateReceives) string {
	pair := l.Most[0]
	words := fmt.Sprintf("%s %s %d", sourceText(pair.From), o.pick("→", "->"), pair.To)
	if l.Pairs > 1 {
		words += fmt.Sprintf(" (%s)", text.Count(pair.Late))
	}
	return words
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
