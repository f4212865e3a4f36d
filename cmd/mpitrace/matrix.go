package main

import (
	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/matrices"
)

// newMatrix returns profile2mat under a name that no other package installs: where
// /usr/bin comes first in PATH, profile2mat is a script of Open MPI.
func newMatrix() *cobra.Command {
	cmd := matrices.NewCommand("mpitrace matrix")
	cmd.Long += "\n\n`profile2mat` is the same command."
	cmd.SetFlagErrorFunc(flagErrorOf)
	return cmd
}
