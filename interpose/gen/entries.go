package main

import (
	"slices"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// newEntryData returns the symbols that the dispatcher defines: of the functions
// that every MPI has, those that the library defines; and the functions of
// mpitrace.h.
func newEntryData() ([]string, error) {
	symbols := []string{"mpitrace_begin_phase", "mpitrace_change_setting"}
	everywhere := calls.Everywhere()
	for _, f := range calls.Library {
		if slices.Contains(everywhere, f.Name) {
			symbols = append(symbols, calls.Symbol(f.Name))
		}
	}
	thunks, err := newThunkData()
	for _, n := range thunks.Names {
		if !slices.Contains(everywhere, n.Name) {
			continue
		}
		symbols = append(symbols, n.Symbol, "P"+n.Symbol)
		for _, f := range n.Fortran {
			symbols = append(symbols, f.Symbol)
		}
	}
	return symbols, err
}
