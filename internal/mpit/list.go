// Package mpit reads what an MPI library offers through the MPI tool
// information interface (MPI_T): control variables (cvars), performance
// variables (pvars), categories, enumerations, events and sources. A small
// program, interpose/mpit, asks the library; the application is not involved.
package mpit

import (
	"cmp"
	"fmt"
	"strings"
)

// Catalogue is everything that a library offers. Texts are as the library gives them
// and need not be UTF-8.
type Catalogue struct {
	Library    string          `json:"library"`  // the text of MPI_Get_library_version
	Standard   string          `json:"standard"` // version of the Standard in mpi.h, "3.1"
	CVars      []CVar          `json:"cvars"`
	PVars      []PVar          `json:"pvars"`
	Categories []Category      `json:"categories"`
	Enums      []Enum          `json:"enums"`
	Events     []EventType     `json:"events"`
	Sources    []ClockedSource `json:"sources"`
	Errors     []Error         `json:"errors"` // queries that failed
}

// VariableInfo has the fields that control and performance variables share.
type VariableInfo struct {
	Index       int       `json:"index"` // index in MPI_T; may differ between processes
	Name        string    `json:"name"`
	Verbosity   Verbosity `json:"verbosity"`
	Type        string    `json:"type"`           // "int", "unsigned long", "char", "double"
	Count       int       `json:"count"`          // number of elements; -1 if unknown
	Binding     string    `json:"binding"`        // "none", "comm", "win"; empty if unknown
	EnumID      int       `json:"enum,omitempty"` // Enum.ID of the enumeration of its values
	Enum        *Enum     `json:"-"`
	Values      []string  `json:"values"`         // nil if they cannot be read
	Item        string    `json:"item,omitempty"` // name of the value in the enumeration
	Description string    `json:"description"`
	Categories  []string  `json:"categories"`      // names of the categories that contain it
	Error       string    `json:"error,omitempty"` // why a field is missing
}

// CVar is a control variable.
type CVar struct {
	VariableInfo
	Scope string `json:"scope"` // "constant", "readonly", "local", "group", "group-eq", "all", "all-eq"
	// Default is set by Changed. It is nil if the variable does not exist by
	// default.
	Default  []string `json:"default,omitempty"`
	Unsteady bool     `json:"unsteady,omitempty"` // set by Defaults: the variable has no fixed default
}

// PVar is a performance variable.
type PVar struct {
	VariableInfo
	Class      string `json:"class"` // "counter", "highwatermark"
	Readonly   bool   `json:"readonly"`
	Continuous bool   `json:"continuous"`
	Atomic     bool   `json:"atomic"`
}

// Category is a group of variables and of other categories.
type Category struct {
	Index       int      `json:"index"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	CVars       []string `json:"cvars"` // names
	PVars       []string `json:"pvars"`
	Events      []string `json:"events"`
	Categories  []int    `json:"categories"` // Index of each child
}

// Enum is an enumeration: names for the values of a variable.
type Enum struct {
	ID    int    `json:"id"` // starts at 1
	Name  string `json:"name"`
	Items []Item `json:"items"`
}

// Item is a value of an enumeration.
type Item struct {
	Value int    `json:"value"`
	Name  string `json:"name"`
}

// EventType is a type of event for which a tool can register a callback.
type EventType struct {
	Index       int       `json:"index"`
	Name        string    `json:"name"`
	Verbosity   Verbosity `json:"verbosity"`
	Binding     string    `json:"binding"`
	EnumID      int       `json:"enum,omitempty"`
	Elements    []string  `json:"elements"` // types of its elements
	Description string    `json:"description"`
	Categories  []string  `json:"categories"`
}

// ClockedSource is a source of events, with its clock.
type ClockedSource struct {
	Index          int    `json:"index"`
	Name           string `json:"name"`
	Order          string `json:"order"` // "ordered", "unordered"
	TicksPerSecond int64  `json:"ticks_per_second"`
	MaxTicks       int64  `json:"max_ticks"`
	Description    string `json:"description"`
}

// Error is a query that the library did not answer.
type Error struct {
	Kind   string `json:"kind"`             // "cvar", "pvar", "category", "event", "source"
	Index  int    `json:"index"`            // index of the entry; -1 for all of a kind
	Call   string `json:"call"`             // "MPI_T_cvar_read"
	Code   int    `json:"code,omitempty"`   // error code that it returned
	Reason string `json:"reason,omitempty"` // "MPI_T_ERR_INVALID_INDEX"
	Signal int    `json:"signal,omitempty"` // signal that ended the process
}

func (e Error) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("%s: signal %d", e.Call, e.Signal)
	}
	return fmt.Sprintf("%s: error %d (%s)", e.Call, e.Code, cmp.Or(e.Reason, "unknown"))
}

// Untold reports whether the library counts an entry but does not describe it.
func (e Error) Untold() bool { return strings.HasSuffix(e.Call, "_get_info") }
