package export

import (
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
)

// readNotes returns the notes of the parts.
func (m *merger) readNotes(tasks []string) (notes []*partNote, err error) {
	for _, task := range tasks {
		note := new(partNote)
		if err := m.tasks.Read(task, func(r *io.SectionReader) error { return gob.NewDecoder(r).Decode(note) }); err != nil {
			return nil, err
		}
		notes = append(notes, note)
	}
	return notes, nil
}

// namesOf returns the names of call sites that the parts have.
func namesOf(notes []*partNote) profile.Symbols {
	names := profile.Symbols{}
	for _, note := range notes {
		for place, name := range note.Names {
			if name != (profile.Symbol{}) { // which another process may have found
				names[place] = name
			}
		}
	}
	return names
}

// end joins the communicators and moves the tables to their places.
func (m *merger) end(tasks []string) error {
	notes, err := m.readNotes(tasks)
	if err != nil {
		return err
	}
	var comms table.Comms
	tables := map[string][]partFile{} // files of each file or directory in the run directory
	for _, note := range notes {
		comms.Merge(&note.Comms)
		for _, file := range note.Files {
			if err := m.check(file); err != nil {
				return err
			}
			name := top(file.Name)
			tables[name] = append(tables[name], file)
		}
	}
	damaged := damageOf(m.run, notes)
	if len(tables) == 0 {
		return fmt.Errorf("no recording can be read: %s", strings.Join(damaged, "; "))
	}
	name := m.name(table.CommsFile, 0)
	tables[top(name)] = []partFile{{Name: name}}
	if m.before != nil {
		m.failed = m.before(inOrder(tables), notes)
	}
	if err := atomicfile.Write(m.written(name), comms.Write); err != nil {
		return err
	}
	if err := m.move(tables); err != nil {
		return err
	}
	return m.dir.WriteMerged(rundir.MergedState{Recordings: m.run.State, Damaged: damaged}) // last: if this is interrupted, the run is still stale
}

// inOrder returns the names of the tables in the run directory, in the order of
// table.MergedFiles.
func inOrder(tables map[string][]partFile) (names []string) {
	for _, file := range table.MergedFiles {
		for _, name := range []string{file + ".arrow", file} {
			if tables[name] != nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// places returns where a file may be: where it was written, in a directory that is to be
// moved, and in the run directory, if an earlier process was interrupted while it moved the
// tables.
func (m *merger) places(name string) []string {
	return []string{m.written(name), filepath.Join(m.path, name), filepath.Join(string(m.dir), name)}
}

// check returns an error if a file of a part is not whole, because its node crashed.
func (m *merger) check(file partFile) (err error) {
	if !filepath.IsLocal(file.Name) {
		return fmt.Errorf("%s: damaged", m.path)
	}
	for _, path := range m.places(file.Name) {
		if rundir.Exists(path) {
			return checkSum(path, file.Sum)
		}
	}
	return fmt.Errorf("%s is missing: repeat the command", m.written(file.Name))
}

func checkSum(path string, want uint32) error {
	sum := crc32.New(castagnoli)
	err := atomicfile.ReadAt(path, "read", func(r io.ReaderAt, size int64) error {
		_, err := io.Copy(sum, io.NewSectionReader(r, 0, size))
		return err
	})
	if err == nil && sum.Sum32() != want {
		err = fmt.Errorf("%s is damaged: repeat the command", path)
	}
	return err
}

// move moves the tables into the run directory, and removes those of an earlier merge.
func (m *merger) move(tables map[string][]partFile) error {
	for _, table := range table.MergedFiles {
		for _, name := range []string{table + ".arrow", table} {
			var err error
			if files := tables[name]; files == nil {
				err = removeTable(filepath.Join(string(m.dir), name))
			} else if name == table {
				err = m.moveParts(name, files)
			} else if from := m.written(name); rundir.Exists(from) {
				err = atomicfile.Move(from, filepath.Join(string(m.dir), name))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// moveParts moves the parts of a table to a directory, which then replaces that in the run
// directory, unless an earlier process has done it.
func (m *merger) moveParts(name string, files []partFile) error {
	ready, place := filepath.Join(m.path, name), filepath.Join(string(m.dir), name)
	moved := slices.ContainsFunc(files, func(f partFile) bool {
		return !rundir.Exists(m.written(f.Name)) && !rundir.Exists(filepath.Join(m.path, f.Name))
	})
	if moved {
		for _, file := range files {
			if err := checkSum(filepath.Join(string(m.dir), file.Name), file.Sum); err != nil {
				return err
			}
		}
		return nil
	}
	if err := os.MkdirAll(ready, 0o777); err != nil {
		return err
	}
	for _, file := range files {
		if from := m.written(file.Name); rundir.Exists(from) {
			if err := atomicfile.Move(from, filepath.Join(m.path, file.Name)); err != nil {
				return err
			}
		}
	}
	if err := removeTable(place); err != nil {
		return err
	}
	return atomicfile.Move(ready, place)
}

// damageOf returns what the tables lack: parts of recordings, whole ones, and ranks
// without a recording.
func damageOf(run *source.Run, notes []*partNote) []string {
	damaged := texts(run.Damage())
	for _, note := range notes {
		damaged = append(damaged, note.Damaged...)
	}
	return unique(append(damaged, run.MissingText()...))
}

// top returns the first element of a name.
func top(name string) string {
	name, _, _ = strings.Cut(name, string(filepath.Separator))
	return name
}

// removeTable removes a table of an earlier merge: a file, or a directory that has
// only parts.
func removeTable(path string) error {
	if info, err := os.Lstat(path); err != nil {
		return nil
	} else if !info.IsDir() {
		return os.Remove(path)
	}
	if err := onlyExported(path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

func texts(errs []error) (out []string) {
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}

// unique returns the texts without those that occurred before.
func unique(texts []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(texts, func(text string) bool {
		was := seen[text]
		seen[text] = true
		return was
	})
}
