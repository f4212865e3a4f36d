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
Say for each MPI which library records it: the prebuilt one of its family, or one
that is compiled, and why. Then record a run of a small program with each MPI, and
check the recording. The program is compiled; for an MPI without a compiler wrapper
it is prebuilt. The exit status is 1 if no MPI on this machine can be recorded.`,
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
