package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
)

func newMerge() *cobra.Command {
	var part string
	cmd := &cobra.Command{
		Use:   "merge DIR",
		Short: "Write the merged files of a recorded run, with several processes if it is large",
		Long: `Merge the recordings of the run in DIR into profile.arrow, comms.arrow and
ranks.arrow, and events into trace.*.arrow. The tables of more than 10,000
processes are in parts, as profile/part-00.arrow and so on. ` + "`mpitrace run`" + `, report and collect do
this, too, on one node; report does not for more than 10,000 processes.

If a launcher starts several mpitrace merge, on any nodes that see DIR, they share
the work, and each returns when the files are complete. The files do not depend on
the number of processes. Processes may start late, fail or be killed: the others do
their part. If all are killed, run the command again: it continues. Intermediate
files are in DIR/merge.*.part, which is removed at the end.

Each process begins with its own part of the work. The part is taken from the
launcher's environment variables. --part sets it for launchers that are not known.`,
		Example: `  mpitrace merge mpitrace-app-20260102-150405
  srun -N 16 mpitrace merge mpitrace-app-4711
  mpirun -n 4 mpitrace merge mpitrace-app-20260102-150405
  mpitrace merge --part 0/2 mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			share, err := shareOf(part)
			if err != nil {
				return usage(err)
			}
			return mergeShare(cmd.ErrOrStderr(), rundir.Dir(args[0]), share)
		},
	}
	registerSettings(cmd, debugDir)
	cmd.Flags().StringVar(&part, "part", "", "begin with part I of K equal parts, from 0, as `I/K`")
	return cmd
}

// shareOf parses the value of --part. If it is empty, it returns the share that
// the launcher's environment variables give.
func shareOf(part string) (tasks.Share, error) {
	if part == "" {
		rank, size := launch.Numbered()
		return tasks.Share{Part: rank, Of: size}, nil
	}
	first, last, _ := strings.Cut(part, "/")
	i, err := strconv.Atoi(first)
	k, err2 := strconv.Atoi(last)
	switch {
	case err != nil || err2 != nil:
		return tasks.Share{}, fmt.Errorf("--part %s: it has the form I/K, such as 0/4", part)
	case k < 1 || i < 0 || i >= k:
		return tasks.Share{}, fmt.Errorf("--part %s: parts count from 0: I is less than K", part)
	}
	return tasks.Share{Part: i, Of: k}, nil
}

// mergeShare does a share of the merge of a run. If several processes merge the run, only the
// process that ends the merge reports it.
func mergeShare(log io.Writer, dir rundir.Dir, share tasks.Share) error {
	if err := dir.Foreign(); err != nil {
		return fmt.Errorf("%w; mpitrace report shows the run without merging it", err)
	}
	info := func() (*rundir.Info, error) {
		info, err := dir.ReadInfo()
		info.Version = versionString()
		return info, err
	}
	merged, err := export.MergeShare(dir, share, log, info, trace.EstimateClocks)
	if merged != nil {
		warn(log, merged.Problems...)
		warn(log, merged.Traced.Text()...)
		warn(log, merged.Text(dir))
		suggestTraceCommands(log, dir, &merged.Traced)
	} else if err == nil && share.Of == 1 {
		warn(log, dir.MergedDamage()...)
		warn(log, fmt.Sprintf("the merged files of %s are up to date", text.Line(string(dir))))
	}
	return err
}

// profileInputs says what commands that read profiles take.
const profileInputs = "a run directory, recordings (.rec, .node), Arrow files, or a directory of these"

// openRun opens a run, or files, with a job in it. It warns about damage, and about files whose
// call sites have no names. If these are known only after the jobs were read, warnOnce warns about
// them.
func openRun(log io.Writer, path string, o source.Options) (*source.Run, error) {
	o.Log = log
	opened, err := source.Open([]string{path}, o)
	if err != nil {
		return nil, err
	}
	if lacks := opened.Lacks(); lacks != "" {
		warn(log, lacks)
	}
	if err = opened.NoJob(); err != nil || o.Depth == source.Whole && !opened.ReadOnce() {
		warnRead(log, opened)
	}
	return opened, err
}

// warnOnce warns about what openRun did not know yet.
func warnOnce(log io.Writer, opened *source.Run) {
	if opened.ReadOnce() {
		warnRead(log, opened)
	}
}

func warnRead(log io.Writer, opened *source.Run) {
	warn(log, opened.Unnamed()...)
	warn(log, opened.Damage()...)
}

// mergeIfStale merges a run again if there are recordings newer than the merged
// files, or if files in other formats are to be written. If this user cannot or
// must not write into the directory, it leaves it unchanged and returns an error
// for which isReadOnly is true.
func mergeIfStale(dir rundir.Dir, opened *source.Run, formats []export.RankFormat) error {
	if !dir.Stale() && len(formats) == 0 {
		return nil
	}
	if err := dir.Writable(); err != nil {
		return err
	}
	info, err := dir.ReadInfo()
	if err != nil {
		return err
	}
	info.Version = versionString()
	return export.Merge(dir, opened, formats, info, trace.EstimateClocks)
}

// isReadOnly reports whether a file was not written because this user may not.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
