// Package arrowfile reads the tables of a run by their columns, as docs/schema.md
// lists them. The files may have been rewritten by another program: rows may be
// filtered, sorted or joined, columns may be missing or in another order, texts
// may be plain, and integers may have another width.
//
// Reading takes two passes. Open looks at the order of the rows and collects the
// call sites. Each then reads the tables side by side, process by process:
//
//  1. ipc.go opens an Arrow file and guards against damage.
//  2. columns.go finds the columns of a batch and converts their values.
//  3. rows.go gives the rows of one table process by process, in order.
//  4. facts.go, ranks.go, comms.go, shares.go and readings.go say what is in a row.
//  5. process.go makes a profile of the rows of one process.
//
// Memory is that of one batch of each table, of the rows of one process and of
// the communicators. A table that is not ordered by run and rank is sorted in
// memory, if it has at most maxUnsorted rows.
package arrowfile

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// File is a profile.Source that reads a table profile, and the tables beside it.
type File struct {
	path    string
	facts   *rows[fact]
	ranks   *rows[*rank]   // nil without the table; so are the following
	shares  *rows[share]   // vectors.arrow
	flows   *rows[sent]    // flows.arrow
	reading *rows[reading] // pvars.arrow
	comms   *comms
	sites   *sites
	damage  error // of pvars.arrow
	whole   bool  // the tables beside the file have the same processes
}

// Open opens a file, and looks through the file and the tables beside it.
func Open(path string) (*File, error) {
	f := &File{path: path, sites: newSites()}
	beside := tablesOf(path)
	f.whole = beside.whole
	runs := new(runOrder)
	f.facts = newRows(path, runs, table.ProfileColumns, decodeFacts)
	if err := f.facts.scan(f.sites.note); err != nil {
		return nil, err
	}
	if f.facts.noRun {
		*runs = runOrder{} // the other tables tell the run
	}
	var err error
	if f.ranks, err = openBeside(beside.file("ranks"), runs, table.RankColumns, decodeRanks, f.sites.noteOpen); err != nil {
		return nil, err
	}
	if f.shares, err = openBeside(beside.file("vectors"), runs, table.VectorColumns, decodeShares, nil); err != nil {
		return nil, err
	}
	if f.flows, err = openBeside(beside.file("flows"), runs, table.FlowColumns, decodeFlows, nil); err != nil {
		return nil, err
	}
	if f.reading, f.damage = openBeside(beside.file("pvars"), runs, table.PvarColumns, decodeReadings, nil); f.damage != nil {
		f.reading = nil // everything else is whole
	}
	f.comms, err = openComms(beside.all("comms", "communicators"))
	return f, err
}

func openBeside[T, C any](path string, runs *runOrder, cols []table.Column[C], decode decoder[T], note func(T)) (*rows[T], error) {
	if path == "" {
		return nil, nil
	}
	r := newRows(path, runs, cols, decode)
	return r, r.scan(note)
}

// Lacks says what no table has.
func (f *File) Lacks() string {
	return "settings, control variables, late receives, messages of the library, and the paths of modules"
}

// Each implements profile.Source.
func (f *File) Each(each func(*profile.Profile) error) error {
	facts, stopFacts := pull(f.facts)
	defer stopFacts()
	ranks, stopRanks := pull(f.ranks)
	defer stopRanks()
	shares, stopShares := pull(f.shares)
	defer stopShares()
	flows, stopFlows := pull(f.flows)
	defer stopFlows()
	readings, stopReadings := pull(f.reading)
	defer stopReadings()
	unknown, lost := new(unknown), splitLines(f.facts.lost)
	var last *profile.Profile // held back: the last profile gets what the file does not tell
	for {
		key, more := facts.key()
		if of, also := ranks.key(); also && f.whole && (!more || f.facts.runs.less(of, key)) {
			key, more = of, true
		}
		if !more {
			break
		}
		if last != nil {
			if err := each(last); err != nil {
				return err
			}
		}
		p := process{file: f, facts: facts.at(key), ranks: ranks.at(key), shares: shares.at(key), flows: flows.at(key), readings: readings.at(key), unknown: unknown}
		for i := range max(1, len(p.ranks)) {
			// processes that ended before their rank was known: it is not known which rows belong
			// to which of them
			if i > 0 {
				if err := each(last); err != nil {
					return err
				}
				p.facts, p.shares, p.flows, p.readings, p.ranks = nil, nil, nil, nil, p.ranks[1:]
			}
			var err error
			if last, err = p.profile(key); err != nil {
				return tableError(f.path, err)
			}
			lost = slices.DeleteFunc(lost, func(line string) bool { return line == last.Damage() || slices.Contains(last.Lost, line) })
		}
		if err := firstError(facts, ranks, shares, flows, readings); err != nil {
			return err
		}
	}
	switch err := firstError(facts, ranks, shares, flows, readings); {
	case err != nil:
		return err
	case last == nil && len(lost) > 0:
		return tableError(f.path, errors.New("it has no rows, and this was lost: "+strings.Join(lost, "; ")))
	case last == nil:
		return nil
	}
	last.Lost, last.Untold = append(last.Lost, lost...), unknown.lines(f)
	if f.damage != nil {
		last.Lost = append(last.Lost, f.damage.Error())
	}
	return each(last)
}

func firstError(streams ...interface{ failed() error }) error {
	for _, s := range streams {
		if err := s.failed(); err != nil {
			return err
		}
	}
	return nil
}

// stream gives the rows of the processes of a table.
type stream[T any] struct {
	of   *rows[T]
	next func() (group[T], error, bool)
	head group[T]
	more bool
	err  error
}

func pull[T any](r *rows[T]) (*stream[T], func()) {
	s := &stream[T]{of: r}
	if r == nil {
		return s, func() {}
	}
	next, stop := iter.Pull2(r.groups())
	s.next = next
	s.advance()
	return s, stop
}

func (s *stream[T]) advance() { s.head, s.err, s.more = s.next(); s.more = s.more && s.err == nil }

func (s *stream[T]) failed() error { return s.err }

func (s *stream[T]) key() (key, bool) { return s.head.key, s.more }

// at returns the rows of a process. Processes before it are skipped.
func (s *stream[T]) at(k key) []T {
	for s.more && s.of.runs.less(s.head.key, k) {
		s.advance()
	}
	if !s.more || s.head.key != k {
		return nil
	}
	found := s.head.rows
	s.advance()
	return found
}

// beside is where the other tables of a run are.
type beside struct {
	dir, part string
	whole     bool
}

// tablesOf returns where the tables are that belong to a file: in its directory or, if it
// is a part, in directories beside that of the parts:
//
//	RUN/profile/part-3.arrow       RUN/ranks/part-3.arrow
//	DIR/profile/rank_block=0/...   DIR/ranks/rank_block=0/...
func tablesOf(path string) beside {
	dir, name := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if block := filepath.Base(dir); strings.HasPrefix(block, "rank_block=") {
		dir, name = filepath.Dir(dir), filepath.Join(block, name)
	}
	if filepath.Base(dir) == table.ProfileFile {
		return beside{filepath.Dir(dir), name, true}
	}
	stem, _, _ := strings.Cut(name, ".")
	return beside{dir, "", stem == table.ProfileFile}
}

// file returns the path of a table; empty if there is none.
func (b beside) file(name string) string {
	path := filepath.Join(b.dir, name+".arrow")
	if b.part != "" {
		path = filepath.Join(b.dir, name, b.part)
	}
	if !regular(path) {
		return ""
	}
	return path
}

// all returns the paths of all parts of a table, which may have one of several names.
func (b beside) all(names ...string) (paths []string) {
	for _, name := range names {
		if one := filepath.Join(b.dir, name+".arrow"); regular(one) {
			return []string{one}
		}
		parts, _ := os.ReadDir(filepath.Join(b.dir, name)) // there may be none
		for _, part := range parts {
			if path := filepath.Join(b.dir, name, part.Name()); strings.HasPrefix(part.Name(), "part-") && regular(path) {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
