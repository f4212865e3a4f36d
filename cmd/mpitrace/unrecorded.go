package main

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// unrecorded says which MPI functions the programs of the command import that
// the library does not intercept; empty if there are none.
func (j *job) unrecorded(run *rundir.Run) string {
	files := j.command.Files()
	for _, job := range run.Jobs {
		files = append(files, job.Loaded()...) // its libraries may call MPI too
	}
	names, err := interpose.Unrecorded(j.library, files)
	if err != nil || len(names) == 0 {
		return ""
	}
	return "the program can also make calls that are not recorded: " + few(names)
}

// few names some of many.
func few(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
