package history

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
)

// PastProgram is a program of a run with one list of arguments. The PastPrograms of a run and its MPI
// library are its identity: runs with the same identity are repetitions of each other.
type PastProgram struct {
	Program   string   `json:"program"`   // file name
	BuildID   string   `json:"version"`   // build-id of the executable; empty if not known
	Arguments []string `json:"arguments"` // without the name of the program
	Ranks     int      `json:"ranks"`
}

// PastPrograms are the programs of a run, sorted by their names and arguments, because the order on
// the launcher's command line does not matter.
type PastPrograms []PastProgram

func pastPrograms(list aggregate.Programs) (out PastPrograms) {
	for i := range list {
		p := &list[i]
		commands := p.Commands
		if len(commands) == 0 {
			commands = []aggregate.CommandRanks{{Command: p.Command, Ranks: p.Ranks.Len()}}
		}
		for _, c := range commands {
			name := p.Name
			if p.Path != "" {
				name = filepath.Base(p.Path)
			}
			out = append(out, PastProgram{name, p.BuildID, append([]string{}, c.Command[min(1, len(c.Command)):]...), c.Ranks})
		}
	}
	slices.SortStableFunc(out, func(a, b PastProgram) int {
		if order := strings.Compare(a.Program, b.Program); order != 0 {
			return order
		}
		return slices.Compare(a.Arguments, b.Arguments)
	})
	return out
}

// Several reports whether there are several programs or lists of arguments.
func (p PastPrograms) Several() bool { return len(p) > 1 }

// names names the programs: "atmos and ocean".
func (p PastPrograms) names() string {
	var list text.ProgramList
	for i := range p {
		if i == 0 || p[i].Program != p[i-1].Program {
			list = append(list, text.ProgramRanks{Program: p[i].Program})
		}
	}
	return list.Names()
}

// arguments returns the arguments of all programs, separated by colons as on a launcher's command
// line; empty if there are none.
func (p PastPrograms) arguments() []string {
	out, any := []string{}, false
	for i := range p {
		if i > 0 {
			out = append(out, ":")
		}
		out = append(out, p[i].Arguments...)
		any = any || len(p[i].Arguments) > 0
	}
	if !any {
		return []string{}
	}
	return out
}

// builds returns the build-ids of the programs, separated by +; empty if none is known.
func (p PastPrograms) builds() string {
	var list []string
	for i := range p {
		if i == 0 || p[i].Program != p[i-1].Program || p[i].BuildID != p[i-1].BuildID {
			list = append(list, p[i].BuildID)
		}
	}
	if !slices.ContainsFunc(list, func(id string) bool { return id != "" }) {
		return ""
	}
	return strings.Join(list, "+")
}

// commands returns a text that is equal for equal programs and arguments.
func (p PastPrograms) commands() string {
	var b strings.Builder
	for i := range p {
		fmt.Fprintf(&b, "%q %q\n", p[i].Program, p[i].Arguments)
	}
	return b.String()
}

// ranks returns a text of the numbers of ranks, each divided by a number.
func (p PastPrograms) ranks(divisor int) string {
	var b strings.Builder
	for i := range p {
		fmt.Fprintf(&b, "%d ", p[i].Ranks/divisor)
	}
	return b.String()
}

// unit returns the largest number that divides all numbers of ranks, at least 1.
func (p PastPrograms) unit() int {
	unit := 0
	for i := range p {
		for a := p[i].Ranks; a != 0; {
			unit, a = a, unit%a
		}
	}
	return max(unit, 1)
}

// ProgramChange is a program of which two versions of a job have different builds.
type ProgramChange struct {
	Program string `json:"program"`
	A       string `json:"a"` // build-id; empty if not known
	B       string `json:"b"`
}

// changedPrograms returns which programs of a job with several were built again from A to B.
func changedPrograms(a, b PastPrograms) []ProgramChange {
	out := []ProgramChange{}
	if !a.Several() || len(a) != len(b) {
		return out
	}
	for i := range a {
		c := ProgramChange{a[i].Program, a[i].BuildID, b[i].BuildID}
		if c.A != c.B && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
