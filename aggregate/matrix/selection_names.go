package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// criterion is a criterion of a Selection whose values are names.
type criterion int

const (
	byCall criterion = iota
	byComm
	bySlice
	bySite
	numCriteria
)

var criterionNames = [numCriteria]string{"call", "communicator", "slice", "call site"}

// selectionNames collects the names that occur in the profiles of a job, and which
// values of the selection matched one of them. Only rows that a matrix can count
// contribute: a call that sent nothing is in no matrix.
type selectionNames struct {
	names   [numCriteria]nameSet
	matched [numCriteria]map[string]bool
}

// values returns the selected names, by criterion.
func (s *Selection) values() [numCriteria][]string {
	return [numCriteria][]string{byCall: s.Calls, byComm: s.Comms, bySlice: s.Slices, bySite: s.Callsites}
}

// byName reports whether anything is selected by name.
func (s *Selection) byName() bool {
	return len(s.Calls)+len(s.Comms)+len(s.Slices)+len(s.Callsites) > 0
}

// mayCount reports whether a matrix can count a row.
func (s *Selection) mayCount(r *profile.Row) bool {
	if s.Received {
		return r.Class == profile.P2P && r.Direction == profile.Recv && r.Messages > 0
	}
	_, ok := profile.KindOf(r.Class, r.Direction)
	return ok
}

// name returns the name that a row has for a criterion, and whether a value selects it. A row
// without a communicator or without a known slice has no name.
func (c *rowFilter) name(by criterion, r *profile.Row) (name string, selects func(value string) bool) {
	switch by {
	case byCall:
		return r.Call, func(call string) bool { return canonical(call) == canonical(r.Call) }
	case byComm:
		if r.Comm >= 0 && int(r.Comm) < len(c.p.Comms) {
			comm := &c.p.Comms[r.Comm]
			return comm.Label(), comm.Called
		}
	case bySlice:
		if i := slices.IndexFunc(c.p.Slices, func(s profile.Slice) bool { return s.Index == r.Slice }); i >= 0 {
			return c.p.Slices[i].Name, func(slice string) bool { return slice == c.p.Slices[i].Name }
		}
	case bySite:
		text := profile.StackText(c.p.Frames(r.Callsite))
		return text, func(part string) bool { return strings.Contains(text, part) }
	}
	return "", func(string) bool { return false }
}

// add records the names in the rows of a process, and the values that match them.
func (n *selectionNames) add(c *rowFilter) {
	if !c.byName() {
		return
	}
	seen := map[rowNames]bool{}
	for i := range c.p.Rows {
		r := &c.p.Rows[i]
		if !c.mayCount(r) || seen[namesOf(r)] {
			continue
		}
		seen[namesOf(r)] = true
		for by, values := range c.values() {
			if len(values) == 0 {
				continue
			}
			name, selects := c.name(criterion(by), r)
			if name != "" && n.names[by].add(name) {
				for _, v := range values {
					if selects(v) {
						n.find(criterion(by), v)
					}
				}
			}
		}
	}
}

func (n *selectionNames) find(by criterion, value string) {
	if n.matched[by] == nil {
		n.matched[by] = map[string]bool{}
	}
	n.matched[by][value] = true
}

func (n *selectionNames) merge(o *selectionNames) {
	for by := range numCriteria {
		for name := range o.names[by].seen {
			n.names[by].add(name)
		}
		n.names[by].truncated = n.names[by].truncated || o.names[by].truncated
		for value := range o.matched[by] {
			n.find(by, value)
		}
	}
}

// nameSet is a set of names. It keeps at least the first maxNames of them in
// alphabetical order, so the result does not depend on the order of additions.
type nameSet struct {
	seen      map[string]bool
	truncated bool // some names were dropped
}

const maxNames = 1000

// add adds a name. It returns false if the name is in the set already.
func (n *nameSet) add(name string) bool {
	if n.seen[name] {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	if len(n.seen) == 2*maxNames {
		for _, name := range slices.Sorted(maps.Keys(n.seen))[maxNames:] {
			delete(n.seen, name)
		}
		n.truncated = true
	}
	return true
}

// list returns up to maxNames names in alphabetical order, and whether there are
// more.
func (n *nameSet) list() ([]string, bool) {
	names := slices.Sorted(maps.Keys(n.seen))
	if n.truncated {
		names = names[:maxNames]
	}
	return names, n.truncated
}

// UnmatchedError reports a value of a Selection that matched nothing, usually because
// it is misspelt.
type UnmatchedError struct {
	What  string // "call", "communicator", ...
	Value string
	Have  []string // names that occur, the most similar first
	More  bool     // there are more names
}

func (e *UnmatchedError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("no %s %q: nothing was sent in any", e.What, e.Value)
	}
	more := ""
	if e.More {
		more = " ..."
	}
	return fmt.Sprintf("no %s %q in which something was sent; there is: %s%s", e.What, e.Value, strings.Join(e.Have, ", "), more)
}

// Unmatched returns an error for each value of the selection that matched nothing. If
// no value of a criterion matched, so that nothing is selected at all, err is the
// error for its first value.
func (b *Builder) Unmatched() (some []*UnmatchedError, err error) {
	for by, values := range b.selection.values() {
		var missing []*UnmatchedError
		for _, v := range values {
			if !b.names.matched[by][v] {
				missing = append(missing, b.unmatched(criterion(by), v))
			}
		}
		if len(missing) > 0 && len(missing) == len(values) {
			return nil, missing[0]
		}
		some = append(some, missing...)
	}
	return some, nil
}

func (b *Builder) unmatched(by criterion, value string) *UnmatchedError {
	const most = 20
	have, lost := b.names.names[by].list()
	slices.SortStableFunc(have, func(a, b string) int { return cmp.Compare(nameDistance(value, a), nameDistance(value, b)) })
	few := min(len(have), most)
	return &UnmatchedError{criterionNames[by], value, have[:few], lost || few < len(have)}
}

// nameDistance returns the distance between a value and a name or, if that is
// less, between the value and a communicator's name without its id.
func nameDistance(value, name string) int {
	bare, _, _ := strings.Cut(name, "#")
	return min(distance(value, name), distance(value, bare))
}

// distance returns the Levenshtein distance between two names, ignoring case and
// the prefix MPI_.
func distance(a, b string) int {
	return text.Distance(canonical(a), canonical(b))
}
