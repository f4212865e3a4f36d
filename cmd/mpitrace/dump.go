package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats/recording"
)

func newDump() *cobra.Command {
	return &cobra.Command{
		Use:     "dump RECORDING...",
		Short:   "Print recordings as text",
		Long:    "Print the whole content of recordings (recordings/*.rec in a run directory) as text.",
		Example: "  mpitrace dump mpitrace-app-20260102-150405/recordings/*.rec",
		Args:    asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			var errs []error
			for _, file := range files {
				if len(files) > 1 {
					fmt.Fprintf(cmd.OutOrStdout(), "# %s\n", file)
				}
				errs = append(errs, recording.Dump(cmd.OutOrStdout(), file))
			}
			err := errors.Join(errs...)
			if errors.Is(err, fs.ErrNotExist) {
				return usage(err)
			}
			return err
		},
	}
}
