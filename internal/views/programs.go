package views

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/text"
)

// programs adds the table of the programs of a job that has several.
func (s *Section) programs(list aggregate.Programs) {
	if list.Several() {
		s.Add(programTable(list))
	}
}

// programTable returns the table of the programs of a job, each with its own efficiency.
func programTable(list aggregate.Programs) *Table {
	type R = aggregate.JobProgram
	share := func(key, head string, of func(*aggregate.POP) float64) column[R] {
		return col(key, head, Share, func(p *R) Cell {
			if p.POP == nil {
				return missing
			}
			return shareCell(of(p.POP))
		})
	}
	ns := func(key, head string, of func(*aggregate.POP) Cell) column[R] {
		return col(key, head, Ns, func(p *R) Cell {
			if p.POP == nil {
				return missing
			}
			return of(p.POP)
		})
	}
	return tableOf("programs", list,
		col("program", "program", Words, func(p *R) Cell { return wordsCell(p.Name) }),
		col("ranks", "ranks", Words, func(p *R) Cell { return wordsCell(rankNumbers(p)) }),
		col("efficiency", "efficiency", Share, func(p *R) Cell { return efficiencyCell(p.POP) }),
		share("load_balance", "load balance", func(p *aggregate.POP) float64 { return p.LoadBalance }),
		share("communication_efficiency", "communication", func(p *aggregate.POP) float64 { return p.CommunicationEfficiency }).
			help("communication efficiency: the longest time outside MPI of a rank of the program, as a share of the run time of the program"),
		ns("useful_mean_ns", "outside MPI", func(p *aggregate.POP) Cell { return nsCell(p.UsefulMeanNs) }).spare(2),
		ns("useful_max_ns", maxOfRank, func(p *aggregate.POP) Cell { return nsCell(p.UsefulMaxNs).ofRank(p.UsefulMaxRank) }).spare(1),
		col("build", "build", Words, func(p *R) Cell { return wordsCell(shortBuild(p.BuildID)) }).detail(),
		col("command", "command", Words, func(p *R) Cell { return wordsCell(arguments(p.Command)) }).detail(),
	).top(-1, "program", "")
}

// rankNumbers returns the ranks of a program: "3", or "0-2".
func rankNumbers(p *aggregate.JobProgram) string {
	words, _ := p.Ranks.MarshalText()
	return string(words)
}

// shortBuild returns the first digits of a build-id, or of several that are separated by +.
func shortBuild(id string) string {
	if id == "" {
		return "not known"
	}
	var parts []string
	for part := range strings.SplitSeq(id, "+") {
		parts = append(parts, part[:min(len(part), 8)])
	}
	return strings.Join(parts, "+")
}

// ranksCell returns the number of ranks of a job, or those of its programs: "3 + 1".
func ranksCell(ranks int, programs history.PastPrograms) Cell {
	c := rankCell(ranks)
	if len(programs) < 2 || len(programs) > mostCounts {
		return c
	}
	var parts []string
	for i := range programs {
		parts = append(parts, strconv.Itoa(programs[i].Ranks))
	}
	c.Text = strings.Join(parts, " + ")
	return c
}

// ranksText returns the number of ranks of a job, or those of its programs: "3 + 1 ranks".
func ranksText(ranks int, programs history.PastPrograms) string {
	if words := ranksCell(ranks, programs).Text; words != rankCell(ranks).Text {
		return words + " ranks"
	}
	return text.CountOf(ranks, "rank")
}

// mostCounts is the largest number of programs whose numbers of ranks a cell lists.
const mostCounts = 3

// changedPrograms says which programs of a job with several were built again.
func changedPrograms(s *history.Step, programs history.PastPrograms) string {
	if !programs.Several() {
		return ""
	}
	var parts []string
	for _, c := range s.Programs {
		parts = append(parts, fmt.Sprintf("%s (build %s to %s)", c.Program, shortBuild(c.A), shortBuild(c.B)))
	}
	if len(parts) == 0 {
		return "no program was built again"
	}
	return "built again: " + strings.Join(parts, ", ")
}
