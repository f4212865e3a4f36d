package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

type analyzeOptions struct {
	json     bool
	interval time.Duration
	top      string
	waits    string // path of the table to write, empty for none
	force    bool
}

func newAnalyze() *cobra.Command {
	var o analyzeOptions
	cmd := &cobra.Command{
		Use:   "analyze DIR",
		Short: "Show why the ranks of a traced run wait",
		Long: `Show why the ranks of the run in DIR wait, how long, in which call, and for which
rank. Ranks wait for late senders and receivers, for the last rank to enter a
collective, a fence, or the creation of a communicator or window, for the root of
a broadcast, and for the target of a one-sided call. The run must have been
recorded with mpitrace run --trace.

The parallel efficiency of the run is divided into load balance, serialisation
(waiting for others in turn) and transfer (the network), as defined by the POP
Centre of Excellence. The critical path is the sequence of computation and
messages that determined the end of the run: only a change on it makes the run
shorter.

Messages and collectives are matched first. Unmatched ones are counted, with the
reason. If DIR has several jobs, each is analysed separately.`,
		Example: `  mpitrace analyze mpitrace-app-20260102-150405
  mpitrace analyze --top all mpitrace-app-20260102-150405
  mpitrace analyze --json --interval 100ms mpitrace-app-20260102-150405
  mpitrace analyze --waits waits.arrow mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, run.Dir(args[0])) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON instead of text: one object per job")
	f.DurationVar(&o.interval, "interval", 0, "with --json: add the matrix of each interval of `TIME`, such as 100ms")
	f.StringVar(&o.top, "top", strconv.Itoa(topSites), "the `number` of calls, communicators, call sites and ranks to list, or all")
	f.StringVar(&o.waits, "waits", "", "write the waits to `FILE.arrow`, one row each; join them with trace.<rank>.arrow by rank and event")
	f.BoolVarP(&o.force, "force", "f", false, "with --waits: replace an existing file")
	return cmd
}

func (o *analyzeOptions) run(cmd *cobra.Command, dir run.Dir) error {
	options, err := o.text(cmd.OutOrStdout())
	if err == nil && cmd.Flags().Changed("interval") {
		err = o.checkInterval()
	}
	if err != nil {
		return usage(err)
	}
	traces, err := openTraces(cmd.ErrOrStderr(), dir)
	if err != nil {
		return err
	}
	jobs := trace.Jobs(traces)
	if err := o.checkWaits(len(jobs)); err != nil {
		return usage(err)
	}
	for i, job := range jobs {
		found, waits, err := o.analyze(cmd.ErrOrStderr(), job)
		if err == nil && o.waits != "" {
			err = writeWaits(o.waits, o.force, waits)
		}
		if err != nil {
			return err
		}
		if i > 0 && !o.json {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if err := o.show(cmd.OutOrStdout(), found, options); err != nil {
			return err
		}
	}
	return nil
}

// text returns the options of the text output.
func (o *analyzeOptions) text(w io.Writer) (report.Options, error) {
	options := report.Options{ASCII: textOptions().ASCII, Width: text.TerminalWidth(w), Top: -1}
	if o.top == "all" {
		return options, nil
	}
	n, err := strconv.Atoi(o.top)
	if err != nil || n < 0 {
		return options, fmt.Errorf("--top %s: a number of places, or all", o.top)
	}
	options.Top = n
	return options, nil
}

func (o *analyzeOptions) checkInterval() error {
	switch {
	case o.interval <= 0:
		return fmt.Errorf("--interval %v: expected a time above 0, such as 100ms", o.interval)
	case !o.json:
		return errors.New("--interval: what it asks for is told with --json only")
	}
	return nil
}

// checkWaits returns an error if the table of waits cannot be written. It is
// called before any events are read.
func (o *analyzeOptions) checkWaits(jobs int) error {
	switch {
	case o.waits == "":
		return nil
	case jobs > 1:
		return fmt.Errorf("--waits %s: there are %d jobs, and ranks are told apart in one only", o.waits, jobs)
	}
	return checkNew(o.waits, o.force)
}

func checkNew(path string, force bool) error {
	if filepath.Ext(path) != ".arrow" {
		return fmt.Errorf("--waits %s: the table's name ends in .arrow", path)
	}
	if err := run.Replaceable(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil && !force {
		return fmt.Errorf("%s exists: name another file, or overwrite it with --force", path)
	}
	return nil
}

// writeWaits writes the waits, sorted by rank and event.
func writeWaits(path string, force bool, waits []profile.Wait) error {
	slices.SortFunc(waits, func(a, b profile.Wait) int {
		return cmp.Or(a.Rank-b.Rank, cmp.Compare(a.Event, b.Event))
	})
	return run.WriteOutput(path, force, func(w io.Writer) error { return table.WriteWaits(w, waits) })
}

// analyze analyses a job. Meanwhile it shows the number of events read on log.
func (o *analyzeOptions) analyze(log io.Writer, job []profile.EventSource) (found *trace.Result, waits []profile.Wait, err error) {
	events := uint64(0)
	for _, src := range job {
		events += src.Trace().Events
	}
	bar := text.StartProgress(log, "events", int(events))
	defer bar.Done()
	seen := uint64(0)
	options := trace.Options{Interval: o.interval, Progress: func(now uint64) {
		bar.Add(int(now - seen))
		seen = now
	}}
	if o.waits != "" {
		options.Wait = func(w profile.Wait) { waits = append(waits, w) }
	}
	found, err = trace.Analyze(job, options)
	return found, waits, err
}

func (o *analyzeOptions) show(w io.Writer, found *trace.Result, options report.Options) error {
	if o.json {
		return text.WriteJSON(w, found)
	}
	return report.Trace(w, found, options)
}
