package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/timeline"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

type timelineOptions struct {
	timeline.Options
	ranks      string
	noMessages bool
	output     string
	force      bool
}

func newTimeline() *cobra.Command {
	var o timelineOptions
	cmd := &cobra.Command{
		Use:   "timeline [RUN]",
		Short: "Draw the calls of each rank of a traced run over time",
		Long: `Draw the calls of each rank over time, from the traces in RUN, the directory of a
run that was recorded with mpitrace run --trace. Time runs to the right, and each
rank has a lane. Colours are classes of calls: sends and receives, waits and tests,
collectives, one-sided calls, file I/O. If several threads of a rank called MPI,
each has a lane, if there is room. If there are more ranks than lanes, ranks share
lanes.

A column of pixels may cover thousands of calls. It then shows the share of each
class, stacked. A lane of few pixels shows only the class that took most of the
time; the paler it is, the less time was in MPI.

The picture begins when the first rank leaves MPI_Init. With --include-init, or
--from 0, it begins with the first event.

Messages are lines from the start of the send to the end of the receive. Lines that
are too close together to be distinguished are left out. If the rest would hide the
calls, only the longest messages are drawn; a text below the picture gives their
number. Use --from, --to and --ranks to see a part in more detail.

-o names the picture, a file that ends in .png, .svg or .pdf. Without it, the picture
is timeline.png in RUN. Its name goes to stdout.

` + fmt.Sprintf(newestHelp, "RUN"),
		Example: `  mpitrace timeline mpitrace-app-20260102-150405
  mpitrace timeline mpitrace-app-20260102-150405 --from 1.2s --to 1.5s --ranks 0-15,64 -o iteration.svg
  mpitrace timeline mpitrace-app-20260102-150405 --no-messages --width 3000 -o app.png`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := namedRun(cmd, args)
			if err != nil {
				return err
			}
			if err := o.check(cmd, run); err != nil {
				return usage(err)
			}
			return o.run(cmd, rundir.Dir(run))
		},
	}
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "`FILE` to draw to, .png, .svg or .pdf (default: timeline.png in the run directory)")
	f.DurationVar(&o.From, "from", 0, "start at `TIME` after the first event, such as 1.2s or 350ms")
	f.BoolVar(&o.IncludeInit, "include-init", false, "start with the first event, in MPI_Init")
	f.DurationVar(&o.To, "to", 0, "end at `TIME` after the first event (default: the end of the run)")
	f.StringVar(&o.ranks, "ranks", "", "draw only `RANKS`, such as 0-15,64")
	f.IntVar(&o.Width, "width", 1600, "the picture's width in `PIXELS`")
	f.IntVar(&o.Height, "height", 900, "the picture's largest height in `PIXELS`; few ranks need less")
	f.BoolVar(&o.noMessages, "no-messages", false, "draw no messages")
	f.BoolVarP(&o.force, "force", "f", false, "overwrite an existing picture")
	return cmd
}

// check checks the command line before anything is read.
func (o *timelineOptions) check(cmd *cobra.Command, opened string) (err error) {
	if o.output == "" {
		o.output = filepath.Join(opened, "timeline.png")
		if err := rundir.CheckDefaultOutput(o.output); err != nil {
			return err
		}
	}
	if err := plot.CheckName(o.output); err != nil {
		return fmt.Errorf("-o %w", err)
	}
	if o.ranks != "" || cmd.Flags().Changed("ranks") {
		if o.Ranks, err = profile.ParseRankSet(o.ranks); err != nil {
			return fmt.Errorf("--ranks: %w", err)
		}
	}
	if cmd.Flags().Changed("to") && o.To <= o.From {
		return fmt.Errorf("--from %v is not before --to %v", o.From, o.To)
	}
	o.Messages = !o.noMessages
	o.IncludeInit = o.IncludeInit || cmd.Flags().Changed("from")
	if err := o.Check(); err != nil {
		return err
	}
	return export.CheckOutput(o.output, o.force)
}

func (o *timelineOptions) run(cmd *cobra.Command, dir rundir.Dir) error {
	traces, err := openTraces(cmd.ErrOrStderr(), dir, nil)
	if err != nil {
		return err
	}
	traces = firstJob(cmd.ErrOrStderr(), traces)
	o.Title, o.Log = timelineTitle(dir, traces[0].Trace()), cmd.ErrOrStderr()
	picture, err := timeline.Draw(traces, o.Options)
	if none := (*timeline.NoRanksError)(nil); errors.As(err, &none) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	err = atomicfile.Write(o.output, func(w io.Writer) error { return plot.Write(w, o.output, picture) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), o.output)
	return err
}

// timelineTitle returns a title such as "lmp on 64 ranks,
// mpitrace-lmp-20260102-150405".
func timelineTitle(dir rundir.Dir, t *profile.Trace) string {
	program := ""
	info, _ := dir.ReadInfo() // empty on an error; then the title has no program
	for _, job := range info.Jobs {
		if job.Run == t.Run && job.Program != "" {
			program = cmp.Or(job.Programs.String(), job.Program) + " "
		}
	}
	path, err := filepath.Abs(string(dir))
	if err != nil {
		path = string(dir)
	}
	return fmt.Sprintf("%son %s, %s", program, text.CountOf(t.Size, "rank"), filepath.Base(path))
}

// openTraces opens the traces of a run. If there are recorded events that are
// not in trace.*.arrow yet, for example of ranks that recorded themselves, it
// merges the run first. If the job is still running, or if the directory is not
// writable, for example because it belongs to another user, it reads the events
// from the recordings. opened is the opened run, or nil if the command needs only
// its traces.
func openTraces(log io.Writer, dir rundir.Dir, opened *source.Run) (traces []profile.EventSource, err error) {
	if !dir.Untraced() {
		return export.Traces(dir)
	}
	if opened == nil {
		if opened, err = openRun(log, string(dir), source.Options{Depth: source.Whole, RunOnly: true}); err != nil {
			return nil, err
		}
	}
	err = mergeIfStale(dir, opened, nil)
	if isReadOnly(err) || errors.As(err, new(*export.NotEndedError)) {
		warn(log, fmt.Errorf("the events are read from the recordings, which takes longer: %w", err))
		return readTraces(log, dir, opened)
	}
	if err != nil {
		return nil, err
	}
	warn(log, opened.Traced.Text()...)
	return export.Traces(dir)
}

// readTraces reads events that are not in trace.*.arrow from the recordings.
func readTraces(log io.Writer, dir rundir.Dir, opened *source.Run) ([]profile.EventSource, error) {
	traces, err := export.ReadTraces(dir, opened, trace.EstimateClocks)
	warn(log, opened.Traced.Damaged...)
	return traces, err
}

// suggestTraceCommands names the commands that read traces.
func suggestTraceCommands(w io.Writer, d rundir.Dir, t *source.Traced) {
	if t.Events > 0 {
		dir := text.ShellQuote(string(d))
		warn(w, fmt.Sprintf("to see the events: mpitrace timeline %s; why ranks waited: mpitrace analyze %[1]s", dir))
	}
}

// firstJob returns the traces of the first job, and warns if there are others.
// It is for output in which the rank alone identifies a process.
func firstJob(w io.Writer, traces []profile.EventSource) []profile.EventSource {
	jobs := trace.Jobs(traces)
	if len(jobs) > 1 {
		warn(w, fmt.Sprintf("the run has traces of %d jobs: only the first is used", len(jobs)))
	}
	return jobs[0]
}
