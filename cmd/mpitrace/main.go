// Command mpitrace records the communication of MPI programs and shows it.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/matrices"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Exit statuses. A failed program's own status is passed on.
const (
	exitError      = 1
	exitUsage      = 2
	exitIncomplete = 3 // run --strict: the program succeeded, but its recording is incomplete
	exitExceeded   = 4 // diff --fail-if-worse: the second run exceeds the limits
)

// exit is an error that ends mpitrace with a status. err is nil if there is
// nothing more to print.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage returns err with the exit status of a usage error.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exit{exitUsage, err}
}

// notFound returns err as an exit. Its status is that of a program that cannot be run if this is
// the cause of err, else that of a usage error.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, exec.ErrNotFound) {
		return &exit{exitNotFound, err}
	}
	return usage(err)
}

// execute runs one command line and returns the exit status.
func execute(args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.Execute()
	if err == nil {
		return 0
	}
	return printError(errs, advise(root, args, err))
}

// printError prints an error, if it has a text, and returns its exit status.
func printError(w io.Writer, err error) int {
	e := &exit{exitError, err}
	if matrices.ExitStatus(err) == exitUsage || errors.As(err, new(*launch.UsageError)) {
		e.code = exitUsage
	}
	errors.As(err, &e)
	if e.err != nil {
		warn(w, err)
	}
	return e.code
}

// warn prints errors or other messages for the user.
func warn[T any](w io.Writer, messages ...T) {
	for _, m := range messages {
		fmt.Fprintf(w, "mpitrace: %s\n", text.Lines(fmt.Sprint(m)))
	}
}

// warnIncomplete prints what is missing from the recordings. It prints nothing for "".
func warnIncomplete(w io.Writer, missing ...string) {
	for _, what := range missing {
		if what != "" {
			warn(w, "incomplete: "+what)
		}
	}
}

// asciiOnly reports whether text output is ASCII: the locale is not UTF-8.
func asciiOnly() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(os.Getenv(name)); value != "" {
			return !strings.Contains(value, "UTF-8") && !strings.Contains(value, "UTF8")
		}
	}
	return true
}

// terminalFor returns the options of text output on w. Tables fit the width of a terminal, and
// are as wide as necessary elsewhere. COLUMNS overrides both, as in ls and git. whole tells the
// user how to see the columns that do not fit.
func terminalFor(w io.Writer, whole string) terminal.Options {
	return terminal.Options{ASCII: asciiOnly(), Width: text.TerminalWidth(w), Whole: whole}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mpitrace",
		Short: "Record what an MPI program communicates: who with whom, how much, how long",
		Long: `mpitrace records every MPI call of a program, without recompiling it: who sends
to whom, how much, in which messages, and how long it takes. What was recorded
survives a crash of the program.

` + "`mpitrace completion bash`" + ` (or zsh, fish) prints a script that makes the shell
complete commands, values of flags and run directories. In bash, it needs the
package bash-completion.`,
		Example: `  mpitrace run -- mpirun -n 4 ./app
  mpitrace report mpitrace-app-20260102-150405`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(&unknownCommandError{args[0]})
			}
			return nil
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return searchDebugFiles(cmd) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("mpitrace {{.Version}}\n") // same text as `mpitrace version`
	root.SetFlagErrorFunc(flagErrorOf)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newAnalyze(), newRun(), newRank(), newReport(), newStatus(), newCollect(), newDiff(), newExport(), newHistory(), newList(), newMerge(), newBuild(), newConfig(), newDump(), newDoctor(), newManual(), newMatrix(), newPreload(), newReorder(), newTimeline(), newVars(), newView(), newVersion())
	completeArguments(root)
	return root
}

// completeArguments makes shells complete run directories and names of settings.
func completeArguments(root *cobra.Command) {
	runs := map[string]int{"analyze": 1, "collect": 1, "diff": 2, "export": 1, "history": 100, "list": 1, "matrix": 100, "merge": 1, "reorder": 1, "report": 1, "status": 1, "timeline": 1, "view": 1}
	for _, cmd := range root.Commands() {
		if most := runs[cmd.Name()]; most > 0 {
			cmd.ValidArgsFunction = commandline.CompleteRuns(most, func(dir string) bool { return rundir.Dir(dir).Used() })
		} else if cmd.Name() == "config" {
			cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				names := slices.DeleteFunc(settings.Names(), func(name string) bool { return !strings.HasPrefix(name, typed) })
				return names, cobra.ShellCompDirectiveNoFileComp
			}
		}
	}
}

// asUsage returns a check whose errors are usage errors.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath()))
		}
		return nil
	}
}
