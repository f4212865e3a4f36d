package main

import (
	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
)

// newRank returns the command that `mpitrace run` puts in front of each program
// in a launcher's command line. Users do not need it.
func newRank() *cobra.Command {
	var r launch.Recorder
	var path, flavour string
	var words []string
	cmd := &cobra.Command{
		Use:     "rank --lib LIBRARY --dir DIR [flags] -- PROGRAM [ARGS...]",
		Short:   "Run a program and record it (used by `run` to start each process of a job)",
		Example: "  mpirun -n 2 mpitrace rank --lib $PWD/libmpitrace-openmpi.so --dir $PWD/run -- ./app",
		Hidden:  true,
		Args:    asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, argv []string) error {
			var err error
			if r.Settings, err = settings.ParseWords(words); err != nil {
				return usage(err)
			}
			r.Flavour = rundir.Flavour(flavour)
			if err := r.Exec(argv, path, cmd.ErrOrStderr()); err != nil {
				return &exit{exitNotFound, err}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&r.Library, "lib", "", "the library to preload")
	f.StringVar(&r.Dir, "dir", "", "the run directory, absolute")
	f.StringVar(&r.Spool, "spool", "", "the spool on the node where the job was launched; used if it is here")
	f.StringArrayVar(&words, "set", nil, "a setting, as `NAME=VALUE`; each element of a list by itself")
	f.StringVar(&flavour, "mpi", "", "the MPI that the library is for: a program that is linked to another is not recorded")
	f.StringVar(&r.Dispatcher, "dispatcher", "", "the library for all MPIs: preloaded instead if the program is linked to none")
	f.StringVar(&path, "path", "", "where to look for the program, instead of PATH")
	cmd.MarkFlagRequired("lib")
	cmd.MarkFlagRequired("dir")
	return cmd
}

// exitNotFound is the status of shells and env for a program that cannot be
// run.
const exitNotFound = 127
