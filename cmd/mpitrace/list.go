package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
)

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the recorded runs in a directory",
		Long: `List the runs in DIR, or in the current directory, one line each, the latest
first: the run directory, the program, the ranks, the MPI, when the run
started, how long it took, how it ended, and the size of the directory. A run of
several jobs has the programs, ranks and MPIs of all of them.

How a run ended is the exit status of its command, or the signal that killed it.
If mpitrace run did not wait for the command, "finalized" means that all ranks
reached MPI_Finalize, and "unfinished" that some did not, or not yet.`,
		Example: `  mpitrace list
  mpitrace list --json runs`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return list(cmd, cmp.Or(strings.Join(args, ""), "."), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return cmd
}

func list(cmd *cobra.Command, dir string, asJSON bool) error {
	runs, errs := source.List(dir)
	if err := errors.Join(errs...); err != nil && len(runs) == 0 {
		return usage(err)
	}
	for _, err := range errs {
		warn(cmd.ErrOrStderr(), fmt.Errorf("left out: %w", err))
	}
	if asJSON {
		return text.WriteJSON(cmd.OutOrStdout(), append([]source.Entry{}, runs...)) // [] if there are none
	}
	source.WriteList(cmd.OutOrStdout(), runs, asciiOnly())
	return nil
}
