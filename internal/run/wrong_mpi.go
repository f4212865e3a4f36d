package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
)

// wrongMPISuffix ends the name of a note about a process that is not recorded,
// because it uses another MPI than the library was built for. The note is a
// symbolic link to "PROGRAM\nMPI". The library (wrong_mpi.c) or `mpitrace rank`
// makes it in place of the recording.
const wrongMPISuffix = ".wrong-mpi"

// WrongMPI is a program that was not recorded, because it uses another MPI than
// the library was built for.
type WrongMPI struct {
	Program   string `json:"program"`
	Library   string `json:"library"` // the MPI that it uses
	Processes int    `json:"processes"`
}

func (p WrongMPI) String() string {
	return fmt.Sprintf("not recorded: %s of %s, which uses another MPI (%s) than the library was built for",
		text.CountOf(p.Processes, "process"), text.Line(p.Program), text.Line(p.Library))
}

// Advice returns what was not recorded, and what to do.
func (p WrongMPI) Advice() string {
	return p.String() + ". Put `mpitrace run --` in front of its launcher. If it is there already, name the MPI: --mpi " +
		text.ShellQuote(p.Library)
}

// WrongMPIs returns the content of the notes in the directories, one entry for
// each program and MPI, in the order of the notes' names. It skips directories
// that cannot be read.
func WrongMPIs(dirs ...string) []WrongMPI {
	var found []WrongMPI
	at := map[[2]string]int{}
	for _, dir := range dirs {
		for _, name := range wrongMPINotes(dir) {
			target, err := os.Readlink(filepath.Join(dir, name))
			program, library, ok := strings.Cut(target, "\n")
			if err != nil || !ok {
				continue
			}
			key := [2]string{program, library}
			i, known := at[key]
			if !known {
				i = len(found)
				at[key] = i
				found = append(found, WrongMPI{Program: program, Library: library})
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

// bringWrongMPI copies the notes from one directory to another.
func bringWrongMPI(from, to string) error {
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
