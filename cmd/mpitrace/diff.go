package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
)

type diffOptions struct {
	json        bool
	job         string // "2" or "2:3"; empty for all jobs
	judge       bool
	top         string
	sort        string
	ignoreTime  bool
	failIfWorse string
}

// topChanges is the default number of changes in a table.
const topChanges = 10

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show the differences between two runs",
		Long: `Show what changed from run A to run B: time, bytes and messages, in total and by
call, call site, communicator and pair of ranks; the largest change first. A and
B are run directories, recordings or Arrow files.

If both runs have the same number of jobs, these are compared in the order of their
start. If one run has fewer, each of its jobs is compared with the job of the other
run that has the same program and number of ranks; if there are several, choose
with --job. The numbers of ranks may differ: sums are over all ranks, and pairs are
compared by rank. Bytes and messages are those sent or, if neither run sent any,
those received. Init and Finalize are shown separately, in the total only. Times are
sums over all ranks. A time is listed if it is at least 1 % of the time in MPI, in A
or in B, and changed by at least 1 %. Communicators are matched by name or, if they
have none, by the function that created them.

Call sites are matched by their place in the source, because the program may have
changed. If a function calls an MPI function from the same number of lines in A and
B, these lines are matched in their order; "(A: 12)" gives the line in A if it
differs. Otherwise equal lines are matched, and the others are listed as new or
gone. Without line numbers, functions are matched; without function names, modules
and offsets.

With more than 4096 ranks, pairs include point-to-point and one-sided calls only.

--fail-if-worse LIMIT is for a project's CI: the exit status is 4 if B exceeds A by
more than LIMIT, in total or in any call. The limit 10% applies to time, bytes and
messages; bytes=0%,time=20% to these two only; 0%,time=20% is 0% for all three
except time. Anything that A does not have exceeds any limit; a decrease never does.
Time is the time in MPI. Calls that take less than 1 % of it in both runs, and
increases of less than 1 ms, are ignored. Calls that were not recorded cannot be
compared: see run --strict.

The exit status is 0 if both runs can be read, even if they differ; 1 on an error,
or if --fail-if-worse is used and a recording is damaged; 2 if the command line is
wrong; 4 if B exceeds the limits of --fail-if-worse.`,
		Example: `  mpitrace diff mpitrace-app-20260102-150405 mpitrace-app-20260103-091500
  mpitrace diff --sort time --top all old new
  mpitrace diff --fail-if-worse bytes=0%,messages=0%,time=20% reference new
  mpitrace diff --json old/profile.arrow new/profile.arrow`,
		Args: asUsage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.judge = cmd.Flags().Changed("fail-if-worse") // true even if the value is empty, for example from an unset variable of a script
			return o.run(cmd, args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON instead of text: all changes, except that --top limits the pairs")
	f.StringVar(&o.job, "job", "", "compare only the `N`-th job of each run, or N:M, the N-th of A with the M-th of B; a run with one job always uses that one (default: all jobs)")
	f.StringVar(&o.top, "top", strconv.Itoa(topChanges), "the `number` of changes to list in each table, or all")
	f.StringVar(&o.sort, "sort", string(aggregate.InBytes), "sort changes by `KEY`: time, bytes or messages")
	f.BoolVar(&o.ignoreTime, "ignore-time", false, "do not compare times; --fail-if-worse LIMIT without a name then does not limit time")
	f.StringVar(&o.failIfWorse, "fail-if-worse", "", "exit with status 4 if B exceeds A by more than `LIMIT`: 10%, or bytes=0%,time=20%")
	return cmd
}

func (o *diffOptions) run(cmd *cobra.Command, a, b string) error {
	how, words, limits, err := o.parse()
	if err != nil {
		return usage(err)
	}
	words.Width = text.TerminalWidth(cmd.OutOrStdout())
	words.NameA, words.NameB = a, b
	before, err := openCompared(cmd.ErrOrStderr(), a)
	if err != nil {
		return err
	}
	after, err := openCompared(cmd.ErrOrStderr(), b)
	if err != nil {
		return err
	}
	if err := o.judgeable(cmd.ErrOrStderr(), before, after); err != nil {
		return err
	}
	pairs, err := o.jobs(a, before.Jobs, b, after.Jobs)
	if err != nil {
		return usage(err)
	}
	diffs, exceeded, err := compareJobs(pairs, how, limits)
	if err != nil {
		return err
	}
	if err := o.write(cmd.OutOrStdout(), diffs, words, pairs, before, after); err != nil {
		return err
	}
	if limits != nil {
		warnIncomplete(cmd.ErrOrStderr(), a, b, diffs)
	}
	if exceeded > 0 {
		return &exit{exitExceeded, fmt.Errorf("%s grew by more than --fail-if-worse %s allows: %s", b, o.failIfWorse, exceedances(diffs))}
	}
	return nil
}

// judgeable returns an error if --fail-if-worse is given and a run is damaged,
// because the unreadable part may be what grew. Otherwise it only warns.
func (o *diffOptions) judgeable(log io.Writer, runs ...*run.Run) error {
	var found run.DamageList
	for _, opened := range runs {
		found.Add(opened.Damaged...)
	}
	if !o.judge {
		sayDamage(log, found.Errors)
		return nil
	}
	if len(found.Errors) > 0 {
		return fmt.Errorf("%w\n--fail-if-worse judges no run that is damaged", errors.Join(found.Errors...))
	}
	return nil
}

// warnIncomplete warns that B may be within the limits only because something
// was not recorded. This is not an error: a run can have problems by design,
// such as messages to spawned processes. `run --strict` makes them an error.
func warnIncomplete(log io.Writer, a, b string, diffs []*aggregate.Diff) {
	for _, d := range diffs {
		for _, side := range []struct {
			path     string
			problems []string
		}{{a, d.A.Problems}, {b, d.B.Problems}} {
			if len(side.problems) > 0 {
				fmt.Fprintf(log, "mpitrace: %s is judged as it is recorded, but does not add up: %s\n", side.path, text.Line(strings.Join(side.problems, "; ")))
			}
		}
	}
}

// exceedances names the first few values that exceed their limit.
func exceedances(diffs []*aggregate.Diff) string {
	const most = 4
	var names []string
	for _, d := range diffs {
		for _, e := range d.Exceeded {
			names = append(names, e.Of+" "+string(e.Name))
		}
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

func (o *diffOptions) parse() (how aggregate.DiffOptions, words report.DiffOptions, limits aggregate.Limits, err error) {
	top := -1
	if o.top != "all" {
		if top, err = strconv.Atoi(o.top); err != nil || top < 0 {
			return how, words, nil, fmt.Errorf("--top %s: a number of changes, or all", o.top)
		}
	}
	by := aggregate.MeasureName(o.sort)
	if !slices.Contains(aggregate.MeasureNames, by) {
		return how, words, nil, fmt.Errorf("--sort %s: changes can be sorted by time, bytes or messages", o.sort)
	}
	if o.ignoreTime && by == aggregate.InTime {
		return how, words, nil, fmt.Errorf("--sort time: with --ignore-time there is none")
	}
	if _, _, err := o.chosen(); err != nil {
		return how, words, nil, err
	}
	if o.judge {
		if limits, err = aggregate.ParseLimits(o.failIfWorse, o.ignoreTime); err != nil {
			return how, words, nil, fmt.Errorf("--fail-if-worse: %w", err)
		}
	}
	how = aggregate.DiffOptions{Sort: by, Pairs: top, IgnoreTime: o.ignoreTime}
	words = report.DiffOptions{Options: report.Options{ASCII: textOptions().ASCII, Top: top}, IgnoreTime: o.ignoreTime}
	return how, words, limits, nil
}

// openCompared opens a run directory, or a file with profiles.
func openCompared(log io.Writer, path string) (*run.Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage(err)
	}
	if info.IsDir() {
		return openJobs(log, run.Dir(path))
	}
	return openProfiles(log, path)
}

func openProfiles(log io.Writer, path string) (*run.Run, error) {
	format, err := formats.Detect(path)
	if err != nil {
		return nil, usage(err)
	}
	content, err := format.Read(path)
	if err != nil {
		return nil, err
	}
	if content.Profiles == nil {
		return nil, usage(fmt.Errorf("%s has neither times nor calls: give the run directory, recordings or Arrow files", path))
	}
	opened, err := run.OpenSource(content.Profiles, log)
	if err != nil {
		return nil, err
	}
	if len(opened.Jobs) == 0 {
		return nil, usage(fmt.Errorf("%s: no process in it", path))
	}
	nameSites(log, opened, nil)
	return opened, nil
}

// chosen returns the numbers of the jobs that --job names, from 1; 0 means all.
func (o *diffOptions) chosen() (a, b int, err error) {
	if o.job == "" {
		return 0, 0, nil
	}
	first, second, two := strings.Cut(o.job, ":")
	if !two {
		second = first
	}
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	if errA != nil || errB != nil || a < 1 || b < 1 {
		return 0, 0, fmt.Errorf("--job %s: jobs count from 1: give N, or N:M for the N-th of A and the M-th of B", o.job)
	}
	return a, b, nil
}

// jobs returns the pairs of jobs to compare.
func (o *diffOptions) jobs(a string, before []*run.Job, b string, after []*run.Job) ([][2]*run.Job, error) {
	n, m, err := o.chosen()
	if err != nil {
		return nil, err
	}
	if n > 0 {
		x, y := nthJob(before, n, n == m), nthJob(after, m, n == m)
		if x == nil || y == nil {
			return nil, fmt.Errorf("--job %s: %s, %s", o.job, jobList(a, before), jobList(b, after))
		}
		return [][2]*run.Job{{x, y}}, nil
	}
	if len(before) == len(after) {
		var pairs [][2]*run.Job
		for i := range before {
			pairs = append(pairs, [2]*run.Job{before[i], after[i]})
		}
		return pairs, nil
	}
	pairs := alike(before, after)
	if pairs == nil {
		return nil, fmt.Errorf("%s, %s, and it is not clear which to compare: choose with --job N:M, the N-th of A and the M-th of B",
			jobList(a, before), jobList(b, after))
	}
	return pairs, nil
}

// alike pairs each job of the run that has fewer jobs with the job of the other
// run that has the same program and number of ranks. It returns nil if a job
// has no such partner, or several.
func alike(before, after []*run.Job) (pairs [][2]*run.Job) {
	type kind struct {
		program string
		ranks   int
	}
	byKind := func(jobs []*run.Job) map[kind][]*run.Job {
		out := map[kind][]*run.Job{}
		for i, j := range jobs {
			k := kind{programOf(jobs, i), j.Size}
			out[k] = append(out[k], j)
		}
		return out
	}
	a, b := byKind(before), byKind(after)
	fewer := before
	if len(after) < len(before) {
		fewer = after
	}
	for i, j := range fewer {
		k := kind{programOf(fewer, i), j.Size}
		if len(a[k]) != 1 || len(b[k]) != 1 {
			return nil
		}
		pairs = append(pairs, [2]*run.Job{a[k][0], b[k][0]})
	}
	return pairs
}

// programOf returns the name of a job's program: its Stem without the number of
// the job.
func programOf(jobs []*run.Job, i int) string {
	return strings.TrimSuffix(jobs[i].Stem, fmt.Sprintf("-job%d", i+1))
}

// nthJob returns the n-th job, or nil if there is none. If one number is given
// for both runs, a run with one job always returns that job.
func nthJob(jobs []*run.Job, n int, forBoth bool) *run.Job {
	switch {
	case len(jobs) == 1 && forBoth:
		return jobs[0]
	case n <= len(jobs):
		return jobs[n-1]
	}
	return nil
}

func jobList(path string, jobs []*run.Job) string {
	const most = 8
	var names []string
	for i, j := range jobs {
		if i == most {
			names = append(names, "...")
			break
		}
		names = append(names, fmt.Sprintf("%d: %s on %s", i+1, programOf(jobs, i), text.CountOf(j.Size, "rank")))
	}
	return fmt.Sprintf("%s has %s (%s)", path, text.CountOf(len(jobs), "job"), strings.Join(names, ", "))
}

// compareJobs compares each pair and applies the limits. exceeded is the number
// of values that exceed their limit.
func compareJobs(pairs [][2]*run.Job, how aggregate.DiffOptions, limits aggregate.Limits) (diffs []*aggregate.Diff, exceeded int, err error) {
	o := aggregate.Options{MustAgree: settingsThatAgree()}
	for _, pair := range pairs {
		a, err := aggregate.OfCompared(pair[0], o)
		if err != nil {
			return nil, 0, err
		}
		b, err := aggregate.OfCompared(pair[1], o)
		if err != nil {
			return nil, 0, err
		}
		d := aggregate.Compare(a, b, how)
		if _, judged := limits[aggregate.InTime]; judged && !d.TimesCompared {
			return nil, 0, fmt.Errorf("--fail-if-worse: no time can be judged, as calls were not timed (--timing %s in A, %s in B): "+
				"give --ignore-time, or limits for bytes and messages", d.A.Timing, d.B.Timing)
		}
		if limits != nil {
			d.Judge(limits)
		}
		exceeded += len(d.Exceeded)
		diffs = append(diffs, d)
	}
	return diffs, exceeded, nil
}

func (o *diffOptions) write(w io.Writer, diffs []*aggregate.Diff, words report.DiffOptions, pairs [][2]*run.Job, before, after *run.Run) error {
	if o.json {
		return text.WriteJSON(w, struct {
			A    string            `json:"a"`
			B    string            `json:"b"`
			Jobs []*aggregate.Diff `json:"jobs"`
		}{words.NameA, words.NameB, diffs})
	}
	a, b := words.NameA, words.NameB
	for i, d := range diffs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		words.NameA, words.NameB = jobName(a, before.Jobs, pairs[i][0]), jobName(b, after.Jobs, pairs[i][1])
		if err := report.Diff(w, d, words); err != nil {
			return err
		}
	}
	return nil
}

// jobName returns the path of a run, with the number of the job if there are
// several.
func jobName(path string, jobs []*run.Job, j *run.Job) string {
	if len(jobs) == 1 {
		return path
	}
	return fmt.Sprintf("%s, job %d", path, slices.Index(jobs, j)+1)
}
