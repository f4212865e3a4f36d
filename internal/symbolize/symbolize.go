// Package symbolize finds the names of call sites: the function, the source
// file and the line that an address in a program or library belongs to.
//
// Names come from DWARF, also in separate debug files, or from the symbol
// table. A file is not used if its build-id or its date shows that it is not
// the file that ran.
package symbolize

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DebugDir is where Linux distributions install debug files.
const DebugDir = "/usr/lib/debug"

// debugDirs are searched for debug files.
var debugDirs = []string{DebugDir}

// SearchFirst makes all later lookups search for debug files in these directories before DebugDir.
// Names that are known without a line are then looked up again.
func SearchFirst(dirs ...string) { debugDirs = slices.Concat(dirs, []string{DebugDir}) }

// FileError says why call sites in a file have no names.
type FileError struct {
	Path     string
	Stripped bool // the file has no symbol table, and no debug file was found
	Err      error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("name call sites in %s: %v", text.Line(e.Path), e.Err)
}
func (e *FileError) Unwrap() error { return e.Err }

// errStripped is the error for a file that has no names.
var errStripped = errors.New("it is stripped, and no debug file was found")

// Sites collects the call sites of profiles.
type Sites struct {
	names  profile.Symbols             // names that the profiles contain
	places map[profile.Place]time.Time // start time of the first process with this place
}

// Places returns the places that were added.
func (s *Sites) Places() iter.Seq[profile.Place] { return maps.Keys(s.places) }

// Add adds the call sites of a profile. began is when it, or its job, began, in Unix ns.
func (s *Sites) Add(p *profile.Profile, began int64) {
	if s.places == nil {
		s.names, s.places = profile.Symbols{}, map[profile.Place]time.Time{}
	}
	for _, a := range p.Addresses() {
		place := p.Place(a)
		if place.Path == "" {
			continue
		}
		if _, known := s.places[place]; !known {
			s.places[place] = time.Unix(0, began)
		}
		if name, ok := p.Symbols[place]; ok {
			s.names[place] = name
		}
	}
}

// Symbols returns the names of all places: from known, from the profiles, or
// from the files. Each error is about one file, whose places have no names.
func (s *Sites) Symbols(known profile.Symbols) (profile.Symbols, []*FileError) {
	symbols := profile.Symbols{}
	maps.Copy(symbols, known)
	maps.Copy(symbols, s.names)
	var errs []*FileError
	for _, m := range s.wanted(symbols) {
		named, err := m.symbols(debugDirs...)
		maps.Copy(symbols, named)
		if err != nil {
			errs = append(errs, &FileError{m.path, err == errStripped, err})
		}
	}
	return symbols, errs
}

// moduleAddresses is a file and the addresses in it that need names.
type moduleAddresses struct {
	path, buildID string
	ran           time.Time // start time of a process that had it loaded
	addresses     []uint64  // sorted
}

// wanted returns the places without names, by file.
func (s *Sites) wanted(known profile.Symbols) []*moduleAddresses {
	byFile := map[profile.Place]*moduleAddresses{}
	for place, ran := range s.places {
		if name, named := known[place]; named && (name.Line > 0 || name.Function != "" && len(debugDirs) == 1) {
			continue
		}
		file := profile.Place{Path: place.Path, BuildID: place.BuildID}
		m := byFile[file]
		if m == nil {
			m = &moduleAddresses{path: place.Path, buildID: place.BuildID, ran: ran}
			byFile[file] = m
		}
		if ran.Before(m.ran) {
			m.ran = ran
		}
		m.addresses = append(m.addresses, place.Offset)
	}
	out := slices.SortedFunc(maps.Values(byFile), func(a, b *moduleAddresses) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.buildID, b.buildID))
	})
	for _, m := range out {
		slices.Sort(m.addresses)
	}
	return out
}

// symbols searches the file, and its debug file next to it or below the debugDirs.
// With an error it also returns the names that it found.
func (m *moduleAddresses) symbols(debugDirs ...string) (profile.Symbols, error) {
	files, err := m.open(debugDirs)
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	found := map[uint64]profile.Symbol{}
	for _, f := range files {
		if e := f.name(m.addresses, found); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", text.Line(f.path), e))
		}
	}
	if len(found) > 0 && errors.Is(err, errNotThere) {
		err = nil // the debug file had all names
	}
	if err == nil && m.isStripped(files, found) {
		err = errStripped
	}
	forgetSingleOffsets(found)
	out := profile.Symbols{}
	for a, s := range found {
		s.Function, s.Source = strings.ToValidUTF8(s.Function, "\uFFFD"), strings.ToValidUTF8(s.Source, "\uFFFD") // tables require valid UTF-8
		s.Near = strings.ToValidUTF8(s.Near, "\uFFFD")
		out[profile.Place{Path: m.path, BuildID: m.buildID, Offset: a}] = s
	}
	return out, err
}

// isStripped reports whether a call has no name because no file has a symbol table.
func (m *moduleAddresses) isStripped(files []*elfFile, found map[uint64]profile.Symbol) bool {
	return !slices.ContainsFunc(files, func(f *elfFile) bool { return f.SectionByType(elf.SHT_SYMTAB) != nil }) &&
		slices.ContainsFunc(m.addresses, func(a uint64) bool { return found[a].Function == "" && found[a].Line == 0 })
}

// forgetSingleOffsets removes the offsets where a name has one call site: the name alone tells it from
// others. Several functions may have one name, such as the instances of a template.
func forgetSingleOffsets(found map[uint64]profile.Symbol) {
	type names struct{ function, near string }
	places := map[names]int{}
	for _, s := range found {
		if s.Into > 0 {
			places[names{s.Function, s.Near}]++
		}
	}
	for a, s := range found {
		if places[names{s.Function, s.Near}] == 1 {
			s.Into = 0
			found[a] = s
		}
	}
}

// errNotThere means that the file that ran no longer exists.
var errNotThere = errors.New("")

// open opens the files with names: the module itself, if it is unchanged, and
// its debug file.
func (m *moduleAddresses) open(debugDirs []string) ([]*elfFile, error) {
	var files []*elfFile
	own, err := openFile(m.path)
	switch {
	case err != nil:
		own = nil
		var missing *fs.PathError
		if errors.As(err, &missing) {
			err = fmt.Errorf("%w%w", missing.Err, errNotThere)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("the file was deleted or moved since the run, or is on another machine: %w", err)
		}
	case own.buildID != m.buildID:
		err = fmt.Errorf("the file has changed since the run: its build-id is %s, was %s%w",
			cmp.Or(own.buildID, "none"), cmp.Or(m.buildID, "none"), errNotThere)
	case m.buildID == "" && own.modified.After(m.ran):
		err = fmt.Errorf("the file may have changed since the run: it has no build-id, and is of %s%w",
			own.modified.Format(time.DateTime), errNotThere)
	default:
		files = append(files, own)
	}
	if own != nil && err != nil {
		own.close()
		own = nil
	}
	if d := m.debugFile(own, debugDirs); d != nil {
		files = append(files, d)
	}
	return files, err
}

// debugFile opens the debug file, found by build-id or by the name in the file.
// It returns nil if no debug file belongs to this file.
func (m *moduleAddresses) debugFile(own *elfFile, debugDirs []string) *elfFile {
	for _, path := range m.debugPaths(own, debugDirs) {
		if own != nil && sameFile(path, own.path) {
			continue
		}
		d, err := openFile(path)
		if err != nil {
			continue
		}
		if d.buildID == m.buildID && (m.buildID != "" || own.linksTo(path)) {
			return d
		}
		d.close()
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
