package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/text"
)

// flagError is the error for flags that a command does not accept.
type flagError struct {
	cmd *cobra.Command
	error
}

func flagErrorOf(cmd *cobra.Command, err error) error { return usage(&flagError{cmd, err}) }

func (e *flagError) Unwrap() error { return e.error }

// unknownCommandError is the error for a first word that is not a command.
type unknownCommandError struct{ name string }

func (e *unknownCommandError) Error() string {
	return fmt.Sprintf("there is no command %q", e.name)
}

// otherNames are words of other tools for commands of mpitrace.
var otherNames = map[string]string{
	"record": "run", "profile": "run", "exec": "run", "start": "run", "launch": "run", "trace": "run --trace",
	"show": "report", "print": "report", "summary": "report", "stats": "report",
	"gui": "view", "open": "view", "browse": "view", "serve": "view", "compare": "diff", "heatmap": "matrix", "mat": "matrix",
	"waits": "analyze", "check": "doctor", "ls": "list", "where": "status", "stacks": "status", "convert": "export", "place": "reorder",
}

// advise adds to the error for a command line that was nearly right what to type instead.
func advise(root *cobra.Command, args []string, err error) error {
	advice := ""
	var unknown *unknownCommandError
	var flags *flagError
	switch {
	case errors.As(err, &flags) && flags.cmd == root && !strings.HasPrefix(args[0], "-"): // cobra parses flags first
		err = usage(&unknownCommandError{args[0]})
		advice = adviseCommand(root, args, args[0])
	case errors.As(err, &unknown):
		advice = adviseCommand(root, args, unknown.name)
	case errors.As(err, &flags):
		advice = flags.advise(root, args)
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, advice)
}

// adviseCommand returns what to type instead of a command line without a command of mpitrace.
func adviseCommand(root *cobra.Command, args []string, name string) string {
	if run := recorded(args); run != "" && (strings.Contains(name, "/") || launch.IsLauncher([]string{name})) {
		return run
	}
	if other := otherNames[name]; other != "" {
		return "use mpitrace " + strings.TrimSpace(other+" "+shellWords(args[1:]))
	}
	var names []string
	for _, cmd := range documented(root) {
		names = append(names, cmd.Name())
	}
	if near := text.Closest(name, names); len(near) > 0 {
		return "did you mean mpitrace " + strings.Join(near, ", mpitrace ") + "?"
	}
	if run := recorded(args); run != "" {
		return run
	}
	return "mpitrace --help lists them"
}

// recorded returns the command that records the program in args, which may follow flags. It returns
// "" if there is no program in args.
func recorded(args []string) string {
	program := slices.IndexFunc(args, func(word string) bool {
		_, err := exec.LookPath(word)
		return !strings.HasPrefix(word, "-") && (err == nil || launch.IsLauncher([]string{word}))
	})
	if program < 0 || program > 0 && !strings.HasPrefix(args[0], "-") {
		return ""
	}
	return "to record it: " + shellWords(slices.Concat([]string{"mpitrace", "run"}, args[:program], []string{"--"}, args[program:]))
}

// shellWords returns a command line as it is typed.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = text.ShellQuote(word)
	}
	return strings.Join(quoted, " ")
}

// advise returns what to type instead of a flag that the command does not have.
func (e *flagError) advise(root *cobra.Command, args []string) string {
	var unknown *pflag.NotExistError
	if !errors.As(e.error, &unknown) {
		return ""
	}
	name, typed := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		name, typed = short, "-"+short
	}
	if e.cmd == root {
		if run := recorded(args); run != "" {
			return run
		}
	}
	if e.cmd.Name() == "run" && (launch.LauncherWith(name) != "" || typed != "--"+name) {
		if launched := launcherFirst(e.cmd, args); launched != "" {
			return launched
		}
	}
	var names []string
	e.cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := text.Closest(name, names); len(near) > 0 && typed == "--"+name {
		return "did you mean --" + strings.Join(near, ", --") + "?"
	}
	if others := commandsWith(root, name); others != "" && typed == "--"+name {
		return "it is a flag of " + others
	}
	return "see " + e.cmd.CommandPath() + " --help"
}

// launcherFirst returns the command line of run in which options of a launcher, which stand in front
// of the program, stand behind a launcher. It returns "" if there are none.
func launcherFirst(run *cobra.Command, args []string) string {
	for i, word := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if word == "--" {
			break
		}
		if !strings.HasPrefix(word, "-") || run.Flags().Lookup(name) != nil || len(name) == 1 && run.Flags().ShorthandLookup(name) != nil {
			continue
		}
		if launcher := launch.LauncherWith(name); launcher != "" {
			return "give it to the launcher: " + shellWords(append([]string{"mpitrace"}, args[:i]...)) + " -- " + launcher + " " + shellWords(args[i:])
		}
	}
	return ""
}

// commandsWith returns the commands that have a flag.
func commandsWith(root *cobra.Command, flag string) string {
	var with []string
	for _, cmd := range documented(root) {
		if cmd.Flags().Lookup(flag) != nil {
			with = append(with, cmd.CommandPath())
		}
	}
	return strings.Join(with, ", ")
}
