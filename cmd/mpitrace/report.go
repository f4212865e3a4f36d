package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

type reportOptions struct {
	rank    int // negative for all ranks
	json    bool
	formats []string
	top     string
	sort    string
}

// topSites is the default number of calls and call sites in the summary.
const topSites = 10

func newReport() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Show the summary of a recorded run",
		Long: `Show the summary of the run in DIR. Recordings that are not merged yet, for example
because the ranks recorded themselves (srun mpitrace run), are merged first. This
also works while the job is running.

If DIR has several jobs, a table lists them, followed by the summary of each,
ordered by start time. With --rank, the summaries are of that rank, in each job
that recorded it. It is an error if no job did.`,
		Example: `  mpitrace report mpitrace-app-20260102-150405
  mpitrace report --rank 3 mpitrace-app-20260102-150405
  mpitrace report --top all --sort bytes mpitrace-app-20260102-150405
  mpitrace report --json mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("rank") {
				o.rank = -1
			} else if o.rank < 0 {
				return usage(fmt.Errorf("--rank %d: ranks count from 0", o.rank))
			}
			return o.run(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.rank, "rank", 0, "show only this world rank, in each job that has it")
	f.BoolVar(&o.json, "json", false, "print JSON instead of text")
	f.StringVar(&o.top, "top", strconv.Itoa(topSites), "the `number` of calls, call sites and pairs to list, or all")
	f.StringVar(&o.sort, "sort", string(aggregate.ByTime), "sort call sites by `KEY`: time, bytes or calls")
	f.StringSliceVar(&o.formats, "format", nil, "also write one file per rank: `prof`, arrow")
	return cmd
}

func (o *reportOptions) run(cmd *cobra.Command, path string) error {
	formats, err := run.ParseFormats(o.formats)
	if err != nil {
		return usage(err)
	}
	options, err := o.text(cmd.OutOrStdout())
	if err != nil {
		return usage(err)
	}
	dir := run.Dir(path)
	now := time.Now()
	opened, err := openRun(cmd.ErrOrStderr(), dir)
	if err != nil {
		return err
	}
	info, infoErr := dir.ReadInfo()
	if infoErr != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "mpitrace: %v; going on without it, nothing is merged\n", infoErr)
	}
	sayNotHome(cmd.ErrOrStderr(), dir)
	sayLost(cmd.ErrOrStderr(), dir, info)
	if wrong := dir.WrongMPI(); o.json {
		sayWrongMPI(cmd.ErrOrStderr(), wrong)
	} else {
		options.Missing = missingText(wrong, "")
	}
	if infoErr == nil { // merging would replace a run.json that the user may want to repair
		if err := mergeIfStale(dir, opened, formats); err != nil {
			// Another user's directory can still be read.
			fmt.Fprintf(cmd.ErrOrStderr(), "mpitrace: not merged: %v\n", err)
		}
		sayEvents(cmd.ErrOrStderr(), dir, &opened.Traced)
		sayWhatTracesAreFor(cmd.ErrOrStderr(), dir, &opened.Traced)
	}
	found, err := o.summaries(opened, now)
	if err != nil {
		return err
	}
	if o.json {
		return found.writeJSON(cmd.OutOrStdout(), dir)
	}
	return found.writeText(cmd.OutOrStdout(), options)
}

// text returns the options of the text output.
func (o *reportOptions) text(w io.Writer) (report.Options, error) {
	options := textOptionsFor(w)
	switch by := aggregate.SiteOrder(o.sort); by {
	case aggregate.ByTime, aggregate.ByBytes, aggregate.ByCalls:
		options.Sort = by
	default:
		return options, fmt.Errorf("--sort %s: call sites can be sorted by time, bytes or calls", o.sort)
	}
	if o.top == "all" {
		options.Top = -1
		return options, nil
	}
	n, err := strconv.Atoi(o.top)
	if err != nil || n < 0 {
		return options, fmt.Errorf("--top %s: a number of calls and call sites, or all", o.top)
	}
	options.Top = n
	return options, nil
}

// openRun opens a run directory and warns of damage in it.
func openRun(log io.Writer, dir run.Dir) (*run.Run, error) {
	opened, err := openJobs(log, dir)
	if err == nil {
		sayDamage(log, opened.Damaged)
	}
	return opened, err
}

// openJobs opens a run directory. The caller handles its damage, unless there
// is no job.
func openJobs(log io.Writer, dir run.Dir) (*run.Run, error) {
	opened, err := dir.Open(run.Whole, log)
	if file := (*run.NotRunError)(nil); os.IsNotExist(err) || errors.As(err, &file) {
		return nil, usage(err)
	}
	if err != nil {
		return nil, err
	}
	if len(opened.Jobs) == 0 {
		sayDamage(log, opened.Damaged)
		return nil, usage(nothingIn(string(dir)))
	}
	nameSites(log, opened, dir.Known())
	return opened, nil
}

// nameSites resolves the call sites to names, and warns of the files for which
// that fails.
func nameSites(log io.Writer, opened *run.Run, known profile.Symbols) {
	for _, err := range opened.Symbolize(known) {
		fmt.Fprintf(log, "mpitrace: %v\n", err)
	}
}

// nothingIn returns an error that explains why a directory has no job.
func nothingIn(path string) error {
	if wrong := run.Dir(path).WrongMPI(); len(wrong) > 0 {
		return fmt.Errorf("%s holds no recording; %s", path, wrongMPIText(wrong[0]))
	}
	parent := filepath.Dir(filepath.Clean(path))
	if filepath.Base(path) == "." { // the absolute path has the names of both directories
		if abs, err := filepath.Abs(path); err == nil {
			path, parent = abs, filepath.Dir(abs)
		}
	}
	if files, _ := run.Dir(parent).RecordingFiles(); len(files) > 0 && filepath.Clean(path) == run.Dir(parent).Recordings() {
		return fmt.Errorf("that is the recordings of %s: give %s", parent, parent)
	}
	info, _ := run.Dir(path).ReadInfo() // empty on an error; then nothing is known
	if known := whereabouts(run.Dir(path), info); known != "" {
		return fmt.Errorf("%s holds no recording: %s", path, known)
	}
	if nested := launch.NestedRuns(run.Dir(path).Recordings()); len(nested) > 0 {
		return fmt.Errorf("%s holds no recording: another `mpitrace run` in the command recorded into %s", path, strings.Join(nested, ", "))
	}
	return fmt.Errorf("%s holds no recording: no process called MPI_Init, or it is no run directory", path)
}

// summaries are those of the jobs or, with --rank, of the rank in each job that
// has it.
type summaries struct {
	jobs  []*aggregate.Summary
	ranks []*aggregate.RankSummary
}

// summaries returns an error if no job has the rank.
func (o *reportOptions) summaries(opened *run.Run, now time.Time) (found summaries, missing error) {
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(run.LiveSource{Of: src, Read: now}, aggregate.Options{
			Keep: func(rank int) bool { return rank == o.rank }, MustAgree: settingsThatAgree()})
		if err != nil {
			return summaries{}, err
		}
		if o.rank < 0 {
			found.jobs = append(found.jobs, j.Summary())
			continue
		}
		s, err := j.RankSummary(o.rank)
		if err != nil {
			missing = usage(err)
			continue
		}
		found.ranks = append(found.ranks, s)
	}
	if len(found.jobs)+len(found.ranks) == 0 {
		return summaries{}, missing
	}
	return found, nil
}

func (s summaries) writeText(w io.Writer, o report.Options) error {
	report.Jobs(w, s.jobs, o)
	missing := o.Missing // follows the last summary
	n := len(s.jobs) + len(s.ranks)
	for i := range n {
		if i > 0 {
			fmt.Fprintln(w)
		}
		o.Missing = nil
		if i == n-1 {
			o.Missing = missing
		}
		var err error
		if len(s.ranks) > 0 {
			err = report.Rank(w, s.ranks[i], o)
		} else {
			err = report.Summary(w, s.jobs[i], o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes {"run": run.json, "jobs": [summary …]}.
func (s summaries) writeJSON(w io.Writer, dir run.Dir) error {
	info, _ := dir.ReadInfo() // empty on an error, which was already reported
	var jobs any = s.jobs
	if len(s.ranks) > 0 {
		jobs = s.ranks
	}
	return text.WriteJSON(w, struct {
		Run  *run.Info `json:"run"`
		Jobs any       `json:"jobs"`
	}{info, jobs})
}

// textOptions returns options for ASCII output, unless the locale is UTF-8.
func textOptions() report.Options {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(os.Getenv(name)); value != "" {
			return report.Options{ASCII: !strings.Contains(value, "UTF-8") && !strings.Contains(value, "UTF8")}
		}
	}
	return report.Options{ASCII: true}
}

func mergeIfStale(dir run.Dir, opened *run.Run, formats []run.Format) error {
	if !dir.Stale() && len(formats) == 0 {
		return nil
	}
	info, err := dir.ReadInfo()
	if err != nil {
		return err
	}
	info.Version = versionString()
	return dir.Merge(opened, formats, info, trace.EstimateClocks)
}

// textOptionsFor returns the options of text output on w. Tables fit the width
// of a terminal, and are as wide as necessary elsewhere. COLUMNS overrides
// both, as in ls and git.
func textOptionsFor(w io.Writer) report.Options {
	o := textOptions()
	o.Width = text.TerminalWidth(w)
	return o
}
