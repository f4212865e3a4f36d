// Profile2mat makes communication matrices of what the processes of an MPI job
// recorded.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "profile2mat: %v\n", err)
		os.Exit(exitStatus(err))
	}
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus is 2 for wrong usage, 1 for what went wrong later.
func exitStatus(err error) int {
	var usage usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

const long = `Profile2mat adds up what the processes of an MPI job sent to each other and
writes dense matrices, one file for each of

  size  bytes          all       everything
  msg   messages       external  point-to-point, sent by the program
  avg   bytes/message  internal  sent by the MPI library on its own behalf
                       osc       one-sided
                       coll      collectives, their logical volume

named <prefix>_<size|msg|avg>_<class>.mat. Line i, column j is what rank i sent
to rank j. Classes that nothing was recorded of have no file.

A PATH is a run directory of mpitrace, recordings (.rec), .prof files of
mpitrace or of Open MPI's monitoring (one rank's or those of several ranks one
after the other), or Arrow files, all of one run. From a run directory, files go
to its subdirectory matrix and are named for the program; a directory that
holds several jobs has matrices of each. Otherwise they go beside the input:
x.prof gives x_size_all.mat, and x.0.prof x.1.prof ... together do so too.

With --symmetric the files are those of the script profile2mat that comes with
Open MPI: each pair has the mean of both directions, a class has as many lines
as its largest rank asks for, and internal, osc and coll come only with
external.

The names of the files written go to stdout, everything else to stderr.`

const examples = `  profile2mat mpitrace-lmp-20240229-134501
  profile2mat -o matrices --no-self run.*.prof
  profile2mat --symmetric all.prof`

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "profile2mat PATH...",
		Short:         "make communication matrices of the profiles of an MPI job",
		Long:          long,
		Example:       examples,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("no PATH given: %s\nsee profile2mat --help", cmd.UseLine())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w\nsee profile2mat --help", err)}
	})
	cmd.CompletionOptions.DisableDefaultCmd = true
	f := cmd.Flags()
	f.StringVarP(&o.dir, "output", "o", "", "directory for the matrices, made if need be (default: beside the input)")
	f.BoolVar(&o.symmetric, "symmetric", false, "write the matrices of Open MPI's script profile2mat")
	f.BoolVar(&o.noSelf, "no-self", false, "leave out what ranks sent to themselves")
	f.BoolVar(&o.force, "force", false, "overwrite matrices that exist")
	return cmd
}
