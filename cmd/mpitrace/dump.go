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
		Use:   "dump RECORDING...",
		Short: "Print recordings as text",
		Long: `Print the whole content of recordings as text. They are in recordings in a run directory:
in containers (.node), which have the recordings of several processes and are printed
one after the other, or in files of their own (.rec). The path of one recording in a
container is that of the container and the name that dump prints.`,
		Example: `  mpitrace dump mpitrace-app-20260102-150405/recordings/*
  mpitrace dump mpitrace-app-4711/recordings/4711-n1-0a1b2c3d.node/n1-812-1767366245000000000.rec`,
		Args: asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			var errs []error
			var recordings []string
			for _, file := range files {
				expanded, err := recording.Expand(file)
				errs = append(errs, err)
				recordings = append(recordings, expanded...)
			}
			for _, file := range recordings {
				if len(recordings) > 1 || file != files[0] {
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
