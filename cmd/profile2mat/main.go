// Profile2mat makes communication matrices from the recordings of an MPI job.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/matrices"
	"github.com/mpitrace/mpitrace/internal/text"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "profile2mat: %s\n", text.Lines(err.Error()))
		os.Exit(matrices.ExitStatus(err))
	}
}

// newCommand returns the command `mpitrace matrix` with what a program of its own needs.
func newCommand() *cobra.Command {
	cmd := matrices.NewCommand("profile2mat")
	cmd.Long += "\n\nOpen MPI installs a script of the same name. `mpitrace matrix` is this program, too." +
		"\n\n`profile2mat completion bash` (or zsh, fish) prints a script that makes the\nshell complete the values of flags."
	cmd.CompletionOptions.HiddenDefaultCmd = true
	// Command.Version would need SetVersionTemplate, and so text/template. With
	// that, the linker keeps unused methods, a fifth of the program.
	cmd.InitDefaultHelpFlag() // registered before --version, so that the flags have the usual order
	printVersion := cmd.Flags().BoolP("version", "v", false, "version for profile2mat")
	printManual := cmd.Flags().String("manual", "", "print the manual page, or with =markdown its part of docs/commands.md")
	cmd.Flags().Lookup("manual").NoOptDefVal = "page"
	cmd.Flags().MarkHidden("manual")
	prints := func() bool { return *printVersion || *printManual != "" } // instead of matrices
	args, preRun, run := cmd.Args, cmd.PreRunE, cmd.RunE
	unlessPrints := func(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			if prints() {
				return nil
			}
			return do(cmd, args)
		}
	}
	cmd.Args, cmd.PreRunE = unlessPrints(args), unlessPrints(preRun)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		switch {
		case *printVersion:
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "profile2mat", commandline.Platform())
		case *printManual != "":
			_, err = cmd.OutOrStdout().Write(manual(cmd, *printManual))
		default:
			err = run(cmd, args)
		}
		return err
	}
	return cmd
}
