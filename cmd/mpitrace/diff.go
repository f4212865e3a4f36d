package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/page"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

type diffOptions struct {
	json        bool
	job         string // "2" or "2:3"; empty for all jobs
	top         topFlag
	sort        aggregate.MeasureName
	sorted      bool // --sort is given
	ignoreTime  bool
	limited     bool // --fail-if-worse is given, even if it is empty, for example from an unset variable of a script
	failIfWorse string
	limits      aggregate.Limits // parsed from failIfWorse
	page        pageOptions
}

const diffHelp = `Show what changed from run A to run B: time, bytes and messages, in total and by
call, call site, communicator and pair of ranks. Each is
` + profileInputs + `.
Without A and B, B is the newest of your runs in the current directory, and A the one
before it of the same program; their names go to standard error.
Arrow files do not have settings: with one, settings, MPI variables and late receives
are not compared.

The first sentence says by how much B is slower or faster, and which call sites, or
the time outside MPI, carry the difference: their parts of the change of a rank's run
time (from MPI_Init to MPI_Finalize), in the mean over ranks. A difference of less
than 12 % may be noise: run each three times, and use mpitrace history.

What changed the time most comes first, then what changed most in bytes, and in
messages. With --ignore-time, or if calls were not timed, that is bytes first. --sort
has other orders. A time is listed, and sorted by, if it is at least 1 % of the time
in MPI, in A or in B, and changed by at least 1 %.

If both runs have the same number of jobs, these are compared in the order of their
start. If one run has fewer, each of its jobs is compared with the job of the other
run that has the same program and number of ranks; if there are several, choose
with --job. The numbers of ranks may differ: sums are over all ranks, and pairs are
compared by rank. Bytes and messages are those sent or, if neither run sent any,
those received. Init and Finalize are shown separately, in the total only. Times are
sums over all ranks. Communicators are matched by name or, if they have none, by the
function that created them.

Call sites are matched by their place in the source, because the program may have
changed. If a function calls an MPI function from the same number of lines in A and
B, these lines are matched in their order, and "line in A" is the line in A if it
differs. Otherwise equal lines are matched, and the others are listed as new or
gone. Without line numbers, functions are matched; without function names, modules
and offsets.

--html writes the differences as one HTML file instead of text, with the matrices of
both runs.

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
wrong; 4 if B exceeds the limits of --fail-if-worse.`

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [A B]",
		Short: "Show the differences between two runs",
		Long:  diffHelp,
		Example: `  mpitrace diff mpitrace-app-20260102-150405 mpitrace-app-20260103-091500
  mpitrace diff --sort bytes --top all old new
  mpitrace diff --fail-if-worse bytes=0%,messages=0%,time=20% reference new
  mpitrace diff --json old/profile.arrow new/profile.arrow
  mpitrace diff --html changes.html old new`,
		Args: asUsage(noneOrTwo),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.limited, o.sorted = cmd.Flags().Changed("fail-if-worse"), cmd.Flags().Changed("sort")
			if err := o.page.check(cmd); err != nil {
				return usage(err)
			}
			a, b, err := namedRuns(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd, a, b)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *diffOptions) addFlags(cmd *cobra.Command) {
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON instead of text: all changes, except that --top limits the pairs")
	f.StringVar(&o.job, "job", "", "compare only the `N`-th job of each run, or N:M, the N-th of A with the M-th of B; a run with one job always uses that one (default: all jobs)")
	addPage(cmd, &o.page)
	addTop(cmd, &o.top, "the `number` of changes to list in each table, or all")
	addWord(cmd, &o.sort, "sort", "sort changes by `KEY`: time, bytes or messages", aggregate.InTime, aggregate.InBytes, aggregate.InMessages)
	f.BoolVar(&o.ignoreTime, "ignore-time", false, "do not compare times; --fail-if-worse LIMIT without a name then does not limit time")
	f.StringVar(&o.failIfWorse, "fail-if-worse", "", "exit with status 4 if B exceeds A by more than `LIMIT`: 10%, or bytes=0%,time=20%")
}

func (o *diffOptions) run(cmd *cobra.Command, pathA, pathB string) error {
	n, m, err := o.parse()
	if err != nil {
		return usage(err)
	}
	log := cmd.ErrOrStderr()
	room := source.NewRoom()
	a, err := openCompared(log, pathA, room)
	if err != nil {
		return err
	}
	b, err := openCompared(log, pathB, room)
	if err != nil {
		return err
	}
	lacks := slices.Compact([]string{a.Lacks(), b.Lacks()})
	lacks = slices.DeleteFunc(lacks, func(line string) bool { return line == "" })
	warn(log, lacks...)
	pairs, err := source.PairJobs(a, b, n, m)
	if err != nil {
		return err
	}
	p := page.NewDiff(made(), a.Path, b.Path)
	diffs, err := o.compare(pairs, len(lacks) > 0, a, b, p)
	if err == nil {
		err = o.checkDamage(log, a, b)
	}
	if err != nil {
		return err
	}
	if o.page.file != "" {
		if err := o.page.write(cmd, p); err != nil {
			return err
		}
	}
	if err := o.write(cmd.OutOrStdout(), diffs, a, b); err != nil {
		return err
	}
	return o.checkLimits(log, diffs, a, b)
}

// parse checks the flags, and returns the numbers of the jobs that --job names,
// from 1; 0 means all.
func (o *diffOptions) parse() (n, m int, err error) {
	if o.ignoreTime && o.sorted && o.sort == aggregate.InTime {
		return 0, 0, errors.New("--sort time cannot be combined with --ignore-time")
	}
	if o.limited {
		if o.limits, err = aggregate.ParseLimits(o.failIfWorse, o.ignoreTime); err != nil {
			return 0, 0, fmt.Errorf("--fail-if-worse: %w", err)
		}
	}
	if o.job == "" {
		return 0, 0, nil
	}
	first, second, two := strings.Cut(o.job, ":")
	if !two {
		second = first
	}
	n, errN := strconv.Atoi(first)
	m, errM := strconv.Atoi(second)
	if errN != nil || errM != nil || n < 1 || m < 1 {
		return 0, 0, fmt.Errorf("--job %s: jobs count from 1: give N, or N:M for the N-th of A and the M-th of B", o.job)
	}
	return n, m, nil
}

// openCompared opens a run, or a file with profiles.
func openCompared(log io.Writer, path string, room *source.Room) (*source.Run, error) {
	opened, err := source.Open([]string{path}, source.Options{Depth: source.Whole, Log: log, Room: room})
	if err == nil {
		warn(log, opened.Unnamed()...)
		err = opened.NoJob()
	}
	return opened, err
}

// checkDamage returns an error if --fail-if-worse is given and a run is damaged,
// because the unreadable part may be what grew. Otherwise it only warns.
func (o *diffOptions) checkDamage(log io.Writer, runs ...*source.Run) error {
	var found source.DamageList
	for _, opened := range runs {
		found.Add(opened.Damage()...)
	}
	if o.limited && len(found.Errors) > 0 {
		return fmt.Errorf("%w\n--fail-if-worse does not accept damaged runs", errors.Join(found.Errors...))
	}
	warn(log, found.Errors...)
	return nil
}

// comparison is the difference between two jobs, and what is shown of it.
type comparison struct {
	*aggregate.Diff
	view views.DiffView
}

// compare compares each pair of jobs and applies the limits. It adds what it compared to
// a page, if one is to be written. lack is set if a run was read from tables.
func (o *diffOptions) compare(pairs [][2]*source.Job, lack bool, a, b *source.Run, p *page.Page) (diffs []comparison, err error) {
	for _, pair := range pairs {
		var sides [2]*aggregate.ComparedJob
		for i, job := range pair {
			if sides[i], err = aggregate.OfCompared(job, aggregate.Options{MustAgree: settingsThatAgree()}); err != nil {
				return nil, err
			}
		}
		d := aggregate.Compare(sides[0], sides[1], aggregate.DiffOptions{Sort: o.sort, Pairs: int(o.top), IgnoreTime: o.ignoreTime, SettingsUnknown: lack})
		if _, limited := o.limits[aggregate.InTime]; limited && !d.TimesCompared {
			return nil, fmt.Errorf("--fail-if-worse: times cannot be compared, as calls were not timed (--timing %s in A, %s in B): "+
				"give --ignore-time, or limits for bytes and messages", d.A.Timing, d.B.Timing)
		}
		if o.limits != nil {
			d.Judge(o.limits)
		}
		view := views.DiffView{Top: int(o.top), IgnoreTime: o.ignoreTime, NameA: a.JobName(pair[0]), NameB: b.JobName(pair[1])}
		if o.page.file != "" {
			p.AddDiff(d, view, sides[0].Job, sides[1].Job)
		}
		diffs = append(diffs, comparison{d, view})
	}
	return diffs, nil
}

func (o *diffOptions) write(w io.Writer, diffs []comparison, a, b *source.Run) error {
	if o.json {
		jobs := []document{}
		for _, d := range diffs {
			sections := views.Diff(d.Diff, d.view)
			job, err := withVerdict(d.Diff, sections)
			if err != nil {
				return err
			}
			jobs = append(jobs, document{job, sections})
		}
		return text.WriteJSON(w, struct {
			Version int        `json:"schema_version"`
			A       string     `json:"a"`
			B       string     `json:"b"`
			Jobs    []document `json:"jobs"`
		}{schemaVersion, a.Path, b.Path, jobs})
	}
	if o.page.file != "" {
		return nil
	}
	var sections []views.Section
	for _, d := range diffs {
		sections = append(sections, views.Diff(d.Diff, d.view)...)
	}
	return terminal.Write(w, sections, terminalFor(w, "mpitrace diff A B | less -S"))
}

// checkLimits returns an error with the first few values that exceed their limit.
// It also warns that B may be within the limits only because something was not
// recorded. This is not an error: a run can have problems by design, such as
// messages to spawned processes. `run --strict` makes them an error.
func (o *diffOptions) checkLimits(log io.Writer, diffs []comparison, a, b *source.Run) error {
	if o.limits == nil {
		return nil
	}
	var exceeded []string
	for _, d := range diffs {
		for _, side := range []struct {
			path     string
			problems []string
		}{{a.Path, d.A.Problems}, {b.Path, d.B.Problems}} {
			if len(side.problems) > 0 {
				warn(log, fmt.Sprintf("%s is incomplete, and compared as it is: %s", side.path, strings.Join(side.problems, "; ")))
			}
		}
		for _, e := range d.Exceeded {
			exceeded = append(exceeded, e.Of+" "+string(e.Name))
		}
	}
	if len(exceeded) == 0 {
		return nil
	}
	return &exit{exitExceeded, fmt.Errorf("%s grew by more than --fail-if-worse %s allows: %s", b.Path, o.failIfWorse, firstFew(exceeded, 4))}
}
