package interpose

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// Covered describes whether a library intercepts a function that an MPI's
// headers declare.
type Covered struct {
	Symbol string // for example MPI_Send_c
	Call   string // call that it is recorded as; empty if it is not recorded
	Why    string // reason why it is not recorded
	Lost   bool   // whether profiles miss something because of that
}

// Coverage compares the functions that the MPI's headers declare with those
// that the library built for it records and exports. The result is sorted by
// symbol. standard is the version of the MPI Standard that the headers declare.
func (o BuildOptions) Coverage(ctx context.Context, library string) (standard string, all []Covered, err error) {
	work, remove, err := atomicfile.MakeTemporary("", "mpitrace-")
	if err != nil {
		return "", nil, err
	}
	defer remove()
	header, err := o.readHeader(ctx, work)
	if err != nil {
		return "", nil, err
	}
	exported, err := exports(library)
	if err != nil {
		return "", nil, err
	}
	recorded := map[string]string{}
	for _, c := range profile.Calls {
		for _, name := range append(c.Others, c.Name) {
			recorded[name] = c.Symbol()
		}
	}
	for _, symbol := range slices.Sorted(maps.Keys(header.functions)) {
		c, name := Covered{Symbol: symbol}, tableName(symbol)
		if call := recorded[name]; call != "" && exported[symbol] {
			c.Call = call
		} else {
			c.Why, c.Lost = whyNot(name)
		}
		all = append(all, c)
	}
	return header.standard, all, nil
}

// whyNot returns the reason why a function is not recorded, and whether
// profiles miss something because of that.
func whyNot(name string) (why string, lost bool) {
	if why, ok := localCalls[name]; ok {
		return why, false
	}
	if why, ok := missingCalls[name]; ok {
		return why, true
	}
	return "is not known to this version of mpitrace", true
}

// tableName returns the name of a symbol in the tables. A large-count function
// (_c) has the name of the same call without it.
func tableName(symbol string) string {
	return strings.TrimSuffix(strings.TrimPrefix(symbol, "MPI_"), "_c")
}

//go:embed calls/local.txt
var localText string

//go:embed calls/missing.txt
var missingText string

// localCalls and missingCalls hold the reasons why procedures (named as in profile.Calls) are not
// wrapped. Profiles miss nothing of a procedure in localCalls, and something that a user must know
// of one in missingCalls. A procedure that is neither recorded nor in one of these maps is unknown.
var (
	localCalls   = parseReasons(localText)
	missingCalls = parseReasons(missingText)
)

func parseReasons(text string) map[string]string {
	reasons := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		reason, names, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(names) {
			reasons[name] = reason
		}
	}
	return reasons
}
