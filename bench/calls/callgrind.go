package calls

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// callgrind returns the command that runs a program and writes a profile after
// each of the driver's loops.
func callgrind(profile string) []string {
	return append(measure.Callgrind(profile), "--dump-after=loop_*")
}

// layer selects the instructions that a tool adds. These are the instructions in the tool's own
// files (owns), and everything that is executed in functions which the tool calls, except the call
// that the tool passes on to the MPI (passesOn). The instructions of the MPI itself are not
// counted: their number differs each time, because the MPI polls and waits for other ranks.
type layer struct {
	owns     func(file string) bool
	passesOn func(file, function string) bool
}

// driver is what the driver calls between loops.
var driver = operation{"driver", []string{"Barrier"}, 1}

// layerOf returns a tool's layer in an operation. A wrapper passes on calls to the function of the
// same name. Open MPI's monitoring passes calls on to the component that it replaces.
func layerOf(t tool, o operation) layer {
	if t.preload == "" {
		return layer{
			func(file string) bool { return strings.Contains(file, "monitoring") },
			func(file, _ string) bool { return strings.HasPrefix(file, "mca_") },
		}
	}
	return layer{
		func(file string) bool { return file == filepath.Base(t.preload) },
		func(_, function string) bool { return o.makes(function) || driver.makes(function) },
	}
}

// makes reports whether a function, as callgrind names it, is one of the
// operation's MPI calls.
func (o operation) makes(function string) bool {
	return slices.ContainsFunc(o.calls, func(call string) bool { return strings.ToLower(call) == measure.MPICall(function) })
}

func readAdded(path string, o operation, l layer) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	added, err := parseProfile(file, o.name, l)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return added, nil
}

// parseProfile returns the instructions of a layer in the profile that was
// written after a loop.
func parseProfile(r io.Reader, loop string, l layer) (added int64, err error) {
	trigger, err := measure.ReadProfile(r, func(c measure.Cost) {
		if l.has(c) {
			added += c.Instructions
		}
	})
	if err == nil && trigger != "--dump-after=loop_"+loop {
		err = fmt.Errorf("it is not a profile after loop_%s", loop)
	}
	return added, err
}

// has reports whether a cost belongs to the layer.
func (l layer) has(c measure.Cost) bool {
	if !l.owns(c.Object) || c.Called == "" {
		return l.owns(c.Object)
	}
	return !l.owns(c.CalledObject) && !l.passesOn(c.CalledObject, c.Called)
}
