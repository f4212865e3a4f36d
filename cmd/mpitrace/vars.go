package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/mpit"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
)

type varsOptions struct {
	verbosity string
	kinds     mpit.Kinds
	afterInit bool
	changed   bool
	json      bool
	format    string
	output    string
}

func newVars() *cobra.Command {
	var o varsOptions
	cmd := &cobra.Command{
		Use:   "vars [PATTERN]",
		Short: "List the control and performance variables of an MPI library",
		Long: `List the control variables (settings) and performance variables (counters) that
an MPI library offers through MPI's tool interface, MPI_T: their names, values and
purposes, and whether and where they can be set.

PATTERN selects variables by name, ignoring case: a part of the name, or a glob (*,
?, [a-z]) for the whole name. With a PATTERN, variables of all verbosity levels are
shown; without, those up to tuner-basic. --verbosity chooses another level.

The values are those that a program started here would get: they include what the
environment and, with Open MPI, parameter files set. --changed shows the variables
whose value differs from the library's default. Variables that hold the working or
home directory, or that the library leaves uninitialized, have no such default and
are not compared.

The variables are read before MPI_Init, so no job is started and the command works
on a login node. With --after-init, one process calls MPI_Init: the library has then
unloaded components that are not used, other variables have been added, and
performance variables have values. Variables that the library does not describe are
counted; --json lists them.

On a terminal, descriptions are wrapped; otherwise each variable has one line.`,
		Example: `  mpitrace vars eager
  mpitrace vars --mpi mpich 'MPIR_CVAR_BCAST_*'
  mpitrace vars --changed
  mpitrace vars --pvars --after-init
  mpitrace vars --categories
  mpitrace vars --format arrow -o vars.arrow`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	registerSettings(cmd, "mpi", "cc")
	f.StringVar(&o.verbosity, "verbosity", "", "show up to this `LEVEL`: "+strings.Join(mpit.Verbosities(), ", ")+" (default: tuner-basic; all with a PATTERN or --changed)")
	f.BoolVar(&o.kinds.CVars, "cvars", false, "show control variables (the default, with --pvars)")
	f.BoolVar(&o.kinds.PVars, "pvars", false, "show performance variables")
	f.BoolVar(&o.kinds.Categories, "categories", false, "show categories as a tree; with a PATTERN, those of the matching variables")
	f.BoolVar(&o.kinds.Enums, "enums", false, "show the names of enumeration values")
	f.BoolVar(&o.kinds.Events, "events", false, "show event types and event sources (MPI 4)")
	f.BoolVar(&o.afterInit, "after-init", false, "list the variables after MPI_Init, called in one process")
	f.BoolVar(&o.changed, "changed", false, "show control variables whose value differs from the default, with the default")
	f.BoolVar(&o.json, "json", false, "print JSON; all kinds, unless a flag selects some")
	addWord(cmd, &o.format, "format", "table or arrow (an Arrow IPC file; all kinds, unless a flag selects some)", "table", "arrow")
	f.StringVarP(&o.output, "output", "o", "", "`FILE` to write with --format arrow, - for stdout")
	return cmd
}

func (o *varsOptions) run(cmd *cobra.Command, pattern string) error {
	selection, err := o.check(pattern)
	if err != nil {
		return usage(err)
	}
	found, err := findSettings(cmd.Flags())
	if err != nil {
		return usage(err)
	}
	which, log := launch.Chosen(found), cmd.ErrOrStderr()
	mpi, _, err := launch.Detect(nil, which.MPI, which.CC)
	if err != nil {
		if mpi = launch.WithoutCompiler(nil, which, err); mpi == nil {
			return usage(err)
		}
		if !interpose.HasLister(interpose.BuildOptions{MPI: mpi.Library}) {
			return usage(launch.WithoutPrebuilt(mpi, err))
		}
	}
	all, err := o.read(cmd.Context(), mpi, log)
	if err != nil {
		return err
	}
	chosen, above := all.Select(selection)
	switch {
	case above > 0:
		fmt.Fprintf(log, "%d more are above %s: --verbosity mpidev-all shows them, or a PATTERN\n", above, cmp.Or(o.verbosity, mpit.TunerBasic.String()))
	case chosen.Empty() && o.changed:
		fmt.Fprintln(log, "no control variable differs from its default")
	case chosen.Empty() && pattern != "":
		return fmt.Errorf("this MPI has nothing with %q in its name", pattern)
	}
	return o.write(cmd, chosen)
}

// read lists the variables of an MPI. With --changed, the list has only the
// control variables that differ from their defaults.
func (o *varsOptions) read(ctx context.Context, mpi *launch.MPI, log io.Writer) (*mpit.Catalogue, error) {
	build := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library, Log: log}
	all, err := mpit.Read(ctx, mpit.Options{Build: build, AfterInit: o.afterInit})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "%s (%s): %s\n", text.Line(mpi.String()), text.Line(mpi.Library), all.Counts())
	for _, failure := range all.Failures() {
		fmt.Fprintln(log, text.Line(failure))
	}
	if !o.changed {
		return all, nil
	}
	defaults, err := mpit.Defaults(ctx, build)
	if err != nil {
		return nil, err
	}
	if names := defaults.WithoutDefault(); len(names) > 0 {
		fmt.Fprintf(log, "without a default to compare with: %s\n", text.Line(strings.Join(names, ", ")))
	}
	all.CVars = mpit.Changed(all, defaults)
	return all, nil
}

// check checks the flags and returns the selection.
func (o *varsOptions) check(pattern string) (s mpit.EntrySelection, err error) {
	switch {
	case o.json && o.format == "arrow":
		return s, errors.New("--json and --format arrow: one or the other")
	case o.format == "arrow" && o.output == "":
		return s, errors.New("--format arrow needs -o FILE")
	case o.format != "arrow" && o.output != "":
		return s, errors.New("-o: only --format arrow writes a file")
	case o.changed && (o.kinds.PVars || o.kinds.Categories || o.kinds.Enums || o.kinds.Events):
		return s, errors.New("--changed: only control variables have defaults")
	}
	if s.Pattern, err = mpit.ParsePattern(pattern); err != nil {
		return s, err
	}
	s.Kinds = o.kinds
	switch none := o.kinds == (mpit.Kinds{}); {
	case o.changed:
		s.Kinds.CVars = true
	case none && (o.json || o.format == "arrow"):
		s.Kinds = mpit.AllKinds
	case none:
		s.Kinds.CVars, s.Kinds.PVars = true, true
	}
	switch {
	case o.verbosity != "":
		s.UpTo, err = mpit.ParseVerbosity(o.verbosity)
	case pattern == "" && !o.changed && !o.json && o.format == "table" && (s.Kinds.CVars || s.Kinds.PVars):
		s.UpTo = mpit.TunerBasic
	}
	return s, err
}

func (o *varsOptions) write(cmd *cobra.Command, l *mpit.Catalogue) error {
	switch {
	case o.json:
		return text.WriteJSON(cmd.OutOrStdout(), l)
	case o.format == "arrow" && o.output == "-":
		return mpit.WriteArrow(cmd.OutOrStdout(), l)
	case o.format == "arrow":
		return atomicfile.Write(o.output, func(w io.Writer) error { return mpit.WriteArrow(w, l) })
	}
	w := bufio.NewWriter(cmd.OutOrStdout())
	mpit.WriteText(w, l, text.TerminalWidth(cmd.OutOrStdout()))
	return w.Flush()
}
