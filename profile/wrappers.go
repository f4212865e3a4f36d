package profile

import (
	"path"
	"slices"
	"strings"
)

// StackAuto is the value of the setting stack with which call sites are where the
// program calls a function that does nothing but call MPI.
const StackAuto = "auto"

// Wrappers finds the functions of a run that do nothing but call one function of
// MPI, as hypre's mpistubs.c has them, so that call sites can be those of their
// callers. It goes by the stacks that --stack auto recorded.
//
// A function is a wrapper if it calls one function of MPI only and is named for it
// (hypre_MPI_Waitall, comm_bcast). So are all functions of a source file or shared
// library that call MPI if there are two or more, each calls one function of MPI
// only, they are called from two or more functions elsewhere, and nothing that
// calls MPI is called through them. main is none.
type Wrappers struct {
	stacks  map[string]wrapped // by what they are made of
	program string             // the path of the executable, whose functions are not one layer
	names   map[function]bool
	files   map[string]bool
}

// wrapped is a call of MPI with its stack, the innermost place first.
type wrapped struct {
	call   string
	places []Place
}

// function is one in a file: the source file or, where that is not known, the
// program or library.
type function struct{ file, name string }

// Note takes the stacks of a process. All processes of a run are to be noted before
// Find.
func (w *Wrappers) Note(p *Profile) {
	if p.Settings["stack"] != StackAuto {
		return
	}
	if w.stacks == nil {
		w.stacks = map[string]wrapped{}
	}
	w.program = p.Program
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Callsite&StackSite == 0 {
			continue
		}
		s := wrapped{call: r.Call}
		var key strings.Builder
		key.WriteString(r.Call)
		for _, a := range p.Stacks[r.Callsite] {
			place := p.Place(a)
			s.places = append(s.places, place)
			key.WriteString("\x00" + place.Path + "\x00" + place.Address())
		}
		w.stacks[key.String()] = s
	}
}

// Find finds the wrappers, once places have names.
func (w *Wrappers) Find(symbols Symbols) {
	w.names, w.files = map[function]bool{}, map[string]bool{}
	for range 4 { // a wrapper may call another
		before := len(w.names) + len(w.files)
		w.findOnce(symbols)
		if len(w.names)+len(w.files) == before {
			return
		}
	}
}

// use is what stacks tell of a function that calls MPI itself, or through wrappers.
type use struct {
	calls   map[string]bool   // functions of MPI
	callers map[function]bool // of other files
}

func (w *Wrappers) findOnce(symbols Symbols) {
	uses, through := map[function]*use{}, map[string]bool{}
	for _, s := range w.stacks {
		frames := make([]Frame, len(s.places))
		for i, place := range s.places {
			frames[i] = Frame{place, symbols[place]}
		}
		frames = frames[w.outside(frames):]
		if len(frames) == 0 || frames[0].Function == "" {
			continue
		}
		f := functionOf(frames[0])
		if uses[f] == nil {
			uses[f] = &use{map[string]bool{}, map[function]bool{}}
		}
		uses[f].calls[s.call] = true
		for i := 1; i < len(frames); i++ {
			caller := functionOf(frames[i])
			if caller.file != f.file {
				if i == 1 {
					uses[f].callers[caller] = true
				}
				through[caller.file] = true
			}
		}
	}
	inFile := map[string][]*use{}
	for f, u := range uses {
		inFile[f.file] = append(inFile[f.file], u)
		if f.name != "main" && len(u.calls) == 1 && namedFor(f.name, u.calls) {
			w.names[f] = true
		}
		if f.name == "main" || f.file == w.program {
			through[f.file] = true
		}
	}
	for file, list := range inFile {
		callers := map[function]bool{}
		one := true
		for _, u := range list {
			one = one && len(u.calls) == 1
			for c := range u.callers {
				callers[c] = true
			}
		}
		if one && len(list) > 1 && len(callers) > 1 && !through[file] {
			w.files[file] = true
		}
	}
}

func functionOf(f Frame) function {
	if f.Line > 0 && f.Source != "" {
		return function{f.Source, f.Function}
	}
	return function{f.Path, f.Function}
}

// namedFor reports whether a function's name has that of the MPI function it calls.
func namedFor(name string, calls map[string]bool) bool {
	for call := range calls {
		if NamedFor(name, call) {
			return true
		}
	}
	return false
}

// NamedFor reports whether a function is named for one of MPI: hypre_MPI_Waitall
// and comm_waitall are for Waitall.
func NamedFor(name, call string) bool {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	return strings.Contains(plain(name), plain(call))
}

// outside is how many of the innermost frames are wrappers with a caller that has a
// name. Python's interpreter is no caller that tells anything.
func (w *Wrappers) outside(frames []Frame) int {
	for i, f := range frames {
		if !w.names[functionOf(f)] && !w.files[functionOf(f).file] {
			return i
		}
		if i+1 == len(frames) || frames[i+1].Function == "" || frames[i+1].startsProgram() || interpreter(frames[i+1].Path) {
			return i
		}
	}
	return 0
}

func interpreter(module string) bool {
	name := path.Base(module)
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "libpython")
}

// Skip makes the stacks of a process places: the innermost that is in no wrapper.
// The names of its places must be known.
func (w *Wrappers) Skip(p *Profile) {
	if p.Settings["stack"] != StackAuto || w.names == nil {
		return
	}
	stacks := make(map[uint64][]uint64, len(p.Stacks))
	for site, addresses := range p.Stacks {
		frames := make([]Frame, len(addresses))
		for i, a := range addresses {
			frames[i] = p.frame(a)
		}
		at := w.outside(frames)
		stacks[site] = slices.Clone(addresses[at:min(at+1, len(addresses))])
	}
	p.Stacks = stacks
}
