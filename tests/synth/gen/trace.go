package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// traces writes a run directory with the events of each rank.
func (o options) traces(job synth.Traced) error {
	d, err := rundir.CreateAt(o.dir)
	if err != nil {
		return err
	}
	sources := job.Sources()
	return parallel(len(sources), 1, func(rank, _ int) error {
		return writeTrace(d.TraceFile(rank), sources[rank])
	})
}

func writeTrace(path string, src profile.EventSource) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := tracefile.Write(w, src); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
