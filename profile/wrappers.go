package profile

import (
	"path"
	"slices"
	"strings"
)

// StackAuto is the value of the setting stack with which call sites are where the
// program calls a function that does nothing but call MPI.
const StackAuto = "auto"

// Wrappers finds the wrapper functions of a run, as in hypre's mpistubs.c:
// functions that only call one MPI function. Call sites are then those of the
// wrapper's callers. It uses the stacks that --stack auto recorded.
//
// A function is a wrapper if it calls only one MPI function and has that
// function's name in its own (hypre_MPI_Waitall, comm_bcast). All functions of
// a source file or shared library are wrappers if at least two of them call
// MPI, each calls only one MPI function, they are called from at least two
// functions in other files, and they call no function in another file that
// calls MPI. main is never a wrapper.
type Wrappers struct {
	stacks  map[string]wrapped // by call and places
	program string             // path of the executable; its functions are not one layer of wrappers
	names   map[function]bool
	files   map[string]bool
}

// wrapped is an MPI call with its stack, innermost place first.
type wrapped struct {
	call   string
	places []Place
}

// function is a function in a source file. If the source file is not known,
// file is the program or library.
type function struct{ file, name string }

// Note adds the stacks of a process. Call it for all processes of a run before
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

// Find determines the wrappers from the names of places.
func (w *Wrappers) Find(symbols Symbols) {
	w.names, w.files = map[function]bool{}, map[string]bool{}
	for range 4 { // a wrapper may call another wrapper
		before := len(w.names) + len(w.files)
		w.findOnce(symbols)
		if len(w.names)+len(w.files) == before {
			return
		}
	}
}

// use is how the stacks use a function that calls MPI directly or through
// wrappers.
type use struct {
	calls   map[string]bool   // MPI functions that it calls
	callers map[function]bool // its callers in other files
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
		for call := range u.calls {
			if f.name != "main" && len(u.calls) == 1 && NamedFor(f.name, call) {
				w.names[f] = true
			}
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

// NamedFor reports whether a function's name contains that of an MPI function:
// hypre_MPI_Waitall and comm_waitall contain Waitall.
func NamedFor(name, call string) bool {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	return strings.Contains(plain(name), plain(call))
}

// outside returns the number of innermost frames that are wrappers. A wrapper
// counts only if its caller has a name and is not Python's interpreter, whose
// name does not help.
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

// Skip replaces each stack of a process by its innermost place outside
// wrappers. The names of its places must be known.
func (w *Wrappers) Skip(p *Profile) {
	if p.Settings["stack"] != StackAuto || w.names == nil {
		return
	}
	stacks := make(map[uint64][]uint64, len(p.Stacks))
	for site, addresses := range p.Stacks {
		frames := make([]Frame, len(addresses))
		for i, a := range addresses {
			frames[i] = p.Frame(a)
		}
		at := w.outside(frames)
		stacks[site] = slices.Clone(addresses[at:min(at+1, len(addresses))])
	}
	p.Stacks = stacks
}
