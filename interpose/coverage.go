package interpose

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

// Covered tells of a function that an MPI's headers declare whether a library
// intercepts it.
type Covered struct {
	Symbol string // MPI_Send_c
	Call   string // what it is recorded as, empty if it is not
	Why    string // it is not recorded
	Lost   bool   // something is missed by that
}

// Coverage compares the functions that the MPI declares with those that the
// library built for it records, and really exports, sorted by symbol, and tells the version
// of the Standard that the MPI is of.
func (o BuildOptions) Coverage(ctx context.Context, library string) (standard string, all []Covered, err error) {
	work, err := os.MkdirTemp("", "mpitrace-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(work)
	functions, standard, err := o.declares(ctx, work)
	if err != nil {
		return "", nil, err
	}
	exported, err := exports(library)
	if err != nil {
		return "", nil, err
	}
	recorded := map[string]string{}
	for _, c := range calls.Table {
		for _, name := range c.Names() {
			recorded[name] = c.Name
		}
	}
	for _, symbol := range slices.Sorted(maps.Keys(functions)) {
		c, name := Covered{Symbol: symbol}, tableName(symbol)
		if call := recorded[name]; call != "" && exported[symbol] {
			c.Call = calls.Symbol(call)
		} else {
			c.Why, c.Lost = whyNot(name)
		}
		all = append(all, c)
	}
	return standard, all, nil
}

// whyNot gives the reason why the tables leave a function out.
func whyNot(name string) (why string, lost bool) {
	if why, ok := calls.Local[name]; ok {
		return why, false
	}
	if why, ok := calls.Missing[name]; ok {
		return why, true
	}
	return "is not known to this version of mpitrace", true
}

// tableName is the name that the tables have for a symbol: a large-count twin
// is the same call.
func tableName(symbol string) string {
	return strings.TrimSuffix(strings.TrimPrefix(symbol, "MPI_"), "_c")
}
