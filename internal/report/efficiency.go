package report

import (
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
)

// popText prints the parallel efficiency in one line, or a dash if it is not
// known.
func (s *summaryText) popText() {
	if s.POP == nil {
		s.printf("parallel efficiency: %s\n", s.none())
		return
	}
	of := ""
	if s.POP.Ranks < s.RanksExpected {
		of = fmt.Sprintf(", of %d of %d ranks", s.POP.Ranks, s.RanksExpected)
	}
	s.printf("parallel efficiency%s: %s = load balance %s %s communication efficiency %s\n", of,
		s.efficiency(s.POP), text.Percent(s.POP.LoadBalance), s.pick("×", "x"), text.Percent(s.POP.CommunicationEfficiency))
}

// lifetimesText says that shares of time are inexact for some ranks with several threads.
func (o *printer) lifetimesText(ranks int) {
	if ranks > 0 {
		o.printf("%s: the lifetimes of threads were not recorded; each thread counts as living for the whole run\n", text.CountOf(ranks, "rank"))
	}
}

// efficiency returns the parallel efficiency, with its standard error if it is an
// estimate. The error is rounded up, so that it is never printed as 0.
func (o *printer) efficiency(p *aggregate.POP) string {
	if p == nil {
		return o.none()
	}
	words := text.Percent(p.ParallelEfficiency)
	if p.ParallelEfficiencyError > 0 {
		words += fmt.Sprintf(" %s%.1f", o.pick("±", "+-"), math.Ceil(1000*p.ParallelEfficiencyError-1e-9)/10)
	}
	return words
}
