package rundir

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
)

// wrongMPISuffix ends the name of a note about a process that uses MPI and is not
// recorded. The note is a symbolic link to "PROGRAM\nMPI", if the library was
// built for another MPI, else to "PROGRAM\nMPI\nREASON". The library
// (wrong_mpi.c) or `mpitrace rank` makes it.
const wrongMPISuffix = ".wrong-mpi"

// WrongMPI is a program that was not recorded, because it uses another MPI than
// the library was built for, or because its calls did not reach the library.
type WrongMPI struct {
	Program   string `json:"program"`
	Library   string `json:"library"` // the MPI that it uses
	Processes int    `json:"processes"`
	Reason    string `json:"reason,omitempty"` // of unseenReasons; empty if the library was built for another MPI
}

// unseenReasons says why calls did not reach the library. The words are those of
// wrong_mpi.h.
var unseenReasons = map[string]string{
	"direct":    "it calls MPI's functions by their PMPI names",
	"bypassed":  "the program got their addresses before mpitrace's library was loaded, or in a way that the library cannot see",
	"namespace": "the MPI is in a namespace of its own (dlmopen), which preloaded libraries are not in",
}

func (p WrongMPI) String() string {
	if p.Reason != "" {
		why := cmp.Or(unseenReasons[p.Reason], p.Reason)
		return fmt.Sprintf("not recorded: calls of %s in %s of %s: %s", text.Line(p.Library), text.CountOf(p.Processes, "process"), text.Line(p.Program), text.Line(why))
	}
	return fmt.Sprintf("not recorded: %s of %s, which uses another MPI (%s) than the library was built for",
		text.CountOf(p.Processes, "process"), text.Line(p.Program), text.Line(p.Library))
}

// Advice returns what was not recorded, and what to do.
func (p WrongMPI) Advice() string {
	if p.Reason != "" {
		return p.String() // nothing helps
	}
	return p.String() + ". Put `mpitrace run --` in front of its launcher. If it is there already, name the MPI: --mpi " +
		text.ShellQuote(p.Library)
}

// WrongMPIs returns the content of the notes in the directories, one entry for
// each program and MPI, in the order of the notes' names. It skips directories
// that cannot be read.
func WrongMPIs(dirs ...string) []WrongMPI {
	var found []WrongMPI
	at := map[WrongMPI]int{}
	for _, dir := range dirs {
		for _, name := range wrongMPINotes(dir) {
			target, err := os.Readlink(filepath.Join(dir, name))
			program, library, ok := strings.Cut(target, "\n")
			if err != nil || !ok {
				continue
			}
			library, reason, _ := strings.Cut(library, "\n")
			key := WrongMPI{Program: program, Library: library, Reason: reason}
			i, known := at[key]
			if !known {
				i = len(found)
				at[key] = i
				found = append(found, key)
			}
			found[i].Processes++
		}
	}
	return found
}

// wrongMPINotes returns the names of the notes in a directory.
func wrongMPINotes(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 && strings.HasSuffix(e.Name(), wrongMPISuffix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// BringWrongMPI copies the notes from one directory to another.
func BringWrongMPI(from, to string) error {
	var errs []error
	for _, name := range wrongMPINotes(from) {
		target, err := os.Readlink(filepath.Join(from, name))
		if err == nil {
			err = os.Symlink(target, filepath.Join(to, name))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// NoteWrongMPI makes the note that the library would make if it were loaded. It
// ignores errors, because the program must run even if the directory is not
// writable.
func NoteWrongMPI(dir, program, library string) {
	host, _ := os.Hostname()
	name := fmt.Sprintf("%s-%d-%d%s", host, os.Getpid(), time.Now().UnixNano(), wrongMPISuffix)
	_ = os.Symlink(program+"\n"+library, filepath.Join(dir, name))
}

// nestedSuffix ends the name of a note about a nested run: an `mpitrace run`
// that the command of another run started. The note is a symbolic link among
// the outer run's recordings. Its target is "\n" followed by the directory of
// the nested run. It shows that those recordings are not missing but elsewhere.
const nestedSuffix = ".nested"

// NoteNested writes a note that the nested run in dir was started by this run. It
// ignores errors: the program must run even if this run's directory is not
// writable.
func (d Dir) NoteNested(dir string) {
	name := fmt.Sprintf("%x%s", sha256.Sum256([]byte(dir)), nestedSuffix) // the same name for all ranks
	_ = os.Symlink("\n"+dir, filepath.Join(d.Recordings(), name))
}

// NestedRuns returns the directories of nested runs, from the notes.
func (d Dir) NestedRuns() []string {
	entries, _ := os.ReadDir(d.Recordings())
	var dirs []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), nestedSuffix) {
			continue
		}
		text, err := os.Readlink(filepath.Join(d.Recordings(), e.Name()))
		if dir, ok := strings.CutPrefix(text, "\n"); err == nil && ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
