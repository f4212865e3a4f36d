// Package calls is the table of the MPI calls that mpitrace records. For each
// call it has the name in recordings, the class, the properties (traits), and
// the policy of its wrapper. It is for the generator and for tests; the rest of
// the program has what it needs in package profile, generated from this table.
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
	Name   string   // without MPI_, or with MPIX_ if the call is not in the Standard
	Others []string // other names of the same call in some MPIs, such as MPIX_Barrier_init
	Class  string   // profile.Class
	Spread string   // nobody, peer, others, higher, vector, edges, edge-vector
	Traits uint64   // bit i is the trait with index i in Traits, as in profile.Traits
	policy string   // the policy that records the call, as C, or "hand" if written by hand
	Params []Param

	// For generated wrappers:
	Policy string // name of the policy
	Begin  Step   // before the call is passed on; no function if only its name is known then
	End    Step   // when it has returned
}

// Trait is a property of MPI calls.
type Trait struct{ Name, Doc string }

// Step is a function of the library that a wrapper calls before or after it calls
// the MPI. The first arguments, which all these have in common, are left out.
type Step struct {
	Function  string // without the prefix mt_
	Arguments []string
}

// Param is a parameter of a C function.
type Param struct {
	Type   string // may contain the placeholders COUNT, DISP and SIZE
	Name   string
	Suffix string // "[]" for arrays
}

// Hand reports whether the wrapper is written by hand.
func (c *Call) Hand() bool { return c.policy == "hand" }

// Has reports whether the call has the trait of this name. It panics if the
// trait is not declared.
func (c *Call) Has(trait string) bool {
	bit, ok := declared.bit(trait)
	if !ok {
		panic("calls.txt declares no trait " + trait)
	}
	return c.Traits&bit != 0
}

// Large reports whether the function has a large-count variant, `_c`.
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

// Names returns all names of the call, the Standard's first.
func (c *Call) Names() []string { return append([]string{c.Name}, c.Others...) }

// Symbol returns the linker symbol of a name in the tables, such as MPI_Send or
// MPIX_Comm_agree.
func Symbol(name string) string {
	if strings.HasPrefix(name, "MPIX_") {
		return name
	}
	return "MPI_" + name
}

var declared = mustParse(text)

// Table holds all calls, sorted by ID.
var Table = declared.Calls

// Traits holds all traits. Trait i is bit i of Call.Traits.
var Traits = declared.Traits

func mustParse(text string) *File {
	f, err := Parse(text)
	if err != nil {
		panic(err) // impossible: the table is embedded
	}
	return f
}

func (f *File) bit(trait string) (uint64, bool) {
	i := slices.IndexFunc(f.Traits, func(t Trait) bool { return t.Name == trait })
	return 1 << max(i, 0), i >= 0
}
