package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/interpose"
)

func versionString() string { return commandline.Version() }

// versionText returns the version and what the command was built from, for
// people.
func versionText() string {
	var inside []string
	for _, f := range interpose.Families {
		if f.Embedded() {
			inside = append(inside, f.Name)
		}
	}
	return fmt.Sprintf("%s\nbuilt with %s; prebuilt libraries: %s", commandline.Platform(), runtime.Version(),
		cmp.Or(strings.Join(inside, ", "), "none, so that an MPI's mpicc is needed"))
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and which prebuilt libraries are inside",
		Example: "  mpitrace version",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "mpitrace %s\n", versionText())
			return err
		},
	}
}
