package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
)

func newPreload() *cobra.Command {
	return &cobra.Command{
		Use:   "preload",
		Short: "Print the path of the library to preload by hand",
		Long: `Print the path of libmpitrace.so, to be set as LD_PRELOAD. It records the programs
of every MPI for which mpitrace has a library; a process that uses no MPI is not
affected. The library is written to the user's cache if it is not there.

    mkdir halo
    export LD_PRELOAD=$(mpitrace preload) MPITRACE_DIR=$PWD/halo
    mpirun -n 4 ./halo

Set the directory of the recordings with MPITRACE_DIR, and other settings with the
variables that ` + "`mpitrace config`" + ` lists. ` + "`mpitrace report DIR`" + ` shows the result.

Functions that are newer than version 3.1 of the MPI Standard are not recorded in
this way, because some MPIs do not have them. ` + "`mpitrace run -- mpirun ...`" + `
records those too.`,
		Example: "  mpitrace preload",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			library, err := launch.Dispatcher(cmd.Context(), nil, nil, cmd.ErrOrStderr())
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), library)
			}
			return err
		},
	}
}
