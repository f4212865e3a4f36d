package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCommands requires that each part takes no argument, and that each of its flags
// is described.
func TestCommands(t *testing.T) {
	var names []string
	for _, c := range newCommand().Commands() {
		names = append(names, c.Name())
		if c.Args == nil || c.Args(c, []string{"x"}) == nil {
			t.Errorf("%s takes arguments", c.Name())
		}
		checkFlags(t, c)
	}
	if want := []string{"calls", "matrices", "placement", "process", "programs"}; !slices.Equal(names, want) {
		t.Errorf("the parts are %v, want %v", names, want)
	}
}

func checkFlags(t *testing.T, c *cobra.Command) {
	t.Helper()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("%s: --%s has no description", c.Name(), f.Name)
		}
	})
}
