package profile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Place is an address in a file that was loaded: the same on all ranks,
// wherever each had the file in its memory.
type Place struct {
	Path    string // of the file; empty where the address is in none, as that of generated code
	BuildID string // lower-case hex, empty if the file has none
	Offset  uint64 // the file's own (ELF) address; in no file, the address itself
}

// Symbol is what a place is called in the source.
type Symbol struct {
	Function string // the innermost one, also where it is inlined; empty if not known
	Into     uint64 // bytes from the start of Function to the place, where there is no line
	Source   string // path of the source file, empty if not known
	Line     int    // 0 if not known
}

// Symbols are the places that have a name.
type Symbols map[Place]Symbol

// Frame is a place with its name.
type Frame struct {
	Place
	Symbol
}

// String is "exchange halo.c:118", or as much of it as is known: the function
// and how far into it, else the file and the address in it.
func (f Frame) String() string {
	switch {
	case f.Line > 0 && f.Function != "":
		return f.Function + " " + f.SourceLine()
	case f.Line > 0:
		return f.SourceLine()
	case f.Function != "":
		return fmt.Sprintf("%s+%#x (%s)", f.Function, f.Into, path.Base(f.Path))
	}
	return f.Address()
}

// SiteLabel is a call site in a table: its place, and behind it who called, if
// stacks were recorded; "unknown" without frames.
func SiteLabel(frames []Frame) string {
	if len(frames) == 0 {
		return "unknown"
	}
	labels := make([]string, len(frames))
	for i, f := range frames {
		labels[i] = f.String()
	}
	return strings.Join(labels, Callers)
}

// Callers stands between a place and the one that it was called from.
const Callers = " < "

// SourceLine is the name of the source file, without its folders, and the
// line; empty if they are not known.
func (f Frame) SourceLine() string {
	if f.Line <= 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(f.Source), f.Line)
}

// Address is the place without its name: the file and the address in it, which
// is what addr2line and the file's symbols speak of.
func (p Place) Address() string {
	if p.Path == "" {
		return fmt.Sprintf("%#x", p.Offset)
	}
	return fmt.Sprintf("%s+%#x", path.Base(p.Path), p.Offset)
}

// StackSite marks a Row.Callsite that is a key of Profile.Stacks and no address.
const StackSite = 1 << 63

// Frames are the places of a call site, the innermost first: one, or several
// where stacks were recorded. There are none for 0, the site of calls that were
// folded.
func (p *Profile) Frames(site uint64) []Frame {
	switch {
	case site == 0:
		return nil
	case site&StackSite == 0:
		return []Frame{p.frame(site)}
	}
	addresses := p.Stacks[site]
	out := make([]Frame, len(addresses))
	for i, a := range addresses {
		out[i] = p.frame(a)
	}
	for len(out) > 1 && out[len(out)-1].startsProgram() {
		out = out[:len(out)-1]
	}
	return out
}

// startsProgram tells the outermost frames of each program and thread, which
// say nothing about it: libc's, and _start.
func (f Frame) startsProgram() bool {
	name := path.Base(f.Path)
	return f.Function == "_start" || strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "libc-2") ||
		strings.HasPrefix(name, "libpthread")
}

func (p *Profile) frame(address uint64) Frame {
	place := p.Place(address)
	return Frame{place, p.Symbols[place]}
}

// Place tells which file an address lies in.
func (p *Profile) Place(address uint64) Place {
	if m := p.ModuleOf(address); m >= 0 {
		m := &p.Modules[m]
		return Place{m.Path, m.BuildID, address - m.Bias}
	}
	return Place{Offset: address}
}

// ModuleOf is the index of the module that holds the address, -1 if none does. Of modules that were
// loaded to the same addresses one after the other it is the last: call sites in those that were
// unloaded have other addresses (layout.Unloaded).
func (p *Profile) ModuleOf(address uint64) int {
	for i := len(p.Modules) - 1; i >= 0; i-- {
		if m := &p.Modules[i]; m.Start <= address && address < m.End {
			return i
		}
	}
	return -1
}

// Addresses lists all that the call sites of the profile return to, in order.
func (p *Profile) Addresses() []uint64 {
	seen := map[uint64]bool{}
	add := func(site uint64) {
		switch {
		case site == 0 || seen[site]:
			return
		case site&StackSite == 0:
			seen[site] = true
			return
		}
		for _, a := range p.Stacks[site] {
			seen[a] = true
		}
	}
	for i := range p.Rows {
		add(p.Rows[i].Callsite)
	}
	for i := range p.Vectors {
		add(p.Vectors[i].Callsite)
	}
	for i := range p.Asides {
		add(p.Asides[i].Callsite)
	}
	for i := range p.Late {
		add(p.Late[i].Callsite)
	}
	for i := range p.Open {
		add(p.Open[i].Callsite)
	}
	for i := range p.Late {
		add(p.Late[i].Callsite)
	}
	out := make([]uint64, 0, len(seen))
	for a := range seen {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// Compare orders places by file and address.
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Path, o.Path), cmp.Compare(p.BuildID, o.BuildID), cmp.Compare(p.Offset, o.Offset))
}
