package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/interpose"
)

// unrecorded returns a text with the MPI functions that the programs of the
// command import and the library does not intercept. It is empty if there are
// none.
func (j *job) unrecorded(opened *run.Run) string {
	programs := j.Command.Files()
	loaded := [][]string{programs}
	if len(opened.Jobs) > 0 {
		loaded = nil
	}
	for _, job := range opened.Jobs {
		loaded = append(loaded, slices.Concat(programs, job.Loaded())) // a program's libraries may call MPI too
	}
	var names []string
	for _, files := range loaded {
		more, err := interpose.Unrecorded(j.Library, files)
		if err != nil {
			return ""
		}
		names = append(names, more...)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	text := "the program can also make calls that are not recorded: " + firstFew(slices.Compact(names), 6)
	if interpose.IsDispatcher(j.Library) {
		text += ". To record functions that are newer than MPI 3.1, name the program's MPI with --mpi"
	}
	return text
}

// firstFew lists the first names, and the number of the others.
func firstFew(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// missingText returns what a run lacks in addition to its jobs' own problems.
// unrecorded may be empty.
func missingText(programs []run.WrongMPI, unrecorded string) []string {
	var missing []string
	for _, p := range programs {
		missing = append(missing, p.Advice())
	}
	if unrecorded != "" {
		missing = append(missing, unrecorded)
	}
	return missing
}
