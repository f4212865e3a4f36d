// Package mpit knows what an MPI library tells of itself through MPI's tool
// information interface (MPI_T): its control variables (cvars), performance
// variables (pvars), categories, enumerations, events and sources. A small
// program, interpose/mpit, asks it; nothing is asked in the application.
package mpit

import (
	"cmp"
	"fmt"
	"strings"
)

// List is all that a library tells. Texts are as the library has them: data,
// which need not be UTF-8.
type List struct {
	Library    string     `json:"library"`  // as MPI_Get_library_version has it
	Standard   string     `json:"standard"` // of its mpi.h, "3.1"
	CVars      []CVar     `json:"cvars"`
	PVars      []PVar     `json:"pvars"`
	Categories []Category `json:"categories"`
	Enums      []Enum     `json:"enums"`
	Events     []Event    `json:"events"`
	Sources    []Source   `json:"sources"`
	Errors     []Error    `json:"errors"` // what the library could not tell
}

// Variable is what control and performance variables have in common.
type Variable struct {
	Index       int       `json:"index"` // in the library, for one process
	Name        string    `json:"name"`
	Verbosity   Verbosity `json:"verbosity"`
	Type        string    `json:"type"`           // "int", "unsigned long", "char", "double"
	Count       int       `json:"count"`          // elements; -1 if that is not known
	Binding     string    `json:"binding"`        // "none", "comm", "win"; empty if the library does not say
	EnumID      int       `json:"enum,omitempty"` // Enum.ID of what its values are called
	Enum        *Enum     `json:"-"`
	Values      []string  `json:"values"`         // nil if they cannot be read
	Item        string    `json:"item,omitempty"` // what the enumeration calls the value
	Description string    `json:"description"`
	Categories  []string  `json:"categories"`      // that it is in
	Error       string    `json:"error,omitempty"` // why something is missing
}

// CVar is a control variable.
type CVar struct {
	Variable
	Scope string `json:"scope"` // "constant", "readonly", "local", "group", "group-eq", "all", "all-eq"
	// Default is set by Changed; nil if the library has no such variable by default.
	Default  []string `json:"default,omitempty"`
	Unsteady bool     `json:"unsteady,omitempty"` // in Defaults: it has no default that can be told
}

// PVar is a performance variable.
type PVar struct {
	Variable
	Class      string `json:"class"` // "counter", "highwatermark"
	Readonly   bool   `json:"readonly"`
	Continuous bool   `json:"continuous"`
	Atomic     bool   `json:"atomic"`
}

// Category is a group of variables and of further categories.
type Category struct {
	Index       int      `json:"index"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	CVars       []string `json:"cvars"` // names
	PVars       []string `json:"pvars"`
	Events      []string `json:"events"`
	Categories  []int    `json:"categories"` // Index of its children
}

// Enum is an enumeration: what the values of a variable are called.
type Enum struct {
	ID    int    `json:"id"` // from 1
	Name  string `json:"name"`
	Items []Item `json:"items"`
}

// Item is a value of an enumeration.
type Item struct {
	Value int    `json:"value"`
	Name  string `json:"name"`
}

// Event is a kind of event that a tool can be called for.
type Event struct {
	Index       int       `json:"index"`
	Name        string    `json:"name"`
	Verbosity   Verbosity `json:"verbosity"`
	Binding     string    `json:"binding"`
	EnumID      int       `json:"enum,omitempty"`
	Elements    []string  `json:"elements"` // types of what comes with it
	Description string    `json:"description"`
	Categories  []string  `json:"categories"`
}

// Source is what gives events their time.
type Source struct {
	Index          int    `json:"index"`
	Name           string `json:"name"`
	Order          string `json:"order"` // "ordered", "unordered"
	TicksPerSecond int64  `json:"ticks_per_second"`
	MaxTicks       int64  `json:"max_ticks"`
	Description    string `json:"description"`
}

// Error is something that the library was asked and did not answer.
type Error struct {
	Kind   string `json:"kind"`             // "cvar", "pvar", "category", "event", "source"
	Index  int    `json:"index"`            // of the entry; -1 for all of a kind
	Call   string `json:"call"`             // "MPI_T_cvar_read"
	Code   int    `json:"code,omitempty"`   // that it returned
	Reason string `json:"reason,omitempty"` // "MPI_T_ERR_INVALID_INDEX"
	Signal int    `json:"signal,omitempty"` // that the library died of
}

func (e Error) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("%s: signal %d", e.Call, e.Signal)
	}
	return fmt.Sprintf("%s: error %d (%s)", e.Call, e.Code, cmp.Or(e.Reason, "unknown"))
}

// Value is the value as text, elements separated by commas; ok is false if it
// cannot be read.
func (v *Variable) Value() (value string, ok bool) {
	return strings.Join(v.Values, ","), v.Values != nil
}

// Untold tells whether the library counts the entry and does not describe it.
func (e Error) Untold() bool { return strings.HasSuffix(e.Call, "_get_info") }
