package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/perfetto"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// traceFormats are the formats for events.
var traceFormats = []traceFormat{
	{"perfetto", perfetto.Extension, perfetto.Write},
	{"csv", ".csv", func(w io.Writer, srcs []profile.EventSource, _ perfetto.Options) error {
		return tracefile.WriteCSV(w, srcs)
	}},
	{"parquet", ".parquet", func(w io.Writer, srcs []profile.EventSource, _ perfetto.Options) error {
		return tracefile.WriteParquet(w, srcs)
	}},
}

type traceFormat struct {
	name, extension string
	write           func(io.Writer, []profile.EventSource, perfetto.Options) error
}

// exportFormats lists the names of all formats, for profiles and for events.
func exportFormats() string {
	names := formats.Writable()
	for _, f := range traceFormats {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// traceOptions holds the flags for events.
type traceOptions struct {
	events bool
	ranks  string
	shown  perfetto.Options
}

func (o *traceOptions) register(f *pflag.FlagSet) {
	f.BoolVar(&o.events, "events", false, "write the events of the run's trace, as csv or parquet")
	f.StringVar(&o.ranks, "ranks", "", "export only the events of the ranks in `LIST`, such as 0-15,64")
	f.DurationVar(&o.shown.From, "from", 0, "perfetto: start at this `TIME` after the first event, such as 1.5s")
	f.DurationVar(&o.shown.To, "to", 0, "perfetto: end at this `TIME` after the first event")
	f.IntVar(&o.shown.MaxEvents, "max-events", 0, "perfetto: the largest number of events; short calls are combined, and only the longest receives have arrows")
}

// ofTrace reports whether the export is of events, not of profiles.
func (o *exportOptions) ofTrace() bool { return o.trace.events || o.format == "perfetto" }

// runTrace exports the events of a run.
func (o *exportOptions) runTrace(cmd *cobra.Command, paths []string) error {
	format, only, err := o.traceFormat(cmd, paths)
	if err != nil {
		return usage(err)
	}
	path := o.output
	if path == "" {
		path = filepath.Join(paths[0], "trace"+format.extension)
		if err := rundir.CheckDefaultOutput(path); err != nil {
			return err
		}
	}
	srcs, err := openTraces(cmd.ErrOrStderr(), rundir.Dir(paths[0]))
	if err != nil {
		return err
	}
	if format.name != "perfetto" { // perfetto shows several jobs separately
		srcs = firstJob(cmd.ErrOrStderr(), srcs)
	}
	srcs = slices.DeleteFunc(srcs, func(src profile.EventSource) bool { return only != nil && !only.Contains(src.Trace().Rank) })
	if len(srcs) == 0 {
		return usage(fmt.Errorf("--ranks %s: none of these has a trace in %s", o.trace.ranks, paths[0]))
	}
	toStdout, passes := o.output == "-", 1
	if format.name == "perfetto" {
		passes = o.trace.shown.Passes()
	} else if toStdout {
		passes = 2
	}
	bar := text.StartProgress(cmd.ErrOrStderr(), "exporting", passes*int(eventsOf(srcs)))
	defer bar.Done()
	srcs = source.EventsWithProgress(bar, srcs)
	write := func(w io.Writer) error { return format.write(w, srcs, o.trace.shown) }
	if toStdout {
		return o.traceToStdout(cmd.OutOrStdout(), srcs, format, write)
	}
	if err := export.WriteOutput(path, o.force, write); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	return err
}

// traceToStdout reads all events before it writes, to find damage first,
// because output to stdout cannot be undone. perfetto.Write does this itself.
func (o *exportOptions) traceToStdout(out io.Writer, srcs []profile.EventSource, format *traceFormat, write func(io.Writer) error) error {
	if format.name != "perfetto" {
		for _, src := range srcs {
			if err := src.Each(func(*profile.Events, []profile.EventKind) error { return nil }); err != nil {
				return err
			}
		}
	}
	w := bufio.NewWriter(out)
	return cmp.Or(write(w), w.Flush())
}

func eventsOf(srcs []profile.EventSource) (n uint64) {
	for _, src := range srcs {
		n += src.Trace().Events
	}
	return n
}

// traceFormat checks the flags and returns the format and the ranks to export,
// nil for all.
func (o *exportOptions) traceFormat(cmd *cobra.Command, paths []string) (f *traceFormat, only profile.RankSet, err error) {
	i := slices.IndexFunc(traceFormats, func(f traceFormat) bool { return f.name == o.format })
	if i < 0 {
		return nil, nil, errors.New("--events needs --format perfetto, csv or parquet; the run directory has the events as Arrow files, trace.<rank>.arrow")
	}
	f = &traceFormats[i]
	if o.trace.ranks != "" {
		if only, err = profile.ParseRankSet(o.trace.ranks); err != nil {
			return nil, nil, fmt.Errorf("--ranks: %w", err)
		}
	}
	shown := o.trace.shown
	for _, name := range []string{"partition", "tables", "skip-damaged"} {
		if cmd.Flags().Changed(name) {
			return nil, nil, fmt.Errorf("--%s does not apply to events", name)
		}
	}
	for _, name := range []string{"from", "to", "max-events"} {
		if cmd.Flags().Changed(name) && f.name != "perfetto" {
			return nil, nil, fmt.Errorf("--%s needs --format perfetto", name)
		}
	}
	switch {
	case shown.MaxEvents < 0 || cmd.Flags().Changed("max-events") && shown.MaxEvents == 0:
		return nil, nil, fmt.Errorf("--max-events %d: nothing would be shown", shown.MaxEvents)
	case shown.From < 0:
		return nil, nil, fmt.Errorf("--from %v: times count from the first event", shown.From)
	case cmd.Flags().Changed("to") && shown.To <= shown.From:
		return nil, nil, fmt.Errorf("--to %v is not after --from %v", shown.To, shown.From)
	}
	return f, only, oneRun(paths)
}

// oneRun returns an error unless paths is one run directory.
func oneRun(paths []string) error {
	info, err := os.Stat(paths[0])
	switch {
	case err != nil:
		return err
	case !info.IsDir() || len(paths) > 1:
		return errors.New("to export events, give one run directory")
	}
	return nil
}

// onlyOfTraces returns an error if a flag for events is given without events.
func onlyOfTraces(cmd *cobra.Command) error {
	for _, name := range []string{"ranks", "from", "to", "max-events"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s needs --events or --format perfetto", name)
		}
	}
	return nil
}
