// Package calls is the table of the MPI calls that mpitrace knows: what each
// is called in a recording, what it counts as, what it does, and how its wrapper
// is made.
package calls

import (
	_ "embed"
	"slices"
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
	Traits uint64   // bits in the order of Declared.Traits, which is that of profile.Traits
	Leave  string   // the policy that books the call, as C, or "hand"
	Params []Param

	// Of a wrapper that is generated:
	Policy    string   // mt_leave_x without its prefix
	Arguments []string // of mt_leave_x, after the span and the result
	InFlight  InFlight // what the policy writes about the call before it is passed on
}

// Trait is a property of calls that code asks for.
type Trait struct{ Name, Doc string }

// InFlight is what is written about a call before it is passed on.
type InFlight struct {
	Function  string // mt_current_call_x without its prefix; empty if only the call's name is known
	Arguments []string
}

// Param is one C parameter.
type Param struct {
	Type   string // with COUNT, DISP and SIZE not yet replaced
	Name   string
	Suffix string // "[]" for arrays
}

// Hand reports whether the wrapper is written by hand.
func (c *Call) Hand() bool { return c.Leave == "hand" }

// Has reports whether the call has the trait of this name, which must be declared.
func (c *Call) Has(trait string) bool {
	bit, ok := declared.bit(trait)
	if !ok {
		panic("calls.txt declares no trait " + trait)
	}
	return c.Traits&bit != 0
}

// Large reports whether the function has a large-count twin, `_c`.
func (c *Call) Large() bool {
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
func (c *Call) Names() []string { return append([]string{c.Name}, c.Others...) }

// Symbol is a name of the tables as programs link it: MPI_Send, MPIX_Comm_agree.
func Symbol(name string) string {
	if strings.HasPrefix(name, "MPIX_") {
		return name
	}
	return "MPI_" + name
}

var declared = mustParse(text)

// Table holds all calls, sorted by ID.
var Table = declared.Calls

// Traits are all traits: the first is bit 0 of Call.Traits.
var Traits = declared.Traits

var byID = func() map[uint16]*Call {
	m := make(map[uint16]*Call, len(Table))
	for i := range Table {
		m[Table[i].ID] = &Table[i]
	}
	return m
}()

// ByID finds a call, or nil for an id that this version does not know.
func ByID(id uint16) *Call { return byID[id] }

func mustParse(text string) *File {
	f, err := Parse(text)
	if err != nil {
		panic(err) // the table is part of the program
	}
	return f
}

func (f *File) bit(trait string) (uint64, bool) {
	i := slices.IndexFunc(f.Traits, func(t Trait) bool { return t.Name == trait })
	return 1 << max(i, 0), i >= 0
}
