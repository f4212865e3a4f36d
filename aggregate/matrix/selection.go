package matrix

import (
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Selection is which calls a matrix is made of: those that each list which is
// not empty has something for. The zero value is all of them.
type Selection struct {
	Classes     []profile.Class
	Calls       []string // MPI functions, with or without MPI_
	Comms       []string // names, labels, or how ids begin (4 digits or more)
	Slices      []string // names
	Callsites   []string // part of a call site's text: a function, file:line
	SizeClasses []uint8  // of one message
	// Directions are Send, Write and Read; none is all three. Received is the
	// point-to-point messages as their receivers saw them, and nothing else.
	Directions []profile.Direction
	Received   bool
	// Physical is the messages that the MPI library sent, its own among them, in
	// place of what the program asked for; then nothing else can be selected by.
	Physical bool
}

// whole tells whether nothing is left out.
func (s *Selection) everything() bool {
	return !s.Physical && !s.Received && s.NeedsProfiles() == "" && len(s.Classes) == 0 && len(s.Directions) == 0
}

// OfRows names what is selected by that only profiles know of, and .prof files
// do not; empty if that is nothing.
func (s *Selection) NeedsProfiles() string {
	for _, by := range []struct {
		is   bool
		name string
	}{{len(s.Calls) > 0, "call"}, {len(s.Comms) > 0, "communicator"}, {len(s.Slices) > 0, "slice"},
		{len(s.Callsites) > 0, "call site"}, {len(s.SizeClasses) > 0, "size class"}, {s.Received, "receiver"}} {
		if by.is {
			return by.name
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

// flow tells whether a line of a .prof file is selected.
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

// has tells whether a list has something, or has nothing at all.
func emptyOrContains[T comparable](list []T, v T) bool {
	return len(list) == 0 || slices.Contains(list, v)
}

// chosen is a selection among the rows of one profile.
type rowFilter struct {
	*Selection
	p      *profile.Profile
	comms  []bool
	slices map[uint32]bool
	sites  map[uint64]bool
	calls  map[string]bool
}

func (s *Selection) filter(p *profile.Profile) *rowFilter {
	c := &rowFilter{Selection: s, p: p, calls: map[string]bool{}}
	for _, name := range s.Calls {
		c.calls[canonical(name)] = true
	}
	if len(s.Comms) > 0 {
		c.comms = make([]bool, len(p.Comms))
		for i := range p.Comms {
			c.comms[i] = slices.ContainsFunc(s.Comms, p.Comms[i].Called)
		}
	}
	if len(s.Slices) > 0 {
		c.slices = map[uint32]bool{}
		for _, slice := range p.Slices {
			c.slices[slice.Index] = slices.Contains(s.Slices, slice.Name)
		}
	}
	if len(s.Callsites) > 0 {
		c.sites = map[uint64]bool{}
	}
	return c
}

// canonical is a call's name as calls.txt has it, in small letters.
func canonical(call string) string {
	call = strings.ToLower(call)
	return strings.TrimPrefix(call, "mpi_")
}

// row tells whether a row is selected.
func (c *rowFilter) matches(r *profile.Row) bool {
	return c.matchesKey(r) && (len(c.SizeClasses) == 0 || slices.Contains(c.SizeClasses, r.SizeClass))
}

// key is row for all but the size class.
func (c *rowFilter) matchesKey(r *profile.Row) bool {
	switch {
	case !emptyOrContains(c.Classes, r.Class), len(c.Directions) > 0 && !slices.Contains(c.Directions, r.Direction),
		c.comms != nil && (r.Comm < 0 || int(r.Comm) >= len(c.comms) || !c.comms[r.Comm]),
		c.slices != nil && !c.slices[r.Slice],
		len(c.calls) > 0 && !c.calls[strings.ToLower(r.Call)],
		c.sites != nil && !c.matchesSite(r.Callsite):
		return false
	}
	return true
}

func (c *rowFilter) matchesSite(callsite uint64) bool {
	is, known := c.sites[callsite]
	if !known {
		text := siteText(c.p.Frames(callsite))
		is = slices.ContainsFunc(c.Callsites, func(part string) bool { return strings.Contains(text, part) })
		c.sites[callsite] = is
	}
	return is
}

// siteText is a call site as tables have it.
func siteText(frames []profile.Frame) string {
	texts := make([]string, len(frames))
	for i, f := range frames {
		texts[i] = f.String()
	}
	return strings.Join(texts, " < ")
}

// vector tells whether all, or some, of the calls of a vector are selected.
// Their size classes are those of the rows of the same key.
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
