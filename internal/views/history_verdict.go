package views

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/text"
)

// mostVerdicts is how many sentences about scaling, and how many about versions, the verdict of a
// history has. The sections below have the others.
const mostVerdicts = 3

// verdict returns the section that says first how many ranks pay, and which version is slower.
func (p *past) verdict() Section {
	out := Section{ID: "verdict", Title: "Verdict"}
	out.sentences(p.scalingVerdicts(), "program")
	out.sentences(p.versionVerdicts(), "step")
	return out
}

// sentences adds at most mostVerdicts sentences, and how many others there are.
func (s *Section) sentences(list []string, noun string) {
	for _, words := range list[:min(len(list), mostVerdicts)] {
		s.Say(words)
	}
	if n := len(list) - mostVerdicts; n > 0 {
		s.Say(fmt.Sprintf("More below: %s.", text.CountOf(n, noun)))
	}
}

// scalingVerdicts returns a sentence for each program and arguments: about the newest version that
// ran on enough numbers of ranks.
func (p *past) scalingVerdicts() (out []string) {
	last := map[string]int{} // in out
	programs := map[string]bool{}
	for i := range p.Scaling {
		programs[command(p.Scaling[i].Program, p.Scaling[i].Arguments)] = true
	}
	for i := range p.Scaling { // versions are in the order of their first runs
		s := &p.Scaling[i]
		words, name := scalingVerdict(s), s.Program+" "+arguments(s.Arguments)
		if words == "" {
			continue
		}
		if len(programs) > 1 {
			words = command(s.Program, s.Arguments) + ": " + words
		}
		if at, known := last[name]; known {
			out[at] = words
			continue
		}
		last[name] = len(out)
		out = append(out, words)
	}
	return out
}

// scalingVerdict says how many ranks pay; nothing if that is not known.
func scalingVerdict(s *history.Scaling) string {
	words := ""
	first, last := &s.Points[0], &s.Points[len(s.Points)-1]
	switch {
	case s.Work == history.Constant && last.SpeedUp > 0:
		words = fmt.Sprintf("%s %s take %s the time of %d.", workWords(s), text.CountOf(last.Ranks, "rank"), timesOf(last.WallTimeS/first.WallTimeS), first.Ranks)
	case s.LastThatPays == nil:
		return ""
	case *s.LastThatPays == len(s.Points)-1:
		before := &s.Points[*s.LastThatPays-1]
		words = fmt.Sprintf("More ranks pay, up to %d: they are %s than %d ranks at %s the cost.", last.Ranks, gain(before, last), before.Ranks, cost(before, last))
	default:
		pays, next := &s.Points[*s.LastThatPays], &s.Points[*s.LastThatPays+1]
		are := "ranks are"
		if pays.Ranks == 1 {
			are = "rank is"
		}
		words = fmt.Sprintf("%d %s the last that %s: %d ranks are %s at %s the cost.", pays.Ranks, are, map[bool]string{true: "pays", false: "pay"}[pays.Ranks == 1],
			next.Ranks, gain(pays, next), cost(pays, next))
	}
	return words + sharedWords(s)
}

// gain returns how fast b is, compared with a.
func gain(a, b *history.Point) string { return speedWords(a.WallTimeS, b.WallTimeS, "as fast") }

// cost returns the core-seconds of b relative to those of a.
func cost(a, b *history.Point) string { return timesOf(b.CoreSeconds / a.CoreSeconds) }

// timesOf returns a ratio of any size.
func timesOf(ratio float64) string {
	if ratio < 0.995 {
		return fmt.Sprintf("%.2f times", ratio)
	}
	return timesWords(ratio) + " times"
}

// sharedWords names the numbers of ranks on which ranks shared cores.
func sharedWords(s *history.Scaling) string {
	var on []string
	for i := range s.Points {
		if q := &s.Points[i]; q.SharedCores > 0 {
			on = append(on, text.Count(q.Ranks))
		}
	}
	if len(on) == 0 {
		return ""
	}
	return fmt.Sprintf(" Ranks shared cores on %s %s: times are uncertain.", text.List(on), map[bool]string{true: "rank", false: "ranks"}[slices.Equal(on, []string{"1"})])
}

// versionVerdicts returns a sentence for each step to a version whose wall time changed, the newest
// first, or one if there is none.
func (p *past) versionVerdicts() (out []string) {
	steps, known, shared, changed := 0, true, "", ""
	for i := range p.Evolution {
		e := &p.Evolution[i]
		steps += len(e.Steps)
		for k := len(e.Steps) - 1; k >= 0; k-- {
			s := &e.Steps[k]
			known = known && s.SpreadKnown
			shared, changed = cmp.Or(shared, sharedInStep(s)), cmp.Or(changed, changedInStep(s))
			if c := s.WallTime(); c != nil {
				out = append(out, p.versionVerdict(e, s, c))
			}
		}
	}
	switch {
	case steps == 0 || len(out) > 0:
	case known:
		out = append(out, "No version's wall time differs by more than its spread."+changed+shared)
	default:
		out = append(out, fmt.Sprintf("No version's wall time differs by %.0f %% or more; a version ran only once, so smaller differences are not known.", 100*history.MinRelative)+changed+shared)
	}
	return out
}

func (p *past) versionVerdict(e *history.Evolution, s *history.Step, c *history.Change) string {
	words := fmt.Sprintf("Version %s is %s than %s on %s (%s → %s)", p.version(s.B.Version), speedWords(c.A.Median, c.B.Median, "as fast"), p.version(s.A.Version),
		text.CountOf(e.Ranks, "rank"), nsCell(c.A.Median).Text, nsCell(c.B.Median).Text)
	if len(p.Evolution) > 1 {
		words = command(e.Program, e.Arguments) + ": " + words
	}
	if s.SpreadKnown {
		words += ", which is more than the spread of repetitions."
	} else {
		words += ", but a version ran only once: this may be noise. Run each version three times."
	}
	return words + sharedInStep(s)
}

// changedInStep returns a sentence about the largest change of a step; nothing if there is none.
func changedInStep(s *history.Step) string {
	if len(s.Changes) == 0 {
		return ""
	}
	c, more := &s.Changes[0], ""
	words := ""
	switch {
	case c.Of == history.OfCallSite:
		words = fmt.Sprintf(" of MPI_%s at %s", c.Call, c.Name)
	case c.Of == history.OfCall:
		words = " of MPI_" + c.Name
	case c.Measure == history.Time:
		words = " " + c.Name
	}
	if n := len(s.Changes) - 1; n > 0 {
		more = fmt.Sprintf(", and %s below", text.CountOf(n, "other change"))
	}
	return fmt.Sprintf(" What changed: %s%s%s.", c.Measure, words, more)
}

// sharedInStep returns a sentence if ranks shared cores in a run of a step.
func sharedInStep(s *history.Step) string {
	if s.A.Oversubscribed+s.B.Oversubscribed == 0 {
		return ""
	}
	return " Ranks shared cores: times are uncertain."
}
