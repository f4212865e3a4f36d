package main

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/interpose"
)

// unrecorded says which MPI functions the programs of the command import that
// the library does not intercept; empty if there are none.
func (j *job) unrecorded(jobs []*aggregate.Job) string {
	files := j.command.Files()
	for _, job := range jobs {
		if len(job.Profiles) == 0 {
			continue
		}
		for _, m := range job.Profiles[0].Modules { // its libraries may call MPI too
			files = append(files, m.Path)
		}
	}
	names, err := interpose.Unrecorded(j.library, files)
	if err != nil {
		return ""
	}
	var c, fortran []string
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "MPI_"):
			c = append(c, name)
		case j.mpi.Flavour == launch.OpenMPI: // MPICH's binding calls the C functions, which are seen
			fortran = append(fortran, name)
		}
	}
	var parts []string
	if len(c) > 0 {
		parts = append(parts, "the program can also make calls that are not recorded: "+few(c))
	}
	if len(fortran) > 0 {
		parts = append(parts, "it calls MPI from Fortran, which is not recorded under Open MPI yet: "+few(fortran))
	}
	return strings.Join(parts, "; ")
}

// few names some of many.
func few(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
