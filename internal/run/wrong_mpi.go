package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wrongMPISuffix ends the name of a note about a process that uses another MPI
// than the library was built for, and so is not recorded: a symbolic link to
// "PROGRAM\nMPI", which the library (wrong_mpi.c) or `mpitrace rank` leaves where the
// recording would be.
const wrongMPISuffix = ".wrong-mpi"

// WrongMPI is a program that is missing from a run, as it uses another MPI than
// the library was built for.
type WrongMPI struct {
	Program   string `json:"program"`
	Library   string `json:"library"` // the MPI that it uses
	Processes int    `json:"processes"`
}

// WrongMPIs returns what the notes in the directories say, by program and MPI, in
// the order of the notes' names. Directories that cannot be read have none.
func WrongMPIs(dirs ...string) []WrongMPI {
	var found []WrongMPI
	at := map[[2]string]int{}
	for _, dir := range dirs {
		for _, name := range wrongMPINotes(dir) {
			text, err := os.Readlink(filepath.Join(dir, name))
			program, library, ok := strings.Cut(text, "\n")
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

// wrongMPINotes lists the names of the notes in a directory.
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
		text, err := os.Readlink(filepath.Join(from, name))
		if err == nil {
			err = os.Symlink(text, filepath.Join(to, name))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// NoteWrongMPI leaves the note that the library would leave, if it were loaded. A
// directory that cannot be written to is no reason not to run the program.
func NoteWrongMPI(dir, program, library string) {
	host, _ := os.Hostname()
	name := fmt.Sprintf("%s-%d-%d%s", host, os.Getpid(), time.Now().UnixNano(), wrongMPISuffix)
	_ = os.Symlink(program+"\n"+library, filepath.Join(dir, name))
}
