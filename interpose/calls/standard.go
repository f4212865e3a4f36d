package calls

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed standard.txt
var standardText string

// Procedure is an MPI procedure that a program may call, recorded or not.
type Procedure struct {
	Name    string   // named as in Table
	From    string   // first version of the Standard that has it, or another origin (see standard.txt)
	Handles []string // kinds of handles among its arguments: comm, win, file, request
}

// Standard holds all procedures of MPI, and extensions of MPIs. Tests compare
// the other tables with it.
var Standard = parseStandard(standardText)

func parseStandard(text string) []Procedure {
	var all []Procedure
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 3 {
			panic(fmt.Sprintf("standard.txt:%d: %d fields, want 3", n+1, len(f))) // impossible: the table is embedded
		}
		p := Procedure{Name: f[0], From: f[1]}
		if f[2] != "-" {
			p.Handles = strings.Fields(f[2])
		}
		all = append(all, p)
	}
	return all
}
