package views

import (
	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/text"
)

// judged returns the verdict and the findings of the job.
func (s *report) judged() *findings.Report {
	if s.judgement == nil {
		r := findings.ReportOf(s.Summary, s.Traced)
		s.judgement = &r
	}
	return s.judgement
}

// verdict returns the section that comes first: one or two sentences and, for the page, what the time
// of all ranks was spent on.
func (s *report) verdict() Section {
	out := Section{ID: "verdict", Title: "Verdict"}
	out.Say(s.judged().Verdict)
	out.Detail(func() { out.treeBar(s.Tree) })
	return out
}

// treeBar adds the bar of the parts of a tree, which may be nil.
func (s *Section) treeBar(t *aggregate.TimeTree) {
	if t == nil {
		return
	}
	bar := &Bar{}
	for _, p := range []struct {
		part  aggregate.TimePart
		name  string
		color string
	}{
		{aggregate.Computing, "computing", "--compute"}, {aggregate.Waiting, waitingName(t), "--imbalance"}, {aggregate.MovingData, movingName(t), "--mpi"},
		{aggregate.FileIO, "MPI-IO", "--files"}, {aggregate.SetUp, "set-up", "--set-up"}, {aggregate.EndedEarly, "ended early or began later", "--idle"},
		{aggregate.WithoutCore, "no core (estimated)", "--no-core"},
	} {
		if t.Parts[p.part] > 0 || p.part == aggregate.Computing {
			share := t.Share(p.part)
			bar.Parts = append(bar.Parts, BarPart{Name: p.name, Share: share, Text: text.Percent(share), Color: p.color, Hatched: p.part == aggregate.WithoutCore})
		}
	}
	s.Blocks = append(s.Blocks, Block{Bar: bar})
}

func waitingName(t *aggregate.TimeTree) string {
	if t.Traced {
		return "waiting"
	}
	return "waiting in collectives (about)"
}

func movingName(t *aggregate.TimeTree) string {
	if t.Traced {
		return "moving data"
	}
	return "other time in MPI"
}

// noCore returns the share of the time without a core, as far as it is known.
func noCore(t *aggregate.TimeTree) string {
	switch t.NoCoreKnown {
	case aggregate.NoCoreUnknown:
		return unknown
	case aggregate.NoCoreAtLeast:
		return "at least " + text.Percent(t.NoCore)
	}
	return text.Percent(t.NoCore)
}
