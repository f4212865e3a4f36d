package text

import (
	"fmt"
	"strings"
)

// ProgramRanks is a program of a job with the number of its ranks.
type ProgramRanks struct {
	Program string `json:"program"`
	Ranks   int    `json:"ranks"`
}

// ProgramList is the programs of a job.
type ProgramList []ProgramRanks

// mostPrograms is the largest number of programs that a text names.
const mostPrograms = 3

// String names the programs: "ocean", or "ocean (3 ranks) and atmos (1 rank)" if there are several.
func (list ProgramList) String() string {
	if len(list) == 1 {
		return list[0].Program
	}
	return list.join(func(_ int, p ProgramRanks) string { return fmt.Sprintf("%s (%s)", p.Program, CountOf(p.Ranks, "rank")) })
}

// Names names the programs without their numbers of ranks: "ocean and atmos".
func (list ProgramList) Names() string {
	return list.join(func(_ int, p ProgramRanks) string { return p.Program })
}

// OnRanks says on how many ranks each program ran: "ocean on 3 ranks and atmos on 1".
func (list ProgramList) OnRanks() string {
	return list.join(func(i int, p ProgramRanks) string {
		if i > 0 {
			return fmt.Sprintf("%s on %s", p.Program, Count(p.Ranks))
		}
		return fmt.Sprintf("%s on %s", p.Program, CountOf(p.Ranks, "rank"))
	})
}

// join joins the texts of at most mostPrograms programs, and the number of the others.
func (list ProgramList) join(of func(int, ProgramRanks) string) string {
	var parts []string
	for i, p := range list[:min(len(list), mostPrograms)] {
		parts = append(parts, of(i, p))
	}
	if more := len(list) - len(parts); more > 0 {
		parts = append(parts, Count(more)+" more")
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}
