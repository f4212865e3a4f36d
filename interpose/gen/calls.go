package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// callData is the data for the templates made from the table of calls.
type callData struct {
	Calls     []call
	End       int // larger than all ids
	Classes   []string
	Spreads   []string
	Traits    []trait
	Functions []function
	Needed    []calls.Needed
}

type call struct{ *calls.Call }

// CallID returns the name of the C constant for the call's id.
func (c call) CallID() string { return "MT_CALL_" + strings.ToUpper(c.Name) }

// trait is a trait with its names in C and Go, and the calls that have it.
type trait struct {
	Doc, C, Go string
	Calls      []call
}

// function is a symbol to wrap: a call under one of its names, or its
// large-count variant.
type function struct {
	call
	Name  string // as in the tables, for example Send_c
	large bool
}

// classes and spreads are the permitted values of Call.Class and Call.Spread:
// the names of profile.Class and profile.Spread.
var (
	classes = []string{"other", "p2p", "O2A", "A2O", "A2A", "one-sided", "sync", "io"}
	spreads = []string{"nobody", "peer", "others", "higher", "vector", "edges", "edge-vector"}
)

func newCallData() (callData, error) {
	d := callData{Classes: classes, Spreads: spreads, Functions: functions(), Needed: calls.Library}
	for i := range calls.Table {
		c := &calls.Table[i]
		if !slices.Contains(classes, c.Class) || !slices.Contains(spreads, c.Spread) {
			return d, fmt.Errorf("MPI_%s: class %q or spread %q is not known", c.Name, c.Class, c.Spread)
		}
		d.Calls = append(d.Calls, call{c})
		d.End = int(c.ID) + 1
	}
	for _, t := range calls.Traits {
		d.Traits = append(d.Traits, trait{t.Doc, strings.ReplaceAll(t.Name, "-", "_"), camel(t.Name), d.With(t.Name)})
	}
	return d, nil
}

// With returns the calls that have at least one of the traits.
func (d callData) With(traits ...string) []call {
	var out []call
	for _, c := range d.Calls {
		if slices.ContainsFunc(traits, c.Has) {
			out = append(out, c)
		}
	}
	return out
}

// camel converts makes-comm to MakesComm.
func camel(name string) string {
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func functions() []function {
	var out []function
	for i := range calls.Table {
		c := call{&calls.Table[i]}
		for _, name := range c.Names() {
			out = append(out, function{call: c, Name: name})
		}
		if c.Large() {
			out = append(out, function{call: c, Name: c.Name + "_c", large: true})
		}
	}
	return out
}

// Symbol returns the linker symbol.
func (f function) Symbol() string { return calls.Symbol(f.Name) }

// Quick reports whether the policy, or the function that is written by hand, is
// inlined into the wrapper. It is not for
// large-count variants, since they are rare.
func (f function) Quick() bool { return f.Has("quick") && f.Name == f.call.Name }

// onPath is a function on one of the paths of call.h.
type onPath struct {
	function
	Path string
}

// On returns the function on a path, such as MT_TIMED.
func (f function) On(path string) onPath { return onPath{f, path} }

// ReadsStatus reports whether the policy reads the status, for which the program
// may have passed MPI_STATUS_IGNORE.
func (f function) ReadsStatus() bool { return slices.Contains(f.End.Arguments, "seen") }

// parameters returns the parameters of the function: some belong to the large-count
// variant only.
func (f function) parameters() []calls.Param {
	return slices.DeleteFunc(slices.Clone(f.Params), func(p calls.Param) bool {
		return !f.large && strings.HasPrefix(p.Type, largeOnly)
	})
}

// Passed returns the arguments for the MPI's function.
func (f function) Passed() string {
	var out []string
	for _, p := range f.parameters() {
		if p.Name == "status" && f.ReadsStatus() {
			p.Name = "seen"
		}
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// ParameterNames returns the names of the wrapper's parameters.
func (f function) ParameterNames() []string {
	var out []string
	for _, p := range f.parameters() {
		out = append(out, p.Name)
	}
	return out
}

const largeOnly = "LARGE " // begins the type of a parameter that only the large-count variant has

// Types for the placeholders of the table, in a function and in its large-count
// variant.
var (
	plainTypes = strings.NewReplacer("_COUNT", "", "COUNT", "int", "DISP", "int", "SIZE", "MPI_Aint")
	largeTypes = strings.NewReplacer(largeOnly, "", "_COUNT", "_c", "COUNT", "MPI_Count", "DISP", "MPI_Aint", "SIZE", "MPI_Count")
)

// Parameters returns the parameters of the wrapper's declaration.
func (f function) Parameters() string {
	if len(f.parameters()) == 0 {
		return "void"
	}
	types := plainTypes
	if f.large {
		types = largeTypes
	}
	var out []string
	for _, p := range f.parameters() {
		t := types.Replace(p.Type)
		if !strings.HasSuffix(t, "*") {
			t += " "
		}
		out = append(out, t+p.Name+p.Suffix)
	}
	return strings.Join(out, ", ")
}
