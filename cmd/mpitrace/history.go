package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/page"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

type historyOptions struct {
	json        bool
	markdown    bool
	top         topFlag
	program     string // name of all programs; empty for their own
	page        pageOptions
	limited     bool // --fail-if-worse is given, even if it is empty
	failIfWorse string
	limits      aggregate.Limits // parsed from failIfWorse
}

const historyHelp = `Show many runs together. Each RUN is a directory that contains runs, or
` + profileInputs + `.
The runs are read one after the other, and nothing is written to them. Runs that are
damaged or empty are named and left out.

Runs of the same program, version, arguments, number of ranks and MPI library are
repetitions of one configuration, which is shown with its median and its spread,
the largest minus the smallest value. The program is the file name of the executable,
and the version its build-id. If the file names of versions differ, such as app-1.2
and app-1.3, --program app makes them one program. If a job has several programs, all
of them, and the number of ranks of each, must be the same. Runs in which a rank did
not finalize are listed, but not compared.

The first sentences say which numbers of ranks pay, and which version is slower or
faster by more than its spread.

Scaling: for each version and arguments that ran on several numbers of ranks, the
speed-up of the wall time over the fewest ranks, the efficiency (the speed-up divided
by how many times as many ranks there are), the cost in core-seconds (ranks × wall
time), and the efficiencies as defined by POP, for which 100 % is ideal. Computation
scaling is the time outside MPI of all ranks on the fewest ranks, divided by that on
more ranks, for the same work. Ranks that are added pay if they contribute at least
half of their share: twice the ranks must be 1.5 times faster. This needs three
numbers of ranks. For each call site, the exponent with which its time per rank grows
with the number of ranks, the largest first: -1 if the time is divided among the
ranks, 0 if it is constant, 1 if it is proportional to the number of ranks. Exponents
need three numbers of ranks, and a standard error below 0.5.

Evolution: for the same program, arguments and number of ranks, what changed from
one version to the next, in the order of their first runs, and which findings
appeared or disappeared. A difference is a change if the medians differ by more than
twice the sum of the spreads of both versions. A change of time is also at least 1 %
of the run and 5 % of the time itself. If a version ran only once, its spread is not
known, and all differences above these two limits are shown. Run each version at
least three times. mpitrace diff shows more about two runs.

--markdown prints Markdown, for example for a comment on a merge request. --html
writes one HTML file instead of text.

--fail-if-worse LIMIT is for a project's CI. For each program, arguments and number
of ranks, it compares the newest version with the one before, in total and by call.
LIMIT is as in mpitrace diff, but differences that are not changes are ignored.

The exit status is 0 if there are runs to show, even if they differ; 1 on an error,
or if --fail-if-worse is used and a run is damaged; 2 if the command line is wrong or
there is no run; 4 if a version exceeds the limits of --fail-if-worse.`

func newHistory() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history RUN...",
		Short: "Show many runs: repetitions, scaling, and what changed between versions",
		Long:  historyHelp,
		Example: `  mpitrace history runs
  mpitrace history --json mpitrace-app-20260102-150405 mpitrace-app-20260103-091500
  mpitrace history --html history.html runs
  mpitrace history --program app runs-1.2 runs-1.3
  mpitrace history --markdown --fail-if-worse bytes=0%,time=10% runs`,
		Args: asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd); err != nil {
				return usage(err)
			}
			return o.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON instead of text")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown instead of text")
	addTop(cmd, &o.top, "the `number` of call sites and changes to list in each table, or all")
	f.StringVar(&o.program, "program", "", "count all programs as versions of one program, `NAME`")
	addPage(cmd, &o.page)
	f.StringVar(&o.failIfWorse, "fail-if-worse", "", "exit with status 4 if the newest version exceeds the one before by more than `LIMIT`: 10%, or bytes=0%,time=20%")
	return cmd
}

// parse checks the flags.
func (o *historyOptions) parse(cmd *cobra.Command) (err error) {
	if o.json && o.markdown {
		return errors.New("--json and --markdown cannot be combined")
	}
	if o.limited = cmd.Flags().Changed("fail-if-worse"); o.limited {
		if o.limits, err = aggregate.ParseLimits(o.failIfWorse, false); err != nil {
			return fmt.Errorf("--fail-if-worse: %w", err)
		}
	}
	return o.page.check(cmd)
}

func (o *historyOptions) run(cmd *cobra.Command, dirs []string) error {
	log := cmd.ErrOrStderr()
	kept := map[string]*source.Run{}
	h, err := readHistory(log, dirs, kept)
	if err != nil {
		return err
	}
	if o.program != "" {
		h.Rename(o.program)
	}
	if err := h.Compute(func(a, b *history.PastRun) (*aggregate.Diff, error) { return compareRuns(a, b, kept) }); err != nil {
		return err
	}
	var judged []*history.Step
	if o.limited {
		if judged, err = o.judge(h); err != nil {
			return err
		}
	}
	if o.page.file != "" {
		if err := o.page.write(cmd, page.NewHistory(made(), h)); err != nil {
			return err
		}
	}
	if err := o.write(cmd.OutOrStdout(), h); err != nil {
		return err
	}
	return o.checkLimits(log, judged)
}

// readHistory reads the runs in some directories one after the other, and names those
// that it leaves out. It adds the runs of which all profiles are in memory to kept.
func readHistory(log io.Writer, dirs []string, kept map[string]*source.Run) (*history.History, error) {
	h, room := &history.History{}, source.NewRoom()
	seen := map[string]bool{}
	for _, dir := range dirs {
		found, errs := runsOf(dir)
		for _, err := range errs {
			h.Skipped = append(h.Skipped, history.Skipped{Dir: dir, Why: err.Error(), Damaged: true})
		}
		for _, entry := range found {
			path, err := filepath.Abs(entry.Dir)
			if err != nil || seen[path] {
				continue
			}
			seen[path] = true
			dir := filepath.Clean(entry.Dir)
			opened, err := source.Open([]string{dir}, source.Options{Depth: source.Whole, Log: log, Room: room})
			if err != nil {
				h.Skipped = append(h.Skipped, history.Skipped{Dir: dir, Why: err.Error(), Damaged: true})
				continue
			}
			if why := addRun(h, opened); why != nil {
				h.Skipped = append(h.Skipped, *why)
			} else if !opened.ReadOnce() {
				kept[dir] = opened
			}
		}
	}
	for _, s := range h.Skipped {
		warn(log, fmt.Sprintf("left out: %s: %s", s.Dir, s.Why))
	}
	if len(h.Runs) == 0 {
		return nil, usage(fmt.Errorf("no run can be read in %s: give run directories, or a directory that contains some", strings.Join(dirs, ", ")))
	}
	return h, nil
}

// runsOf returns the runs in a directory or, if there are none, or if it is a file, the path
// itself, which may have profiles in it.
func runsOf(path string) ([]source.Entry, []error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if found, errs := source.List(path); len(found)+len(errs) > 0 {
			return found, errs
		}
	}
	return []source.Entry{{Dir: path}}, nil
}

// addRun adds the jobs of a run. It returns why the run is left out, nil if it is not.
func addRun(h *history.History, opened *source.Run) *history.Skipped {
	path, now := opened.Path, time.Now()
	if len(opened.Jobs) == 0 {
		why := "nothing was recorded"
		if !opened.Dir.Used() {
			why = "it contains no run"
		}
		return &history.Skipped{Dir: path, Why: why}
	}
	kept := &keptAnalysis{}
	if found := readAnalysis(opened.Dir); found != nil && opened.Dir != "" {
		kept = found
	}
	var jobs []*history.PastRun
	for i, src := range opened.Jobs {
		r, s, err := history.RunOf(source.LiveSource{Of: src, Read: now, Ended: opened.Ended()}, aggregate.Options{MustAgree: settingsThatAgree()})
		if err != nil {
			return &history.Skipped{Dir: path, Why: err.Error(), Damaged: true}
		}
		r.Dir, r.Job, r.Jobs = path, i+1, len(opened.Jobs)
		findings.UseTrace(s, kept.of(s.Run))
		r.Findings = findingsOf(findings.Of(s, kept.of(s.Run)))
		jobs = append(jobs, r)
	}
	if damaged := opened.Damage(); len(damaged) > 0 {
		return &history.Skipped{Dir: path, Why: damaged[0].Error(), Damaged: true}
	}
	h.Runs = append(h.Runs, jobs...)
	return nil
}

func findingsOf(found []findings.Finding) []history.NotedFinding {
	out := []history.NotedFinding{}
	for _, f := range found {
		out = append(out, history.NotedFinding{Rule: string(f.Rule), Share: f.Share, OfTime: f.Of == findings.OfTime, Call: f.Call, Callsite: f.Callsite,
			Text: f.Text, Uncertain: f.Uncertain})
	}
	return out
}

// of returns the analysis of a job's traces; nil if there is none.
func (k *keptAnalysis) of(job string) *trace.Result {
	for _, found := range k.Jobs {
		if found.Run == job {
			return found
		}
	}
	return nil
}

// compareRuns compares the jobs of two runs. It reads those again that are not kept.
func compareRuns(a, b *history.PastRun, kept map[string]*source.Run) (*aggregate.Diff, error) {
	var sides [2]*aggregate.ComparedJob
	o := aggregate.DiffOptions{Sort: aggregate.InTime, Pairs: 10}
	for i, r := range []*history.PastRun{a, b} {
		opened := kept[r.Dir]
		var err error
		if opened == nil {
			if opened, err = source.Open([]string{r.Dir}, source.Options{Depth: source.Whole}); err != nil {
				return nil, err
			}
		}
		o.SettingsUnknown = o.SettingsUnknown || opened.Lacks() != ""
		if r.Job > len(opened.Jobs) {
			return nil, fmt.Errorf("read %s: it changed meanwhile: run the command again", r.Dir)
		}
		if sides[i], err = aggregate.OfCompared(opened.Jobs[r.Job-1], aggregate.Options{MustAgree: settingsThatAgree()}); err != nil {
			return nil, err
		}
	}
	return aggregate.Compare(sides[0], sides[1], o), nil
}

// judge applies the limits. Damaged runs are an error, because they may be what
// became worse.
func (o *historyOptions) judge(h *history.History) ([]*history.Step, error) {
	for _, s := range h.Skipped {
		if s.Damaged {
			return nil, fmt.Errorf("%s: %s\n--fail-if-worse does not accept damaged runs: remove or repair it", s.Dir, s.Why)
		}
	}
	judged := h.Judge(o.limits)
	for _, s := range judged {
		if _, limited := o.limits[aggregate.InTime]; limited && !s.TimesCompared {
			return nil, fmt.Errorf("--fail-if-worse: times of %s and %s cannot be compared, as calls were not timed: give limits for bytes and messages", s.A.Median, s.B.Median)
		}
	}
	return judged, nil
}

func (o *historyOptions) write(w io.Writer, h *history.History) error {
	sections := views.History(h, views.HistoryView{Top: int(o.top), ChangesFirst: o.markdown})
	switch {
	case o.json:
		of, err := withVerdict(h, sections)
		if err != nil {
			return err
		}
		return writeDocument(w, of, sections)
	case o.markdown:
		return terminal.WriteMarkdown(w, sections, terminalFor(w, ""))
	case o.page.file != "":
		return nil
	}
	return terminal.Write(w, sections, terminalFor(w, "mpitrace history DIR | less -S"))
}

// checkLimits returns an error that names the first few values that exceed their
// limits.
func (o *historyOptions) checkLimits(log io.Writer, judged []*history.Step) error {
	if !o.limited {
		return nil
	}
	if len(judged) == 0 {
		warn(log, "--fail-if-worse compared nothing: no program ran in two versions with the same arguments on the same number of ranks")
	}
	var exceeded []string
	for _, s := range judged {
		if !s.SpreadKnown {
			warn(log, fmt.Sprintf("%s and %s: the spread is not known, as a version ran only once: noise may exceed the limits", s.A.Median, s.B.Median))
		}
		for _, e := range s.Exceeded {
			exceeded = append(exceeded, fmt.Sprintf("%s %s (%s)", e.Of, e.Name, s.B.Median))
		}
	}
	if len(exceeded) == 0 {
		return nil
	}
	return &exit{exitExceeded, fmt.Errorf("the newest version grew by more than --fail-if-worse %s allows: %s", o.failIfWorse, firstFew(exceeded, 4))}
}
