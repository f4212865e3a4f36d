package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/text"
)

// unnest removes `mpitrace run` from a command that is itself given to `mpitrace run`, in front of
// the launcher or behind it, so that the command is recorded once. The options of all these
// `mpitrace run` apply; inner options override outer ones.
func unnest(cmd *cobra.Command, argv []string) ([]string, error) {
	for {
		at := nestedAt(argv)
		if at < 0 {
			return argv, nil
		}
		if at+1 == len(argv) || argv[at+1] != "run" {
			return nil, fmt.Errorf("%s is mpitrace itself: give the launcher or the program that is to be recorded", argv[at])
		}
		if err := cmd.Flags().Parse(argv[at+2:]); err != nil {
			return nil, err
		}
		inner := cmd.Flags().Args()
		if len(inner) == 0 {
			return nil, fmt.Errorf("%s run: no command", argv[at])
		}
		argv = slices.Concat(argv[:at], inner)
		warn(cmd.ErrOrStderr(), fmt.Sprintf("`mpitrace run` is in the command twice: %s is recorded once, with the options of both", text.ShellQuote(inner[0])))
	}
}

// nestedAt returns the index of a program of the command that is mpitrace, -1
// if there is none.
func nestedAt(argv []string) int {
	if !slices.ContainsFunc(argv, isMpitrace) {
		return -1 // saves Parse from running the launcher
	}
	c, err := launch.Parse(argv)
	if err != nil || c.InFile() {
		return -1 // an error is reported when the command is parsed to be run
	}
	for _, p := range c.Programs {
		if isMpitrace(argv[p.Index]) {
			return p.Index
		}
	}
	return -1
}

func isMpitrace(word string) bool {
	self, _ := os.Executable() // if it fails, only the usual name counts
	base := filepath.Base(word)
	return base == "mpitrace" || base == filepath.Base(self)
}
