package views

import (
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// time returns the section of what each rank spends its time on, which a script draws from the
// page's columns of ranks.
func (s *report) time() Section {
	out := Section{ID: "time", Title: "Time"}
	if len(s.Ranks) == 0 {
		return out
	}
	out.Draw("times")
	s.distribution(&out)
	ranks := &Drawing{Name: "ranks", Title: "ranks", Columns: s.rankColumns()}
	if s.Block > 1 {
		ranks.Title = fmt.Sprintf("means of blocks of %d ranks", s.Block)
	}
	out.Blocks = append(out.Blocks, Block{Drawing: ranks, Detail: true})
	return out
}

// rankColumns describes the columns of the table of ranks. The key of a column leads to its
// values in the page's columns: "activity_ns.2" is the third of activity_ns.
func (s *report) rankColumns() (columns []Column) {
	add := func(shown bool, c Column) {
		if shown {
			columns = append(columns, c)
		}
	}
	head := "rank"
	if s.Block > 1 {
		head = "first rank"
	}
	ended := func(r aggregate.RankTimes) bool { return r.State == profile.Finalized.String() }
	timed := s.Timed()
	add(true, Column{Key: "rank", Head: head, Unit: Rank})
	add(len(s.Hosts) > 1, Column{Key: "host", Head: "host"})
	add(!all(s.Ranks, ended), Column{Key: "state", Head: "end"})
	add(true, Column{Key: "application_ns", Head: "application", Unit: Ns, Help: "from the end of MPI_Init to the start of MPI_Finalize"})
	add(timed, Column{Key: "useful_ns", Head: "computing", Unit: Ns, Help: "outside MPI"})
	add(timed, Column{Key: "mpi_ns", Head: "in MPI", Unit: Ns})
	for a := profile.Outside + 1; a < profile.NumActivities; a++ {
		used := slices.ContainsFunc(s.Ranks, func(r aggregate.RankTimes) bool { return r.Activities[a] > 0 })
		add(used, Column{Key: fmt.Sprintf("activity_ns.%d", a), Head: profile.Activity(a).String(), Unit: Ns})
	}
	if s.Traced != nil {
		for _, p := range s.Traced.Patterns {
			add(true, Column{Key: "waits." + p.Pattern.String(), Head: p.Pattern.String(), Unit: Ns, Help: waitsFor(p.Pattern)})
		}
	}
	return columns
}

// all reports whether a predicate is true of all elements.
func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !is(v) })
}
