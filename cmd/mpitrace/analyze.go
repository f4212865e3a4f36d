package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
)

type analyzeOptions struct {
	json     bool
	interval time.Duration
	top      topFlag
	waits    string // paths of the tables to write, empty for none
	causes   string
	force    bool
}

func newAnalyze() *cobra.Command {
	var o analyzeOptions
	cmd := &cobra.Command{
		Use:   "analyze [DIR]",
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

For each wait, the causes say why the other rank was late: it has more work than
others, or more in some steps; it computes before its send or receive; ranks compute
one after the other; or it was in an MPI call. Their times add up to the time waited.

Messages and collectives are matched first. Unmatched ones are counted, with the
reason. If DIR has several jobs, each is analysed separately.

` + fmt.Sprintf(newestHelp, "DIR"),
		Example: `  mpitrace analyze mpitrace-app-20260102-150405
  mpitrace analyze --top all mpitrace-app-20260102-150405
  mpitrace analyze --json --interval 100ms mpitrace-app-20260102-150405
  mpitrace analyze --waits waits.arrow mpitrace-app-20260102-150405
  mpitrace analyze --causes causes.csv mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: onRun(o.run),
	}
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON instead of text: one object per job")
	f.DurationVar(&o.interval, "interval", 0, "with --json: add the matrix of each interval of `TIME`, such as 100ms")
	addTop(cmd, &o.top, "the `number` of calls, communicators, call sites and ranks to list, or all")
	f.StringVar(&o.waits, "waits", "", "write the waits to `FILE.arrow`, one row each; join them with trace.<rank>.arrow by rank and event")
	f.StringVar(&o.causes, "causes", "", "write the causes of waits to `FILE`: .arrow, .parquet, .csv or .jsonl; one row for each cause and rank")
	f.BoolVarP(&o.force, "force", "f", false, "with --waits or --causes: replace an existing file")
	return cmd
}

func (o *analyzeOptions) run(cmd *cobra.Command, dir rundir.Dir) error {
	if err := o.check(cmd); err != nil {
		return usage(err)
	}
	traces, err := openTraces(cmd.ErrOrStderr(), dir, nil)
	if err != nil {
		return err
	}
	info, _ := dir.ReadInfo() // empty on an error; then programs are not named
	jobs := trace.Jobs(traces)
	for _, file := range o.files() {
		if len(jobs) > 1 {
			return usage(fmt.Errorf("%s: there are %d jobs, but the table has only ranks to tell processes apart", file, len(jobs)))
		}
	}
	for i, job := range jobs {
		most := 0
		if o.waits != "" {
			most = math.MaxInt
		}
		found, waits, err := analyze(cmd.ErrOrStderr(), job, o.interval, most)
		if err == nil && o.waits != "" {
			err = export.WriteOutput(o.waits, o.force, func(w io.Writer) error { return table.WriteWaits(w, waits) })
		}
		if err == nil && o.causes != "" {
			err = export.WriteOutput(o.causes, o.force, func(w io.Writer) error {
				return table.WriteCauses(w, filepath.Ext(o.causes), causeRows(found.Causes))
			})
		}
		if err != nil {
			return err
		}
		if i > 0 && !o.json {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if err := o.show(cmd.OutOrStdout(), info, found); err != nil {
			return err
		}
	}
	return nil
}

// check checks the flags before any events are read.
func (o *analyzeOptions) check(cmd *cobra.Command) error {
	switch {
	case cmd.Flags().Changed("interval") && o.interval <= 0:
		return fmt.Errorf("--interval %v: expected a time above 0, such as 100ms", o.interval)
	case cmd.Flags().Changed("interval") && !o.json:
		return errors.New("--interval needs --json")
	case o.waits != "" && filepath.Ext(o.waits) != ".arrow":
		return fmt.Errorf("--waits %s: the table's name ends in .arrow", o.waits)
	case o.causes != "" && !slices.Contains(causeFormats, filepath.Ext(o.causes)):
		return fmt.Errorf("--causes %s: the table's name ends in %s", o.causes, strings.Join(causeFormats, ", "))
	}
	for _, file := range o.files() {
		if err := export.CheckOutput(file, o.force); err != nil {
			return err
		}
	}
	return nil
}

// causeFormats are the extensions of the formats of the table of causes.
var causeFormats = []string{".arrow", ".parquet", ".csv", ".jsonl"}

// files returns the paths of the tables to write.
func (o *analyzeOptions) files() []string {
	return slices.DeleteFunc([]string{o.waits, o.causes}, func(file string) bool { return file == "" })
}

// analyze analyses a job. Meanwhile it shows the number of events read on log. It
// returns the waits, sorted by rank and event, unless they are more than most.
func analyze(log io.Writer, job []profile.EventSource, interval time.Duration, most int) (found *trace.Result, waits []profile.Wait, err error) {
	bar := text.StartProgress(log, "events", int(eventsOf(job)))
	defer bar.Done()
	seen := uint64(0)
	options := trace.Options{Interval: interval, Progress: func(now uint64) {
		bar.Add(int(now - seen))
		seen = now
	}}
	number := 0
	if most > 0 {
		waits = []profile.Wait{}
		options.Wait = func(w profile.Wait) {
			if number++; number <= most {
				waits = append(waits, w)
			}
		}
	}
	found, err = trace.Analyze(job, options)
	if number > most {
		warn(log, fmt.Sprintf("there are %s: single waits are not kept (mpitrace analyze --waits FILE writes them)", text.CountOf(number, "wait")))
		return found, nil, err
	}
	slices.SortFunc(waits, func(a, b profile.Wait) int {
		return cmp.Or(a.Rank-b.Rank, cmp.Compare(a.Event, b.Event))
	})
	return found, waits, err
}

func (o *analyzeOptions) show(w io.Writer, info *rundir.Info, found *trace.Result) error {
	sections := views.Trace(found, views.Options{Top: int(o.top), Info: info})
	if o.json {
		return writeDocument(w, found, sections)
	}
	return terminal.Write(w, sections, terminalFor(w, "mpitrace analyze DIR | less -S"))
}

// keptAnalysis is the content of analysis.json.
type keptAnalysis struct {
	Version string          `json:"version"` // of the mpitrace that wrote it
	Jobs    []*trace.Result `json:"jobs"`
}

// analyses are the analyses of a run's traces, by the names of its jobs.
type analyses struct {
	results map[string]*trace.Result
	// For a page:
	waits  map[string][]profile.Wait
	events map[string][]profile.EventSource
}

// analysisOf returns the analyses of a run's traces. It keeps them in the run directory,
// if that can be written, for the next time. With forPage, it analyses the traces even
// if that was done before, because the waits are not read back. With unmerged, events
// that are not in the traces are read from the recordings.
func analysisOf(log io.Writer, dir rundir.Dir, forPage, unmerged bool) (found analyses, err error) {
	if len(dir.TraceFiles()) == 0 && !unmerged {
		return found, nil
	}
	if !forPage && !unmerged {
		if kept := readAnalysis(dir); kept != nil {
			found.add(kept.Jobs)
			return found, nil
		}
	}
	return analyzeAndKeep(log, dir)
}

func (a *analyses) add(jobs []*trace.Result) {
	a.results = map[string]*trace.Result{}
	for _, found := range jobs {
		a.results[found.Run] = found
	}
}

// readAnalysis returns the analysis that was kept; nil if there is none, or if it is
// older than the traces or of another version.
func readAnalysis(dir rundir.Dir) *keptAnalysis {
	info, err := os.Lstat(dir.Analysis())
	if err != nil || dir.Foreign() != nil { // another user may have written any numbers, and any amount of them
		return nil
	}
	for _, file := range dir.TraceFiles() {
		if of, err := os.Stat(file); err != nil || of.ModTime().After(info.ModTime()) {
			return nil
		}
	}
	in, err := atomicfile.Open(dir.Analysis(), atomicfile.AnySize)
	if err != nil {
		return nil
	}
	defer in.Close()
	var kept keptAnalysis
	if json.NewDecoder(in).Decode(&kept) != nil || kept.Version != versionString() {
		return nil
	}
	return &kept
}

// analyzeAndKeep analyses the traces. The table of waits is kept if the run has one
// job, because only the rank tells processes apart there.
func analyzeAndKeep(log io.Writer, dir rundir.Dir) (analyses, error) {
	traces, err := openTraces(log, dir, nil)
	if err != nil {
		return analyses{}, err
	}
	out, jobs, err := analyzeTraces(log, traces)
	if err != nil || dir.Writable() != nil {
		return out, err
	}
	kept := &keptAnalysis{Version: versionString(), Jobs: jobs}
	if err := kept.write(dir, out.waits); err != nil && !isReadOnly(err) {
		warn(log, err)
	}
	return out, nil
}

// mostKeptWaits is the largest number of single waits that are kept for a report: about
// 300 MB.
const mostKeptWaits = 2_000_000

// analyzeTraces analyses traces, and also returns the results in the order of the jobs.
func analyzeTraces(log io.Writer, traces []profile.EventSource) (out analyses, results []*trace.Result, err error) {
	out = analyses{waits: map[string][]profile.Wait{}, events: map[string][]profile.EventSource{}}
	for _, job := range trace.Jobs(traces) {
		found, waits, err := analyze(log, job, 0, mostKeptWaits)
		if err != nil {
			return analyses{}, nil, err
		}
		results = append(results, found)
		out.waits[found.Run], out.events[found.Run] = waits, job
	}
	out.add(results)
	return out, results, nil
}

// write writes the analysis and the waits to the run directory.
func (k *keptAnalysis) write(dir rundir.Dir, waits map[string][]profile.Wait) error {
	var files atomicfile.Set
	defer files.Discard()
	if len(k.Jobs) == 1 && waits[k.Jobs[0].Run] != nil {
		err := files.Write(dir.Waits(), func(w io.Writer) error { return table.WriteWaits(w, waits[k.Jobs[0].Run]) })
		if err != nil {
			return err
		}
	}
	if err := files.Write(dir.Analysis(), func(w io.Writer) error { return text.WriteJSON(w, k) }); err != nil {
		return err
	}
	return files.Commit()
}
