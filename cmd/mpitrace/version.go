package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/interpose"
)

// versionString is the version, with the revision of the source if that is
// known.
func versionString() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return interpose.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return interpose.Version + " (" + s.Value[:12] + ")"
		}
	}
	return interpose.Version
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mpitrace version",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "mpitrace %s %s/%s\n", versionString(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
