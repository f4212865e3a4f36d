// Package source is the door to all that was recorded: Open reads runs, recordings,
// containers, .prof files and Arrow files. A command reads its input in these steps:
//
//  1. Open finds out what the paths are, and lists the recordings or files.
//  2. It reads what tells jobs apart: of packed containers, their index. If the command
//     needs more (Depth), it decodes recordings, and keeps the profiles as long as there is
//     room for them.
//  3. It divides the processes into jobs, and names call sites: those of the profiles that it
//     kept, or a sample.
//  4. Each and EachPart of a Run or Job give the profiles, in order or several at a time.
//     What was not kept is decoded now, and call sites that are met for the first time are
//     named. Everything that the command makes (sums, matrices, tables) is made of this.
//  5. Damage and Unnamed tell what could not be read, or not be named. Both are complete after
//     the fourth step.
//
// So a recording is decoded once for each command. One that is not kept, since the run is too
// large, is decoded a second time in these cases:
//
//   - for stacks of --stack auto: call sites depend on which functions are wrappers, and that is
//     known when all stacks were read;
//   - by history, for the runs that it compares: which these are is known when all were read;
//   - by run, which writes the merged tables in parts of all jobs (of which other processes may
//     have made some), and then sums up each job;
//   - to convert events, which need the rows and communicators of their process.
package source

import (
	"github.com/mpitrace/mpitrace/profile"
)

// Open opens the input of a command: a run directory, a dataset, files of one format, or a
// directory of such files. If a run has no recordings any more, its merged file is read. There may be no job in a run
// directory: see NoJob.
func Open(paths []string, o Options) (*Run, error) {
	r := &Run{Path: paths[0], Log: o.Log}
	switch {
	case o.Depth == Heads:
		o.Room = newRoom(mostOfTables)
	case o.Room == nil:
		o.Room = NewRoom()
	}
	if err := r.open(paths, &o); err != nil {
		r.Close()
		return nil, err
	}
	if o.Depth != Heads && r.tables == nil {
		r.symbolize(o.Known)
	}
	return r, nil
}

// Split divides the profiles of a source, such as a list, into jobs.
func Split(src profile.Source, o Options) (*Run, error) {
	r := &Run{Log: o.Log}
	err := r.split(src, NewRoom())
	if o.Depth != Heads {
		r.symbolize(o.Known)
	}
	return r, err
}
