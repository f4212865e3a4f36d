package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
)

// newestHelp says what commands take if no run is named.
const newestHelp = `Without %s, it is the newest of your runs in the current directory, or the current
directory if it is a run; its name goes to standard error.`

// namedRun returns the run that the arguments name. If there are none, it returns the newest run in
// the current directory, and prints which one it is.
func namedRun(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	run, err := source.Newest(".")
	if err == nil {
		warn(cmd.ErrOrStderr(), "the newest run: "+run)
	}
	return run, err
}

// onRun returns the function of a command that works on the directory of a run.
func onRun(do func(*cobra.Command, rundir.Dir) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		dir, err := namedRun(cmd, args)
		if err != nil {
			return err
		}
		return do(cmd, rundir.Dir(dir))
	}
}

// namedRuns returns the two runs that the arguments name. If there are none, it returns the newest
// two of one program in the current directory, the older first, and prints which they are.
func namedRuns(cmd *cobra.Command, args []string) (a, b string, err error) {
	if len(args) > 0 {
		return args[0], args[1], nil
	}
	if a, b, err = source.NewestTwo("."); err == nil {
		warn(cmd.ErrOrStderr(), fmt.Sprintf("the newest two runs of one program: A is %s, B is %s", a, b))
	}
	return a, b, err
}

// noneOrTwo is a check of arguments.
func noneOrTwo(_ *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 2 {
		return nil
	}
	return errors.New("name two runs, or none for the newest two")
}
