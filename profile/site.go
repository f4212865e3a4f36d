package profile

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Place is an address in a loaded file. It is the same on all ranks, at
// whatever address each rank loaded the file.
type Place struct {
	Path    string // path of the file; empty if the address is in none, as in generated code
	BuildID string // lower-case hex, empty if the file has none
	Offset  uint64 // ELF address in the file; the address itself if it is in no file
}

// Symbol is the name of a place in the source.
type Symbol struct {
	Function string // innermost function, which may be inlined; empty if not known
	// Near is the last exported function before the place, if neither Function nor Line is known.
	Near string
	// Into is the number of bytes from the start of Function, or of Near, to the place, if the line is
	// not known. It is 0 if there is only one place there.
	Into   uint64
	Source string // path of the source file, empty if not known
	Line   int    // 0 if not known
}

// Symbols maps places to their names.
type Symbols map[Place]Symbol

// Frame is a place with its name.
type Frame struct {
	Place
	Symbol
}

// String returns "exchange halo.c:118" or, if the line is not known, the
// function and the offset in it ("exchange+0x1f (halo)"). If the function is not
// known either, it returns the exported function before the place ("after
// exchange+0x5f (halo)"), or else the file and the address in it.
func (f Frame) String() string {
	switch {
	case f.Line > 0 && f.Function != "":
		return f.Function + " " + f.SourceLine()
	case f.Line > 0:
		return f.SourceLine()
	case f.Function != "":
		return f.inFunction(f.Function)
	case f.Near != "":
		return After + f.inFunction(f.Near)
	}
	return f.Address()
}

// After begins the label of a place that is in no known function.
const After = "after "

func (f Frame) inFunction(name string) string {
	if f.Into > 0 {
		name += fmt.Sprintf("+%#x", f.Into)
	}
	return fmt.Sprintf("%s (%s)", name, path.Base(f.Path))
}

// SiteLabel returns a call site as text for tables: its innermost frame,
// followed by the callers if stacks were recorded. Without frames it returns
// "unknown".
func SiteLabel(frames []Frame) string { return cmp.Or(StackText(frames), "unknown") }

// StackText does what SiteLabel does, but returns an empty text without frames.
func StackText(frames []Frame) string {
	labels := make([]string, len(frames))
	for i, f := range frames {
		labels[i] = f.String()
	}
	return strings.Join(labels, Callers)
}

// Callers separates a frame from its caller in SiteLabel.
const Callers = " < "

// SourceLine returns the name of the source file, without its directory, and
// the line; empty if they are not known.
func (f Frame) SourceLine() string {
	if f.Line <= 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(f.Source), f.Line)
}

// Address returns the file and the address in it, as addr2line accepts it.
func (p Place) Address() string {
	if p.Path == "" {
		return fmt.Sprintf("%#x", p.Offset)
	}
	return fmt.Sprintf("%s+%#x", path.Base(p.Path), p.Offset)
}

// StackSite marks a Row.Callsite that is a key of Profile.Stacks instead of an
// address.
const StackSite = 1 << 63

// Frames returns the frames of a call site, innermost first: one, or several if
// stacks were recorded. It returns nil for 0, the call site of folded calls.
func (p *Profile) Frames(site uint64) []Frame {
	switch {
	case site == 0:
		return nil
	case site&StackSite == 0:
		return []Frame{p.Frame(site)}
	}
	addresses := p.Stacks[site]
	out := make([]Frame, len(addresses))
	for i, a := range addresses {
		out[i] = p.Frame(a)
	}
	for len(out) > 1 && out[len(out)-1].startsProgram() {
		out = out[:len(out)-1]
	}
	return out
}

// startsProgram reports whether a frame is one of the outermost frames that
// every program or thread has: _start and those of libc.
func (f Frame) startsProgram() bool {
	name := path.Base(f.Path)
	return f.Function == "_start" || strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "libc-2") ||
		strings.HasPrefix(name, "libpthread")
}

// Frame returns the frame of an address.
func (p *Profile) Frame(address uint64) Frame {
	place := p.Place(address)
	return Frame{place, p.Symbols[place]}
}

// Place returns the place of an address.
func (p *Profile) Place(address uint64) Place {
	if m := p.ModuleOf(address); m >= 0 {
		m := &p.Modules[m]
		return Place{m.Path, m.BuildID, address - m.Bias}
	}
	return Place{Offset: address}
}

// ModuleOf returns the index of the module that contains the address, or -1. If
// several modules were loaded at the same address one after the other, it
// returns the last: call sites in modules that were unloaded are recorded with
// other addresses (layout.Unloaded).
func (p *Profile) ModuleOf(address uint64) int {
	for i := len(p.Modules) - 1; i >= 0; i-- {
		if m := &p.Modules[i]; m.Start <= address && address < m.End {
			return i
		}
	}
	return -1
}

// Addresses returns all return addresses of the profile's call sites, sorted.
func (p *Profile) Addresses() []uint64 {
	seen := map[uint64]bool{}
	p.EachAddress(func(a uint64) { seen[a] = true })
	return slices.Sorted(maps.Keys(seen))
}

// EachAddress calls visit with all return addresses of the profile's call sites, with some
// of them several times.
func (p *Profile) EachAddress(visit func(uint64)) {
	last := uint64(0) // most rows have the call site of the row before them
	add := func(site uint64) {
		switch {
		case site == last:
			return
		case site&StackSite == 0:
			visit(site)
		}
		last = site
		for _, a := range p.Stacks[site] {
			visit(a)
		}
	}
	for i := range p.Rows {
		add(p.Rows[i].Callsite)
	}
	for i := range p.Vectors {
		add(p.Vectors[i].Callsite)
	}
	for i := range p.Abnormal {
		add(p.Abnormal[i].Callsite)
	}
	for i := range p.Late {
		add(p.Late[i].Callsite)
	}
	for i := range p.Open {
		add(p.Open[i].Callsite)
	}
}

// Compare orders places by file and address.
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Path, o.Path), cmp.Compare(p.BuildID, o.BuildID), cmp.Compare(p.Offset, o.Offset))
}
