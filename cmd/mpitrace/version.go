package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
)

func versionString() string { return commandline.Version() }

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mpitrace version",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "mpitrace %s\n", commandline.Platform())
			return err
		},
	}
}
