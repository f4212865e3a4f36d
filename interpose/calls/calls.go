// Package calls is the table of the MPI calls that mpitrace knows: what each
// is called in a recording, what it counts as, and how its wrapper is made.
package calls

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

//go:embed calls.txt
var text string

// Call is one row of the table.
type Call struct {
	ID     uint16
	Name   string   // without MPI_, or with MPIX_ where the Standard has no such call
	Others []string // names that some MPI has for the same call, as MPIX_Barrier_init
	Class  string   // profile.Class
	Spread string   // nobody, peer, others, higher, vector, edges, edge-vector
	Leave  string   // the policy that books the call, as C, or "hand"
	Params []Param
}

// Param is one C parameter.
type Param struct {
	Type   string // with COUNT, DISP and SIZE not yet replaced
	Name   string
	Suffix string // "[]" for arrays
}

// Hand tells that the wrapper is written by hand.
func (c Call) Hand() bool { return c.Leave == "hand" }

// Large tells that the function has a large-count twin, `_c`.
func (c Call) Large() bool {
	for _, p := range c.Params {
		for _, wide := range []string{"COUNT", "DISP", "SIZE"} {
			if strings.Contains(p.Type, wide) {
				return true
			}
		}
	}
	return false
}

// Names are all names of the call, the Standard's first.
func (c Call) Names() []string { return append([]string{c.Name}, c.Others...) }

// Symbol is a name of the tables as programs link it: MPI_Send, MPIX_Comm_agree.
func Symbol(name string) string {
	if strings.HasPrefix(name, "MPIX_") {
		return name
	}
	return "MPI_" + name
}

// Table holds all calls, sorted by ID.
var Table = mustParse(text)

var byID = func() map[uint16]*Call {
	m := make(map[uint16]*Call, len(Table))
	for i := range Table {
		m[Table[i].ID] = &Table[i]
	}
	return m
}()

// ByID finds a call, or nil for an id that this version does not know.
func ByID(id uint16) *Call { return byID[id] }

func mustParse(text string) []Call {
	table, err := Parse(text)
	if err != nil {
		panic(err) // the table is part of the program
	}
	return table
}

// Parse reads the table; errors name the line.
func Parse(text string) ([]Call, error) {
	var table []Call
	names := map[string]bool{}
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("calls.txt:%d: %w", n+1, err)
		}
		if len(table) > 0 && c.ID <= table[len(table)-1].ID {
			return nil, fmt.Errorf("calls.txt:%d: id %d is not above the one before", n+1, c.ID)
		}
		for _, name := range c.Names() {
			if names[name] {
				return nil, fmt.Errorf("calls.txt:%d: %s stands twice", n+1, name)
			}
			names[name] = true
		}
		table = append(table, c)
	}
	return table, nil
}

func parseRow(line string) (Call, error) {
	f := strings.Split(line, "|")
	if len(f) != 6 {
		return Call{}, fmt.Errorf("%d fields, want 6", len(f))
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	id, err := strconv.ParseUint(f[0], 10, 16)
	if err != nil || id == 0 {
		return Call{}, fmt.Errorf("id %q is not a number above 0", f[0])
	}
	names := strings.Fields(f[1])
	if len(names) == 0 {
		return Call{}, errors.New("no name")
	}
	c := Call{ID: uint16(id), Name: names[0], Others: names[1:], Class: f[2], Spread: f[3], Leave: f[4]}
	c.Params, err = parseParams(f[5])
	return c, err
}

func parseParams(text string) ([]Param, error) {
	if text == "void" {
		return nil, nil
	}
	var params []Param
	for _, p := range strings.Split(text, ",") {
		p = strings.TrimSpace(p)
		if p == "..." {
			params = append(params, Param{Type: "..."})
			continue
		}
		cut := strings.LastIndexAny(p, " *")
		if cut < 0 {
			return nil, fmt.Errorf("parameter %q has no type", p)
		}
		name, suffix, array := strings.Cut(p[cut+1:], "[")
		if array {
			suffix = "[" + suffix
		}
		params = append(params, Param{Type: strings.TrimSpace(p[:cut+1]), Name: name, Suffix: suffix})
	}
	return params, nil
}
