// Package source is the entry to everything that was recorded: Open reads runs, recordings,
// containers, .prof files and Arrow files. A command reads its input in these steps:
//
//  1. Open finds out what the paths are, and lists the recordings or files.
//  2. It reads what distinguishes jobs: for packed containers, their index. If the command needs
//     more (Depth), it decodes recordings, and keeps as many profiles as there is room for.
//  3. It divides the processes into jobs, and names call sites: those of the kept profiles, or
//     those of a sample.
//  4. Each and EachPart of a Run or Job give the profiles, in order or several at a time.
//     Profiles that were not kept are decoded now, and call sites that occur for the first time
//     are named. All output of the command (sums, matrices, tables) is made from these profiles.
//  5. Damage and Unnamed return what could not be read, or not be named. They are complete after
//     the fourth step.
//
// So each command decodes a recording once. In a run that is too large to keep all profiles, a
// recording is decoded a second time in these cases:
//
//   - for the stacks of --stack auto: call sites depend on which functions are wrappers, which
//     is known only when all stacks were read;
//   - by history, for the runs that it compares: it chooses them when all runs were read;
//   - by run, which first writes the merged tables in parts of all jobs (other processes may
//     have made some of the parts), and then sums up each job;
//   - to convert events, which needs the rows and communicators of their process.
package source

import (
	"github.com/mpitrace/mpitrace/profile"
)

// Open opens the input of a command: a run directory, a dataset, files of one format, or a
// directory of such files. If a run has no recordings any more, Open reads its merged file. A run
// directory may have no job: see NoJob.
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
