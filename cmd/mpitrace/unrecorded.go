package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
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
	return "the program can also make calls that are not recorded: " + few(slices.Compact(names))
}

// sayWrongMPI names the programs that were not recorded because they use
// another MPI than the library was built for.
func sayWrongMPI(log io.Writer, programs []run.WrongMPI) {
	for _, p := range programs {
		fmt.Fprintf(log, "mpitrace: incomplete: %s\n", wrongMPIAdvice(p))
	}
}

func wrongMPIAdvice(p run.WrongMPI) string {
	return wrongMPIText(p) + ". Put `mpitrace run --` in front of its launcher"
}

func wrongMPIText(p run.WrongMPI) string {
	return fmt.Sprintf("not recorded: %s of %s, which uses another MPI (%s) than the library was built for",
		text.CountOf(p.Processes, "process"), text.Line(p.Program), text.Line(p.Library))
}

// missingText returns the warnings that follow the summaries: what a run lacks
// in addition to its jobs' own problems.
func missingText(programs []run.WrongMPI, unrecorded string) []string {
	var missing []string
	for _, p := range programs {
		missing = append(missing, wrongMPIAdvice(p))
	}
	if unrecorded != "" {
		missing = append(missing, unrecorded)
	}
	return missing
}

// few lists the first names, and the number of the others.
func few(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
