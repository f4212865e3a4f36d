package views

import (
	"fmt"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// late returns the section of receives that were posted late.
func (s *report) late() Section {
	out := Section{ID: "unexpected", Title: "Unexpected messages"}
	if len(s.LateReceives) == 0 || s.Top == 0 {
		return out
	}
	type R = aggregate.LateReceives
	out.Add(nameRows(tableOf("late_receives", s.LateReceives,
		col("callsite", "call site", Words, func(l *R) Cell { return wordsCell(l.Name()) }),
		col("call", "call", Words, func(l *R) Cell { return wordsCell(l.Call) }),
		col("communicator", "communicator", Words, communicatorCell).spare(3),
		col("late", "late", Count, func(l *R) Cell { return countCell(l.Late) }),
		col("share", "% of receives", Share, func(l *R) Cell {
			if l.Share == nil {
				return missing
			}
			return shareCell(*l.Share)
		}).spare(2),
		col("queue", "mean queue", Number, func(l *R) Cell { return Cell{text.ThreeDigits(l.Queue), l.Queue} }).spare(1),
		col("ranks", "ranks", Count, func(l *R) Cell { return countCell(l.Ranks) }).detail(),
		col("most", "most", OfColumn, mostLate).help("the pair of ranks with the most, and how many if there are other pairs"),
	).named("late receives").top(s.Top, "place", topAll), s.LateReceives,
		func(l *R) (*aggregate.NamedPlace, []aggregate.NamedPlace) { return &l.NamedPlace, l.Callers }))
	out.Say(fmt.Sprintf("late: posted while more than %s waited to be received", s.lateOver()))
	return out
}

// lateOver returns how many messages may wait before a receive counts as late.
func (s *report) lateOver() string {
	switch s.LateOver {
	case "", aggregate.Mixed:
		return "--watch-unexpected messages"
	case "1":
		return "1 message"
	}
	return s.LateOver + " messages"
}

func communicatorCell(l *aggregate.LateReceives) Cell {
	switch {
	case l.Others:
		return wordsCell("others")
	case l.Communicator == "":
		return missing
	}
	return wordsCell(l.Communicator)
}

// mostLate returns the pair of ranks with the most late receives. If there are other pairs, it
// adds the pair's number of late receives.
func mostLate(l *aggregate.LateReceives) Cell {
	pair := l.Most[0]
	c := Cell{fmt.Sprintf("%s → %d", sourceName(pair.From), pair.To), pair.Late}
	if l.Pairs > 1 {
		return c.with(" (%s)", text.Count(pair.Late))
	}
	return c
}

func sourceName(from int) string {
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
