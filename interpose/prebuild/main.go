// Prebuild compiles what is embedded in mpitrace: the libraries, the programs
// that list variables, and the dispatcher. It is run by `make prebuilt`, in the
// directory of the project.
//
//	go run ./interpose/prebuild "COMMAND OF ZIG" [machine...]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/interpose/zig"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: prebuild \"COMMAND OF ZIG\" [machine...]")
		os.Exit(2)
	}
	machines := os.Args[2:]
	if len(machines) == 0 {
		machines = []string{runtime.GOARCH}
	}
	dir := filepath.Join("interpose", "prebuilt")
	if err := removeOld(dir); err != nil {
		fmt.Fprintln(os.Stderr, "prebuild:", err)
		os.Exit(1)
	}
	for _, machine := range machines {
		for _, f := range interpose.Families {
			for _, p := range interpose.Prebuilt {
				prebuild(p, f, machine, dir)
			}
		}
		prebuild(interpose.PrebuiltDispatcher, interpose.AllFamilies, machine, dir)
	}
}

func prebuild(p *interpose.Product, f interpose.Family, machine, dir string) {
	file, err := zig.Prebuild(context.Background(), os.Args[1], p, f, machine, dir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "prebuild for %s: %v\n", machine, err)
		os.Exit(1)
	}
	fmt.Println(file)
}

// removeOld removes the libraries that were compiled from other sources.
func removeOld(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.zst"))
	for _, file := range old {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}
