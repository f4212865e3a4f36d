package main

import (
	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check which MPIs are installed, what is missing, and whether recording works",
		Long: `Look for MPIs, their compiler wrappers and everything else that mpitrace needs.
Then compile a small program with each MPI, record a run of it, and check the
recording. For an MPI without a compiler wrapper, check whether an installed
library fits it. The exit status is 1 if no MPI on this machine can be recorded.`,
		Example: "  mpitrace doctor",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := findSettings(cmd.Flags()); err != nil { // sets the place of the cache
				return usage(err)
			}
			return launch.Doctor(cmd.Context(), cmd.OutOrStdout(), versionString())
		},
	}
}
