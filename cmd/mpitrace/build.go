package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

type buildOptions struct {
	launch.Choice
	printPath bool
	coverage  bool
	output    string
}

func newBuild() *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the library that is preloaded",
		Long: `Compile the library for an MPI, or for every MPI that has a compiler wrapper in
PATH, and keep it in the user's cache. ` + "`mpitrace run`" + ` does so when an MPI is first
used. Run this command yourself if each rank starts mpitrace (srun mpitrace run
./app).

For each library, the command prints how many of the MPI's functions are recorded.
With --coverage it lists each function and, if it is not recorded, the reason.`,
		Example: `  mpitrace build
  mpitrace build --mpi mpich --print-path
  mpitrace build --coverage
  mpitrace build -o lib`,
		Args: asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	registerSettings(cmd, "mpi", "cc")
	cmd.Flags().BoolVar(&o.printPath, "print-path", false, "print nothing but the path of each library")
	cmd.Flags().BoolVar(&o.coverage, "coverage", false, "list each function of the MPI: recorded, or why it is not")
	cmd.MarkFlagsMutuallyExclusive("print-path", "coverage")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "copy each library to `DIR`/libmpitrace-MPI.so")
	return cmd
}

func (o *buildOptions) run(cmd *cobra.Command) error {
	found, err := findSettings(cmd.Flags())
	if err != nil {
		return usage(err)
	}
	o.Choice = launch.Chosen(found)
	mpis, err := o.mpis(cmd.ErrOrStderr())
	if err != nil {
		return usage(err)
	}
	taken := map[string]bool{}
	for _, mpi := range mpis {
		lib, err := launch.BuildLibrary(cmd.Context(), mpi, nil, cmd.ErrOrStderr())
		if err != nil {
			return fmt.Errorf("build the library for %s: %w", mpi, err)
		}
		if o.output != "" {
			if lib, err = install(lib, o.output, mpi, taken); err != nil {
				return err
			}
		}
		if o.printPath {
			fmt.Fprintln(cmd.OutOrStdout(), lib)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%-10s %-18s %s\n", mpi.Flavour, mpi, lib)
		if err := o.printCoverage(cmd, mpi, lib); err != nil {
			return fmt.Errorf("compare the library for %s with its MPI: %w", mpi, err)
		}
	}
	return nil
}

func (o *buildOptions) printCoverage(cmd *cobra.Command, mpi *launch.MPI, lib string) error {
	standard, functions, err := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}.Coverage(cmd.Context(), lib)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	recorded, lost := 0, 0
	for _, f := range functions {
		switch {
		case f.Call != "":
			recorded++
		case f.Lost:
			lost++
		}
	}
	fmt.Fprintf(w, "           MPI %s: %d functions in its headers: %d recorded, %d left alone", standard,
		len(functions), recorded, len(functions)-recorded-lost)
	if lost > 0 {
		fmt.Fprintf(w, ", %d missing", lost)
	}
	if !o.coverage {
		fmt.Fprintln(w, " (why: mpitrace build --coverage)")
		return nil
	}
	fmt.Fprintln(w)
	for _, f := range functions {
		fmt.Fprintf(w, "  %-36s %s\n", f.Symbol, coverageText(f))
	}
	return nil
}

// coverageText returns a text that says whether a function is recorded, and why not.
func coverageText(f interpose.Covered) string {
	switch {
	case f.Call == f.Symbol:
		return "recorded"
	case f.Call != "":
		return "recorded as " + f.Call
	case f.Lost:
		return "missing: " + f.Why
	}
	return "left alone: " + f.Why
}

// mpis returns the MPIs to build for: the one that the settings name, else all.
func (o *buildOptions) mpis(log io.Writer) ([]*launch.MPI, error) {
	if o.CC != "" || o.MPI != "auto" {
		mpi, _, err := launch.Detect(nil, o.MPI, o.CC)
		return []*launch.MPI{mpi}, err
	}
	mpis, errs := launch.FindAll()
	for _, err := range errs {
		warn(log, fmt.Errorf("skipped: %w", err))
	}
	if len(mpis) == 0 {
		return nil, errors.New("no MPI found: install one (Debian: libopenmpi-dev or libmpich-dev), or name its compiler wrapper with --cc")
	}
	return mpis, nil
}

// install copies a library into a directory and returns its path there. If
// several MPIs have the same flavour, the first gets the plain name and the
// others a name with their version.
func install(lib, dir string, mpi *launch.MPI, taken map[string]bool) (string, error) {
	name := launch.LibraryName(mpi.Flavour)
	if taken[name] {
		name = launch.LibraryName(mpi.Flavour + rundir.Flavour("-"+mpi.Version))
	}
	taken[name] = true
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	content, err := os.ReadFile(lib)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, name)
	return target, atomicfile.WriteContent(target, content, 0o755) // replaced by a rename, as running programs may have the old one mapped
}

func newPreload() *cobra.Command {
	return &cobra.Command{
		Use:   "preload",
		Short: "Print the path of the library to preload by hand",
		Long: `Print the path of libmpitrace.so, to be set as LD_PRELOAD. It records the programs
of every MPI for which mpitrace has a library; a process that uses no MPI is not
affected. The library is written to the user's cache if it is not there.

    mkdir halo
    export LD_PRELOAD=$(mpitrace preload) MPITRACE_DIR=$PWD/halo
    mpirun -n 4 ./halo

Set the directory of the recordings with MPITRACE_DIR, and other settings with the
variables that ` + "`mpitrace config`" + ` lists. ` + "`mpitrace report DIR`" + ` shows the result.

Functions of mpi_f08 that are newer than version 3.1 of the MPI Standard are not
recorded in this way. ` + "`mpitrace run -- mpirun ...`" + ` records those too.

A program that was built with AddressSanitizer also needs
ASAN_OPTIONS=verify_asan_link_order=0.`,
		Example: "  mpitrace preload",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			library, err := launch.Dispatcher(cmd.Context(), nil, nil, cmd.ErrOrStderr())
			if errors.Is(err, interpose.ErrServesNone) {
				return fmt.Errorf("%w. Run `mpitrace build`, which compiles a library for each MPI whose compiler wrapper is in PATH", err)
			}
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), library)
			}
			return err
		},
	}
}
