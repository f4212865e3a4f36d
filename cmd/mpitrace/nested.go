package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
)

// unnest takes `mpitrace run` out of a command that is itself to be recorded, in
// front of the launcher or behind it: the command is recorded once. The options
// of all of them count, an inner one against the same one further out.
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
		fmt.Fprintf(cmd.ErrOrStderr(), "mpitrace: `mpitrace run` is there twice: %s is recorded once, with the options of both\n", shellQuote(inner[0]))
	}
}

// nestedAt is where a program of the command is mpitrace, -1 if none is.
func nestedAt(argv []string) int {
	if !slices.ContainsFunc(argv, isMpitrace) {
		return -1 // without asking the launcher who it is
	}
	c, err := launch.Parse(argv)
	if err != nil {
		return -1 // which is said when it is run
	}
	for _, p := range c.Programs {
		if isMpitrace(argv[p.Index]) {
			return p.Index
		}
	}
	return -1
}

func isMpitrace(word string) bool {
	self, _ := os.Executable() // without it there is the usual name
	base := filepath.Base(word)
	return base == "mpitrace" || base == filepath.Base(self)
}
