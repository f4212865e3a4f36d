package calls

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed standard.txt
var standardText string

// Procedure is one that a program can meet, recorded or not.
type Procedure struct {
	Name    string   // as in Table
	From    string   // the version of the Standard that has it first, or who has it
	Handles []string // which of comm, win, file and request it takes
}

// Standard lists all procedures of MPI, and what MPIs have beside them. It is
// what the other tables are held against.
var Standard = parseStandard(standardText)

func parseStandard(text string) []Procedure {
	var all []Procedure
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 3 {
			panic(fmt.Sprintf("standard.txt:%d: %d fields, want 3", n+1, len(f))) // it is part of the program
		}
		p := Procedure{Name: f[0], From: f[1]}
		if f[2] != "-" {
			p.Handles = strings.Fields(f[2])
		}
		all = append(all, p)
	}
	return all
}
