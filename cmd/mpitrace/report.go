package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

type reportOptions struct {
	rank    int // negative for all ranks
	json    bool
	full    bool
	brief   bool
	formats []string
	top     topFlag
	sort    aggregate.SiteOrder
	page    pageOptions
}

func newReport() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Show the summary of a recorded run",
		Long: `Show what matters most of RUN, in at most 25 lines; --full shows all. RUN is
` + profileInputs + `.
` + fmt.Sprintf(newestHelp, "RUN") + `

Recordings in a run directory that are not merged yet, for example because the ranks
recorded themselves (srun mpitrace run), are merged first. It also works while the job
is running; then no merged tables are written. The summary of more than 10,000
processes needs no merged files: for these, mpitrace merge writes them.

If RUN has several jobs, a table lists the first, followed by the job that used most
time (ranks × time); with --full, all are listed and shown, ordered by start time.
With --rank, the summaries are of that rank, in each job that recorded it. It is an
error if no job did.

--html writes the report as one HTML file instead of text, with a matrix to zoom
and, for a traced run, a timeline. It needs no other file and no network.`,
		Example: `  mpitrace report
  mpitrace report --full mpitrace-app-20260102-150405
  mpitrace report --rank 3 mpitrace-app-20260102-150405
  mpitrace report --top all --sort bytes mpitrace-app-20260102-150405
  mpitrace report --json mpitrace-app-20260102-150405
  mpitrace report --brief --json mpitrace-app-20260102-150405
  mpitrace report --html app.html mpitrace-app-20260102-150405
  mpitrace report filtered.arrow`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("rank") {
				o.rank = -1
			} else if o.rank < 0 {
				return usage(fmt.Errorf("--rank %d: ranks count from 0", o.rank))
			} else if o.page.file != "" {
				return usage(errors.New("--html shows all ranks: it cannot be combined with --rank"))
			}
			if err := errors.Join(o.page.check(cmd), o.checkLength(cmd)); err != nil {
				return usage(err)
			}
			run, err := namedRun(cmd, args)
			if err != nil {
				return err
			}
			if err := rundir.Dir(run).Foreign(); err != nil && o.page.source {
				return usage(fmt.Errorf("--source: %w, and its recordings may name any file: only its owner can show sources", err))
			}
			return o.run(cmd, run)
		},
	}
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.IntVar(&o.rank, "rank", 0, "show only this world rank, in each job that has it")
	f.BoolVar(&o.full, "full", false, "print all that is known, not only what matters most; --top and --sort imply it")
	f.BoolVar(&o.brief, "brief", false, "with --json: print at most 8 KB; without it, the short report, which is the default")
	f.BoolVar(&o.json, "json", false, "print JSON instead of text: all that is known, unless --brief is given")
	addTop(cmd, &o.top, "the `number` of calls, call sites and pairs to list, or all")
	addWord(cmd, &o.sort, "sort", "sort call sites by `KEY`: time, bytes or calls", aggregate.ByTime, aggregate.ByBytes, aggregate.ByCalls)
	addPage(cmd, &o.page)
	f.BoolVar(&o.page.source, "source", false, "with --html: show the lines of source around call sites, which the page then contains")
	f.StringSliceVar(&o.formats, "format", nil, "also write one file per rank: `prof`, arrow")
	commandline.CompleteFlag(cmd, "format", string(export.Prof), string(export.Arrow))
	return cmd
}

// checkLength checks the flags that say how much is printed.
func (o *reportOptions) checkLength(cmd *cobra.Command) error {
	lists := cmd.Flags().Changed("top") || cmd.Flags().Changed("sort")
	switch {
	case o.brief && (o.full || lists):
		return errors.New("--brief cannot be combined with --full, --top or --sort, which are about the full report")
	case o.brief && (o.rank >= 0 || o.page.file != ""):
		return errors.New("--brief cannot be combined with --rank or --html")
	}
	o.full = o.full || lists
	return nil
}

func (o *reportOptions) run(cmd *cobra.Command, path string) error {
	formats, err := export.ParseFormats(o.formats)
	if err != nil {
		return usage(err)
	}
	log, now := cmd.ErrOrStderr(), time.Now()
	opened, err := openRun(log, path, source.Options{Depth: source.Whole})
	if err != nil {
		return err
	}
	dir, unmerged := opened.Dir, false
	if dir != "" {
		unmerged = o.merge(log, dir, opened, formats)
	} else if len(formats) > 0 {
		return usage(fmt.Errorf("--format writes into a run directory, and %s is none: mpitrace export -o writes files of ranks", path))
	}
	found, err := o.summarize(opened, now)
	if err != nil {
		return err
	}
	warnOnce(log, opened)
	if o.rank < 0 && dir != "" {
		traced, err := analysisOf(log, dir, o.page.file != "", unmerged)
		if err != nil {
			warn(log, fmt.Errorf("the traces are not analysed: %w", err))
		}
		found.useTraced(traced)
	}
	info, _ := dir.ReadInfo() // empty on an error, which was already reported
	missing := found.lacks(dir, info.Command)
	if dir != "" {
		missing = append(missingText(dir.WrongMPI(), export.LostEventsText(dir, &opened.Traced)), missing...)
	}
	view := views.Options{Top: int(o.top), Sort: o.sort, Missing: missing, Info: info, Path: path, Files: dir == ""}
	if o.page.file != "" {
		made, err := found.page(view, o.page.source)
		if err != nil {
			return err
		}
		if err := o.page.write(cmd, made); err != nil {
			return err
		}
	}
	if o.json {
		warnIncomplete(log, missing...)
		if o.brief {
			return found.writeBrief(cmd.OutOrStdout(), view)
		}
		return found.writeJSON(cmd.OutOrStdout(), info, view)
	}
	if o.page.file != "" {
		return nil
	}
	if o.full || o.rank >= 0 {
		return found.writeText(cmd.OutOrStdout(), view)
	}
	return found.writeShort(cmd.OutOrStdout(), view)
}

func (o *reportOptions) summarize(opened *source.Run, read time.Time) (summaries, error) {
	scratch := scratchFor(opened)
	if o.rank >= 0 {
		return summarizeRank(opened, scratch, read, o.rank)
	}
	return summarize(opened, scratch, read, o.page.file != "")
}

// merge merges the run if its files are older than the recordings and if it has at most
// run.MostMerged processes, and warns of what is missing in its directory. If that
// fails, the recordings can still be read: the directory may belong to another user.
// unmerged reports whether there are events that are not in the traces because this user
// cannot or must not write into the directory.
func (o *reportOptions) merge(log io.Writer, dir rundir.Dir, opened *source.Run, formats []export.RankFormat) (unmerged bool) {
	info, err := dir.ReadInfo()
	if err != nil {
		warn(log, fmt.Errorf("%w; continuing without it, and without merging", err))
	}
	warn(log, dir.UncollectedText()...)
	warnIncomplete(log, dir.LostText(info))
	if opened.ReadOnce() {
		suggestMerge(log, dir)
		if err := writeWhileRead(opened, formats); err != nil {
			warn(log, fmt.Errorf("the files of ranks are not written: %w", err))
		}
		return false
	}
	if err != nil {
		return false // merging would replace a run.json that the user may want to repair
	}
	err = elsewhere(mergeIfStale(dir, opened, formats), formats)
	if err != nil {
		warn(log, fmt.Errorf("not merged: %w", err))
	}
	warn(log, export.MergedText(dir, &opened.Traced)...)
	if o.full || o.json { // the short report names the commands
		suggestTraceCommands(log, dir, &opened.Traced)
	}
	return isReadOnly(err) && dir.Untraced()
}

// elsewhere adds to an error how to write files of ranks outside of a directory that cannot be
// written.
func elsewhere(err error, formats []export.RankFormat) error {
	if isReadOnly(err) && len(formats) > 0 {
		return fmt.Errorf("%w; mpitrace export -o writes files of ranks elsewhere", err)
	}
	return err
}

// writeWhileRead writes files of ranks of a run that is not kept in memory while its summary
// is made.
func writeWhileRead(opened *source.Run, formats []export.RankFormat) error {
	if len(formats) == 0 {
		return nil
	}
	if err := opened.Dir.Writable(); err != nil {
		return elsewhere(err, formats)
	}
	files, err := export.NewRankFiles(opened.Dir, formats)
	if err == nil {
		opened.Also = files.Write
	}
	return err
}

// suggestMerge names the command that writes the merged files of a large run.
func suggestMerge(log io.Writer, dir rundir.Dir) {
	if dir.Writable() == nil && dir.Stale() {
		warn(log, fmt.Sprintf("the merged files are not written: to write them: mpitrace merge %s", text.ShellQuote(string(dir))))
	}
}
