package report

import (
	"io"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

// Status prints the MPI call each process of a job is in, the longest wait first.
func Status(w io.Writer, s *aggregate.JobStatus, options Options) error {
	return terminal.Write(w, views.Status(s), terminal.Options{ASCII: options.ASCII})
}

// Watch prints what a job is doing.
func Watch(w io.Writer, job *views.Watched, options Options) error {
	return terminal.Write(w, views.Watch(job), terminal.Options{ASCII: options.ASCII})
}
