package matrix

import (
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Selection defines which traffic a Builder counts: traffic that matches all
// criteria. A criterion that is a list matches if any of its values does, or if
// it is empty. The zero value selects everything.
type Selection struct {
	Classes     []profile.Class
	Calls       []string // MPI functions, with or without MPI_; case is ignored
	Comms       []string // names or labels of communicators, or the first 4 or more digits of their ids
	Slices      []string // names of slices
	Callsites   []string // parts of the texts of call sites: a function, file:line
	SizeClasses []uint8  // size classes of single messages, see profile.Row

	// Directions may contain Send, Write and Read.
	Directions []profile.Direction
	// Received selects point-to-point messages as recorded by their receivers,
	// instead of as recorded by their senders.
	Received bool
	// Physical selects the messages that the MPI library sent, including those
	// on its own behalf, instead of what the program asked for. All other
	// criteria must then be empty.
	Physical bool
}

// everything reports whether s selects everything.
func (s *Selection) everything() bool {
	return !s.Physical && !s.Received && s.NeedsProfiles() == "" && len(s.Classes) == 0 && len(s.Directions) == 0
}

// NeedsProfiles returns the name of a criterion that cannot be applied to lines
// of .prof files; empty if there is none.
func (s *Selection) NeedsProfiles() string {
	for _, criterion := range []struct {
		used bool
		name string
	}{{len(s.Calls) > 0, "call"}, {len(s.Comms) > 0, "communicator"}, {len(s.Slices) > 0, "slice"},
		{len(s.Callsites) > 0, "call site"}, {len(s.SizeClasses) > 0, "size class"}, {s.Received, "receiver"}} {
		if criterion.used {
			return criterion.name
		}
	}
	n := 0
	for _, c := range s.Classes {
		if c.Collective() {
			n++
		}
	}
	if n > 0 && n < 3 {
		return "class of collective"
	}
	return ""
}

// matchesFlow reports whether a line of a .prof file is selected.
func (s *Selection) matchesFlow(f *profile.Flow) bool {
	if s.Physical {
		return f.Kind == profile.External || f.Kind == profile.Internal
	}
	class, direction := profile.P2P, profile.Send
	switch f.Kind {
	case profile.RemoteRead:
		class, direction = profile.OneSided, profile.Read
	case profile.RemoteWrite:
		class, direction = profile.OneSided, profile.Write
	case profile.Collective:
		class = profile.AllToAll
	}
	return emptyOrContains(s.Classes, class) && emptyOrContains(s.Directions, direction)
}

func emptyOrContains[T comparable](list []T, v T) bool {
	return len(list) == 0 || slices.Contains(list, v)
}

// rowFilter matches the rows of one profile with a Selection.
type rowFilter struct {
	*Selection
	p     *profile.Profile
	named map[rowNames]bool // cache of matchesNames; nil if nothing is selected by name
}

// rowNames is the part of a row's key that has names.
type rowNames struct {
	call  string
	comm  int32
	slice uint32
	site  uint64
}

func namesOf(r *profile.Row) rowNames { return rowNames{r.Call, r.Comm, r.Slice, r.Callsite} }

// filter returns the filter for the rows of p.
func (s *Selection) filter(p *profile.Profile) *rowFilter {
	c := &rowFilter{Selection: s, p: p}
	if s.byName() {
		c.named = map[rowNames]bool{}
	}
	return c
}

// canonical returns the name of a call in lower case and without MPI_.
func canonical(call string) string {
	call = strings.ToLower(call)
	return strings.TrimPrefix(call, "mpi_")
}

// matches reports whether a row is selected.
func (c *rowFilter) matches(r *profile.Row) bool {
	return c.matchesKey(r) && emptyOrContains(c.SizeClasses, r.SizeClass)
}

// matchesKey reports whether a row matches all criteria except the size class.
func (c *rowFilter) matchesKey(r *profile.Row) bool {
	return emptyOrContains(c.Classes, r.Class) && emptyOrContains(c.Directions, r.Direction) && c.matchesNames(r)
}

// matchesNames reports whether a row matches all criteria whose values are names.
func (c *rowFilter) matchesNames(r *profile.Row) bool {
	if c.named == nil {
		return true
	}
	is, known := c.named[namesOf(r)]
	if !known {
		is = true
		for by, values := range c.values() {
			if len(values) > 0 {
				_, matches := c.name(criterion(by), r)
				is = is && slices.ContainsFunc(values, matches)
			}
		}
		c.named[namesOf(r)] = is
	}
	return is
}

// matchesVector reports whether all messages of a vector are selected, and whether
// some are. Their size classes are in the rows with the same key.
func (c *rowFilter) matchesVector(v *profile.Vector) (all, some bool) {
	r := profile.Row{Thread: v.Thread, Call: v.Call, Class: v.Class, Direction: profile.Send, Comm: v.Comm,
		Callsite: v.Callsite, Slice: v.Slice}
	if c.Received || !c.matchesKey(&r) {
		return false, false
	}
	if len(c.SizeClasses) == 0 {
		return true, true
	}
	all = true
	for i := range c.p.Rows {
		o := &c.p.Rows[i]
		if o.Thread != v.Thread || o.Call != v.Call || o.Comm != v.Comm || o.Callsite != v.Callsite || o.Slice != v.Slice ||
			o.Direction != profile.Send {
			continue
		}
		is := slices.Contains(c.SizeClasses, o.SizeClass)
		all, some = all && is, some || is
	}
	return all && some, some
}
