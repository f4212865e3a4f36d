package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
)

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the recorded runs in a directory",
		Long: `List the runs in DIR, or in the current directory, one line each, the latest
first: the run directory, the program, the ranks, the MPI, when the run
started, how long it took, how it ended, and the size of the directory. A run of
several jobs has the programs, ranks and MPIs of all of them.

How a run ended is the exit status of its command, or the signal that killed it.
If mpitrace run did not wait for the command, "finalized" means that all ranks
reached MPI_Finalize, and "unfinished" that some did not, or not yet.`,
		Example: `  mpitrace list
  mpitrace list --json runs`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return list(cmd, cmp.Or(strings.Join(args, ""), "."), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return cmd
}

func list(cmd *cobra.Command, dir string, asJSON bool) error {
	runs, errs := run.List(dir)
	if runs == nil {
		runs = []run.Entry{}
	}
	if err := errors.Join(errs...); err != nil && len(runs) == 0 {
		return usage(err)
	}
	for _, err := range errs {
		fmt.Fprintf(cmd.ErrOrStderr(), "mpitrace: left out: %s\n", text.Line(err.Error()))
	}
	if asJSON {
		return text.WriteJSON(cmd.OutOrStdout(), runs)
	}
	return runsText(cmd.OutOrStdout(), runs)
}

func runsText(w io.Writer, runs []run.Entry) error {
	if len(runs) == 0 {
		return nil
	}
	t := text.NewTextTable("run", "program", "ranks", "MPI", "started", "time", "ended", "size")
	for _, r := range runs {
		started, took := "?", "?"
		if r.StartNs != 0 {
			started = time.Unix(0, r.StartNs).Format(time.DateTime)
		}
		if r.WallNs > 0 {
			took = text.Duration(float64(r.WallNs), textOptions().ASCII)
		}
		t.Add(text.Line(filepath.Clean(r.Dir)),
			ofJobs(r.Jobs, func(j run.JobInfo) string { return jobNumber.ReplaceAllString(j.Program, "") }),
			ranksOfJobs(r.Jobs), ofJobs(r.Jobs, func(j run.JobInfo) string { return report.LibraryName(j.Library) }),
			started, took, howEnded(&r), text.Bytes(uint64(r.Bytes)))
	}
	t.Write(w)
	return nil
}

// jobNumber matches the number of the job in the name of a program, if the run
// had several jobs.
var jobNumber = regexp.MustCompile(`-job[0-9]+$`)

// ofJobs returns the distinct values of a property of the jobs, separated by
// commas.
func ofJobs(jobs []run.JobInfo, of func(run.JobInfo) string) string {
	var all []string
	for _, j := range jobs {
		if words := cmp.Or(text.Line(of(j)), "?"); !slices.Contains(all, words) {
			all = append(all, words)
		}
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// ranksOfJobs returns the number of ranks: "64", or "2+4" for jobs of 2 and 4
// ranks, or "5 jobs" for more than 3 jobs.
func ranksOfJobs(jobs []run.JobInfo) string {
	if len(jobs) > 3 {
		return fmt.Sprintf("%d jobs", len(jobs))
	}
	var sizes []string
	for _, j := range jobs {
		sizes = append(sizes, strconv.Itoa(j.Size))
	}
	return cmp.Or(strings.Join(sizes, "+"), "-")
}

func howEnded(r *run.Entry) string {
	switch {
	case r.ExitStatus == nil && r.Finalized:
		return "finalized"
	case r.ExitStatus == nil:
		return "unfinished"
	case *r.ExitStatus == 0:
		return "ok"
	case *r.ExitStatus > 128 && unix.SignalName(unix.Signal(*r.ExitStatus-128)) != "":
		return fmt.Sprintf("%d (%s)", *r.ExitStatus, unix.SignalName(unix.Signal(*r.ExitStatus-128)))
	}
	return fmt.Sprintf("exit %d", *r.ExitStatus)
}
