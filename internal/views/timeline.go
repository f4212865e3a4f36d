package views

import (
	"fmt"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Excerpt says how many of all are shown.
type Excerpt struct{ Shown, All int }

// Timeline returns the section of the timeline of a traced job. complete is whether the page
// has all events. missing says what the traces lack.
func Timeline(events uint64, complete bool, waits, messages Excerpt, missing []string) Section {
	out := Section{ID: "timeline", Title: "Timeline"}
	if !complete {
		out.Say(fmt.Sprintf("the run has %s, too many for this page: it shows how time is divided, %s and %s", text.CountOf(events, "event"),
			waits.text("the %s longest waits of %s", "all waits"), messages.text("the %s longest of the largest messages of %s", "all messages")))
	}
	for _, line := range missing {
		out.Toned(Bad, line)
	}
	out.Draw("timeline")
	return Finish(out)[0]
}

func (p Excerpt) text(some, all string) string {
	if p.Shown == p.All {
		return all
	}
	return fmt.Sprintf(some, text.Count(p.Shown), text.Count(p.All))
}
