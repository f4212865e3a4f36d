package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// kinds are the functions to which the thunks of a name jump, in the order of
// the enum in thunks.h: the PMPI function, its large-count variant, and the
// Fortran functions. For the latter the string is the suffix of the name in
// lower case.
var kinds = []string{"C", "C large", "", "_f08", "_f08ts", "_f08_large", "_f08ts_large", cPointer}

// cPointer is the suffix of functions that allocate memory. In this form, the
// address is a type(c_ptr); in the form without the suffix, it is an integer.
const cPointer = "_cptr"

// numSpellings is the maximum number of spellings of a Fortran name: see
// spellings.
const numSpellings = 4

// namesOfCall is the maximum number of names of a call: MT_NAMES_OF_A_CALL of
// thunks.h.
const namesOfCall = 2

// thunkName is one name of a call, with its thunks.
type thunkName struct {
	Name, Symbol string
	ID           uint16
	// Number is the index of the name in mt_thunk_names. It is computed from the
	// call's id, so that a new call does not change the numbers of others.
	Number  int
	Index   int // index of the PMPI function in mt_thunk_targets
	PMPI    string
	Fortran []thunk
	Large   *largeThunk
}

type thunk struct {
	Symbol string
	Index  int
}

// largeThunk is the thunk of the large-count PMPI function.
type largeThunk struct {
	Name, PMPI string
	thunk
}

// newThunkData returns the PMPI names and the names of the Fortran bindings:
// see fortran.h.
func newThunkData() (d struct{ Names []thunkName }, err error) {
	for i := range calls.Table {
		c := &calls.Table[i]
		if len(c.Names()) > namesOfCall {
			return d, fmt.Errorf("MPI_%s has %d names, and thunks number %d", c.Name, len(c.Names()), namesOfCall)
		}
		for k, name := range c.Names() {
			n := newThunkName(c, name, int(c.ID)*namesOfCall+k)
			if n.Index >= 1<<16 {
				return d, fmt.Errorf("MPI_%s: id %d makes a thunk's number that is wider than 16 bits", c.Name, c.ID)
			}
			d.Names = append(d.Names, n)
		}
	}
	return d, nil
}

func newThunkName(c *calls.Call, name string, number int) thunkName {
	index := func(kind, spelling int) int { return (number*len(kinds)+kind)*numSpellings + spelling }
	n := thunkName{Name: name, Symbol: calls.Symbol(name), ID: c.ID, Number: number, Index: index(0, 0), PMPI: "MT_THUNK_PMPI"}
	if slices.ContainsFunc(c.Params, func(p calls.Param) bool { return p.Type == "..." }) {
		n.PMPI = "MT_THUNK_PMPI_JUMPED" // has no ierror argument, which a Fortran layer would have to set: layers jump to it
	}
	for k := 2; k < len(kinds); k++ {
		if kinds[k] == cPointer && !hasCPointer(c) {
			continue
		}
		for s, symbol := range spellings(n.Symbol, kinds[k]) {
			n.Fortran = append(n.Fortran, thunk{symbol, index(k, s)})
		}
	}
	if c.Large() && name == c.Name {
		n.Large = &largeThunk{name + "_c", n.PMPI, thunk{n.Symbol + "_c", index(1, 0)}}
	}
	return n
}

func hasCPointer(c *calls.Call) bool {
	return slices.ContainsFunc(c.Params, func(p calls.Param) bool { return p.Name == "baseptr" })
}

// spellings returns the external names that compilers give to a Fortran
// procedure, in the order of the enum in thunks.h. Those of mpi_f08 have only
// one known spelling.
func spellings(name, kind string) []string {
	lower := strings.ToLower(name + kind)
	if strings.Contains(kind, "f08") {
		return []string{lower + "_"}
	}
	return []string{lower + "_", lower + "__", lower, strings.ToUpper(lower)}
}
