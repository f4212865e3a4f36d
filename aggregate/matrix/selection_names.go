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

// criterion is what values of a Selection are names of.
type criterion int

const (
	byCall criterion = iota
	byComm
	bySlice
	bySite
	numCriteria
)

var criterionNames = [numCriteria]string{"call", "communicator", "slice", "call site"}

// met is the names of what there was to select from, and the values of the
// selection that are among them. Only what moved something counts: a call that
// sent nothing is in no matrix.
type selectionNames struct {
	names   [numCriteria]nameSet
	matched [numCriteria]map[string]bool
}

// values are the names that are selected, by criterion.
func (s *Selection) values() [numCriteria][]string {
	return [numCriteria][]string{byCall: s.Calls, byComm: s.Comms, bySlice: s.Slices, bySite: s.Callsites}
}

// named tells whether anything is selected by name.
func (s *Selection) byName() bool {
	return len(s.Calls)+len(s.Comms)+len(s.Slices)+len(s.Callsites) > 0
}

// moves tells whether a row may be in the matrices at all.
func (s *Selection) mayCount(r *profile.Row) bool {
	if s.Received {
		return r.Class == profile.P2P && r.Direction == profile.Recv && r.Messages > 0
	}
	_, ok := profile.KindOf(r.Class, r.Direction)
	return ok
}

// add notes what the rows of a process are of.
func (m *selectionNames) add(c *rowFilter) {
	if !c.byName() {
		return
	}
	type key struct {
		call  string
		comm  int32
		slice uint32
		site  uint64
	}
	seen := map[key]bool{}
	for i := range c.p.Rows {
		r := &c.p.Rows[i]
		k := key{r.Call, r.Comm, r.Slice, r.Callsite}
		if !c.mayCount(r) || seen[k] {
			continue
		}
		seen[k] = true
		m.note(byCall, c.Calls, r.Call, func(call string) bool { return canonical(call) == canonical(r.Call) })
		if r.Comm >= 0 && int(r.Comm) < len(c.p.Comms) && len(c.Comms) > 0 {
			comm := &c.p.Comms[r.Comm]
			m.note(byComm, c.Comms, comm.Label(), comm.Called)
		}
		if len(c.Slices) > 0 {
			name := sliceName(c.p, r.Slice)
			m.note(bySlice, c.Slices, name, func(s string) bool { return s == name })
		}
		if len(c.Callsites) > 0 {
			text := siteText(c.p.Frames(r.Callsite))
			m.note(bySite, c.Callsites, text, func(part string) bool { return strings.Contains(text, part) })
		}
	}
}

func sliceName(p *profile.Profile, index uint32) string {
	for i := range p.Slices {
		if p.Slices[i].Index == index {
			return p.Slices[i].Name
		}
	}
	return ""
}

// note enters a name, and the values that are it.
func (m *selectionNames) note(by criterion, values []string, name string, is func(value string) bool) {
	if len(values) == 0 || !m.names[by].add(name) {
		return
	}
	for _, v := range values {
		if is(v) {
			m.find(by, v)
		}
	}
}

func (m *selectionNames) find(by criterion, value string) {
	if m.matched[by] == nil {
		m.matched[by] = map[string]bool{}
	}
	m.matched[by][value] = true
}

func (m *selectionNames) merge(o *selectionNames) {
	for by := range numCriteria {
		for name := range o.names[by].seen {
			m.names[by].add(name)
		}
		m.names[by].truncated = m.names[by].truncated || o.names[by].truncated
		for value := range o.matched[by] {
			m.find(by, value)
		}
	}
}

// nameSet is names, the first maxNames of them in their order if there are more.
type nameSet struct {
	seen      map[string]bool
	truncated bool // some were left out
}

const maxNames = 1000

// add enters a name; false if it was known.
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

// list is the names in order, and whether these are all.
func (n *nameSet) list() ([]string, bool) {
	names := slices.Sorted(maps.Keys(n.seen))
	if n.truncated {
		names = names[:maxNames]
	}
	return names, n.truncated
}

// UnmatchedError is a value that selects nothing: a name misspelt, as a rule.
type UnmatchedError struct {
	What  string // "call", "communicator", ...
	Value string
	Have  []string // what there is instead, the most similar first
	More  bool     // there is more than that
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

// Unmatched returns the values of the selection that nothing is of, one error for
// each. err is the first of a list of which nothing is of any value: then nothing is
// selected.
func (t *Builder) Unmatched() (some []*UnmatchedError, err error) {
	for by, values := range t.selection.values() {
		var missing []*UnmatchedError
		for _, v := range values {
			if !t.names.matched[by][v] {
				missing = append(missing, t.unmatched(criterion(by), v))
			}
		}
		if len(missing) > 0 && len(missing) == len(values) {
			return nil, missing[0]
		}
		some = append(some, missing...)
	}
	return some, nil
}

func (t *Builder) unmatched(by criterion, value string) *UnmatchedError {
	const most = 20
	have, lost := t.names.names[by].list()
	slices.SortStableFunc(have, func(a, b string) int { return cmp.Compare(nameDistance(value, a), nameDistance(value, b)) })
	few := min(len(have), most)
	return &UnmatchedError{criterionNames[by], value, have[:few], lost || few < len(have)}
}

// unlike is how far a value is from a name, or from a communicator's name
// before its id.
func nameDistance(value, name string) int {
	bare, _, _ := strings.Cut(name, "#")
	return min(distance(value, name), distance(value, bare))
}

// edits is how many letters make one name another (Levenshtein's), small
// letters and MPI_ apart.
func distance(a, b string) int {
	return text.Distance(canonical(a), canonical(b))
}
