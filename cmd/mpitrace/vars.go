package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/mpit"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
)

type varsOptions struct {
	verbosity string
	kinds     varsKinds
	afterInit bool
	changed   bool
	json      bool
	format    string
	output    string
}

// varsKinds are the kinds of objects to show.
type varsKinds struct{ cvars, pvars, categories, enums, events bool }

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
	f.BoolVar(&o.kinds.cvars, "cvars", false, "show control variables (the default, with --pvars)")
	f.BoolVar(&o.kinds.pvars, "pvars", false, "show performance variables")
	f.BoolVar(&o.kinds.categories, "categories", false, "show categories as a tree; with a PATTERN, those of the matching variables")
	f.BoolVar(&o.kinds.enums, "enums", false, "show the names of enumeration values")
	f.BoolVar(&o.kinds.events, "events", false, "show event types and event sources (MPI 4)")
	f.BoolVar(&o.afterInit, "after-init", false, "list the variables after MPI_Init, called in one process")
	f.BoolVar(&o.changed, "changed", false, "show control variables whose value differs from the default, with the default")
	f.BoolVar(&o.json, "json", false, "print JSON; all kinds, unless a flag selects some")
	f.StringVar(&o.format, "format", "table", "table or arrow (an Arrow IPC file; all kinds, unless a flag selects some)")
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
	which := launch.Chosen(found)
	mpi, _, err := launch.Detect(nil, which.MPI, which.CC)
	if err != nil {
		return usage(err)
	}
	build := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library, Log: cmd.ErrOrStderr()}
	all, err := mpit.Read(cmd.Context(), mpit.Options{Build: build, AfterInit: o.afterInit})
	if err != nil {
		return err
	}
	tellList(cmd.ErrOrStderr(), mpi, all)
	if o.changed {
		defaults, err := mpit.Defaults(cmd.Context(), build)
		if err != nil {
			return err
		}
		tellDefaults(cmd.ErrOrStderr(), defaults)
		all.CVars = mpit.Changed(all, defaults)
	}
	chosen, above := all.Select(selection)
	o.limit(chosen)
	if err := o.tellChosen(cmd.ErrOrStderr(), chosen, pattern, above); err != nil {
		return err
	}
	return o.write(cmd, chosen)
}

// check checks the flags and returns the selection.
func (o *varsOptions) check(pattern string) (s mpit.Selection, err error) {
	switch {
	case o.json && o.format == "arrow":
		return s, errors.New("--json and --format arrow: one or the other")
	case o.format != "table" && o.format != "arrow":
		return s, fmt.Errorf("unknown format %q: the formats are table, arrow", o.format)
	case o.format == "arrow" && o.output == "":
		return s, errors.New("--format arrow: say with -o which FILE to write")
	case o.format != "arrow" && o.output != "":
		return s, errors.New("-o: only --format arrow writes a file")
	case o.changed && (o.kinds.pvars || o.kinds.categories || o.kinds.enums || o.kinds.events):
		return s, errors.New("--changed: only control variables have defaults")
	}
	if s.Pattern, err = mpit.ParsePattern(pattern); err != nil {
		return s, err
	}
	switch none := o.kinds == (varsKinds{}); {
	case o.changed:
		o.kinds.cvars = true
	case none && (o.json || o.format == "arrow"):
		o.kinds = varsKinds{true, true, true, true, true}
	case none:
		o.kinds.cvars, o.kinds.pvars = true, true
	}
	switch {
	case o.verbosity != "":
		s.UpTo, err = mpit.ParseVerbosity(o.verbosity)
	case pattern == "" && !o.changed && !o.json && o.format == "table" && (o.kinds.cvars || o.kinds.pvars):
		s.UpTo = mpit.TunerBasic
	}
	return s, err
}

// limit removes the kinds from a list that are not to be shown.
func (o *varsOptions) limit(l *mpit.List) {
	if !o.kinds.cvars {
		l.CVars = []mpit.CVar{}
	}
	if !o.kinds.pvars {
		l.PVars = []mpit.PVar{}
	}
	if !o.kinds.categories {
		l.Categories = []mpit.Category{}
	}
	if !o.kinds.enums {
		l.Enums = []mpit.Enum{}
	}
	if !o.kinds.events {
		l.Events, l.Sources = []mpit.Event{}, []mpit.Source{}
	}
}

// tellList writes how many objects of each kind the MPI library has, and the
// errors of its queries.
func tellList(w io.Writer, mpi *launch.MPI, l *mpit.List) {
	counted := func(n int, one, many string) string {
		return fmt.Sprintf("%d %s", n, map[bool]string{true: one, false: many}[n == 1])
	}
	fmt.Fprintf(w, "%s (%s): %s, %s, %s, %s, %s\n", text.Line(mpi.String()), text.Line(mpi.Library),
		counted(len(l.CVars), "control variable", "control variables"), counted(len(l.PVars), "performance variable", "performance variables"),
		counted(len(l.Categories), "category", "categories"), counted(len(l.Enums), "enumeration", "enumerations"),
		counted(len(l.Events), "kind of event", "kinds of events"))
	failures := map[string]int{}
	for _, e := range l.Errors {
		failures[e.String()]++
	}
	for _, what := range slices.Sorted(maps.Keys(failures)) {
		fmt.Fprintf(w, "not told by the library: %s, %s\n", text.Line(what), counted(failures[what], "time", "times"))
	}
}

// tellDefaults names the control variables that have no default to compare
// with.
func tellDefaults(w io.Writer, defaults *mpit.List) {
	var names []string
	for _, v := range defaults.CVars {
		if v.Unsteady {
			names = append(names, text.Line(v.Name))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "without a default to compare with: %s\n", strings.Join(names, ", "))
	}
}

// tellChosen writes how many variables are above the verbosity. It returns an
// error if a pattern matches nothing.
func (o *varsOptions) tellChosen(w io.Writer, l *mpit.List, pattern string, left mpit.Above) error {
	above := 0
	for _, kind := range []struct {
		shown bool
		n     int
	}{{o.kinds.cvars, left.CVars}, {o.kinds.pvars, left.PVars}, {o.kinds.events, left.Events}} {
		if kind.shown {
			above += kind.n
		}
	}
	shown := len(l.CVars) + len(l.PVars) + len(l.Categories) + len(l.Enums) + len(l.Events) + len(l.Sources)
	switch {
	case above > 0:
		fmt.Fprintf(w, "%d more are above %s: --verbosity mpidev-all shows them, or a PATTERN\n", above, cmp.Or(o.verbosity, mpit.TunerBasic.String()))
	case shown == 0 && o.changed:
		fmt.Fprintln(w, "no control variable differs from its default")
	case shown == 0 && pattern != "":
		return fmt.Errorf("nothing of this MPI has a name with %q in it", pattern)
	}
	return nil
}

func (o *varsOptions) write(cmd *cobra.Command, l *mpit.List) error {
	switch {
	case o.json:
		return text.WriteJSON(cmd.OutOrStdout(), l)
	case o.format == "arrow" && o.output == "-":
		return mpit.WriteArrow(cmd.OutOrStdout(), l)
	case o.format == "arrow":
		return mpit.WriteArrowFile(o.output, l)
	}
	w := bufio.NewWriter(cmd.OutOrStdout())
	mpit.WriteText(w, l, text.TerminalWidth(cmd.OutOrStdout()))
	return w.Flush()
}
