package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// BuildID returns the build-id of the executable, empty if it is not known.
func (p *Profile) BuildID() string {
	if p.Program == "" {
		return ""
	}
	for _, same := range []func(path string) bool{
		func(path string) bool { return path == p.Program },
		func(path string) bool { return filepath.Base(path) == filepath.Base(p.Program) },
	} {
		if i := slices.IndexFunc(p.Modules, func(m Module) bool { return m.BuildID != "" && same(m.Path) }); i >= 0 {
			return p.Modules[i].BuildID
		}
	}
	return ""
}

// ProgramRanks is a program of a job with the number of its ranks.
type ProgramRanks struct {
	Program string `json:"program"`
	Ranks   int    `json:"ranks"`
}

// mostPrograms is the largest number of programs that a text names.
const mostPrograms = 3

// ProgramsText names the programs of a job: "ocean", or "ocean (3 ranks) and atmos (1 rank)" if there
// are several.
func ProgramsText(list []ProgramRanks) string {
	if len(list) == 1 {
		return list[0].Program
	}
	return joinPrograms(list, func(_ int, p ProgramRanks) string { return fmt.Sprintf("%s (%s)", p.Program, ranksText(p.Ranks)) })
}

// ProgramNames does what ProgramsText does, without numbers of ranks: "ocean and atmos".
func ProgramNames(list []ProgramRanks) string {
	return joinPrograms(list, func(_ int, p ProgramRanks) string { return p.Program })
}

// ProgramsOnRanks says on how many ranks each program ran: "ocean on 3 ranks and atmos on 1".
func ProgramsOnRanks(list []ProgramRanks) string {
	return joinPrograms(list, func(i int, p ProgramRanks) string {
		if i > 0 {
			return fmt.Sprintf("%s on %d", p.Program, p.Ranks)
		}
		return fmt.Sprintf("%s on %s", p.Program, ranksText(p.Ranks))
	})
}

func ranksText(n int) string {
	if n == 1 {
		return "1 rank"
	}
	return fmt.Sprintf("%d ranks", n)
}

// joinPrograms joins the texts of at most mostPrograms programs, and the number of the others.
func joinPrograms(list []ProgramRanks, text func(int, ProgramRanks) string) string {
	var parts []string
	for i, p := range list[:min(len(list), mostPrograms)] {
		parts = append(parts, text(i, p))
	}
	if more := len(list) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}
