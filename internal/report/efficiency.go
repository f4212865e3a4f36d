package report

import (
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
)

// popText is one line, also where nothing is known.
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

// efficiency is the parallel one, with its standard error if it has one: rounded
// up, since 0 would be none.
func (o *output) efficiency(p *aggregate.POP) string {
	if p == nil {
		return o.none()
	}
	words := text.Percent(p.ParallelEfficiency)
	if p.ParallelEfficiencyError > 0 {
		words += fmt.Sprintf(" %s%.1f", o.pick("±", "+-"), math.Ceil(1000*p.ParallelEfficiencyError-1e-9)/10)
	}
	return words
}
