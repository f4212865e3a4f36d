// Package symbolize names call sites: which function, in which line of which
// file of the source, an address in a program or library belongs to.
//
// Names come from DWARF (also of separate debug files), else from the symbol
// table. A file that is not the one that ran, as its build-id or its date tells,
// names nothing.
package symbolize

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DebugDir is where distributions put debug files.
const DebugDir = "/usr/lib/debug"

// Sites are the call sites of some profiles.
type Sites struct {
	names  profile.Symbols             // that profiles brought
	places map[profile.Place]time.Time // when the first process met that has it started
}

// Add takes the call sites of a profile.
func (s *Sites) Add(p *profile.Profile) {
	if s.places == nil {
		s.names, s.places = profile.Symbols{}, map[profile.Place]time.Time{}
	}
	for _, a := range p.Addresses() {
		place := p.Place(a)
		if _, known := s.places[place]; known || place.Path == "" {
			continue
		}
		s.places[place] = time.Unix(0, p.Start)
		if name, ok := p.Symbols[place]; ok {
			s.names[place] = name
		}
	}
}

// Symbols names all places: as known says, as the profiles did, else by the
// files themselves. Each error is of one file; the names of its places are
// missing.
func (s *Sites) Symbols(known profile.Symbols) (profile.Symbols, []error) {
	symbols := profile.Symbols{}
	maps.Copy(symbols, known)
	maps.Copy(symbols, s.names)
	var errs []error
	for _, m := range s.wanted(symbols) {
		named, err := m.symbols(DebugDir)
		maps.Copy(symbols, named)
		if err != nil {
			errs = append(errs, fmt.Errorf("name call sites in %s: %w", text.Line(m.path), err))
		}
	}
	return symbols, errs
}

// A module is a file with the addresses to be named in it.
type module struct {
	path, buildID string
	ran           time.Time // when a process that had it loaded started
	addresses     []uint64  // in order
}

// wanted lists the places that have no name, by file.
func (s *Sites) wanted(known profile.Symbols) []*module {
	byFile := map[profile.Place]*module{}
	for place, ran := range s.places {
		if _, named := known[place]; named {
			continue
		}
		file := profile.Place{Path: place.Path, BuildID: place.BuildID}
		m := byFile[file]
		if m == nil {
			m = &module{path: place.Path, buildID: place.BuildID, ran: ran}
			byFile[file] = m
		}
		if ran.Before(m.ran) {
			m.ran = ran
		}
		m.addresses = append(m.addresses, place.Offset)
	}
	out := slices.SortedFunc(maps.Values(byFile), func(a, b *module) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.buildID, b.buildID))
	})
	for _, m := range out {
		slices.Sort(m.addresses)
	}
	return out
}

// symbols looks into the file, and into its debug file below debugDir or beside
// it. An error comes with what could be named all the same.
func (m *module) symbols(debugDir string) (profile.Symbols, error) {
	files, err := m.open(debugDir)
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
		err = nil // the debug file was enough
	}
	out := profile.Symbols{}
	for a, s := range found {
		s.Function, s.Source = strings.ToValidUTF8(s.Function, "\uFFFD"), strings.ToValidUTF8(s.Source, "\uFFFD") // as tables want it
		out[profile.Place{Path: m.path, BuildID: m.buildID, Offset: a}] = s
	}
	return out, err
}

// errNotThere marks that the file that ran is no longer there.
var errNotThere = errors.New("")

// open opens the files that tell the names: the module's own, if it still is
// what it was, and its debug file.
func (m *module) open(debugDir string) ([]*file, error) {
	var files []*file
	own, err := openFile(m.path)
	switch {
	case err != nil:
		own = nil
		var missing *fs.PathError
		if errors.As(err, &missing) {
			err = fmt.Errorf("%w%w", missing.Err, errNotThere)
		}
	case own.buildID != m.buildID:
		err = fmt.Errorf("the file has changed since the run: its build-id is %s, was %s%w",
			orNone(own.buildID), orNone(m.buildID), errNotThere)
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
	if d := debugFile(own, m.buildID, debugDir); d != nil {
		files = append(files, d)
	}
	return files, err
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return id
}

// debugFile finds the debug file by the build-id, or by the name that the file
// itself gives; nil if there is none that belongs to it.
func debugFile(own *file, buildID, debugDir string) *file {
	for _, path := range debugPaths(own, buildID, debugDir) {
		if own != nil && sameFile(path, own.path) {
			continue
		}
		d, err := openFile(path)
		if err != nil {
			continue
		}
		if d.buildID == buildID && (buildID != "" || own.linksTo(path)) {
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
