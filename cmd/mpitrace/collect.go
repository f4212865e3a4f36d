package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/collect"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
)

type collectOptions struct {
	node bool
	ssh  string
}

func newCollect() *cobra.Command {
	var o collectOptions
	cmd := &cobra.Command{
		Use:   "collect DIR",
		Short: "Collect recordings that a run left on its nodes, and merge them",
		Long: `Collect the recordings of the run in DIR that are not in it yet, and merge the run
again. Recordings are left on nodes if ` + "`mpitrace run`" + ` was killed, if processes
outlived their launcher, or if the file system was full. run.json lists them
("uncollected", as host:path), and ` + "`mpitrace report`" + ` shows them.

For recordings on other nodes, ssh starts ` + "`mpitrace collect --node DIR`" + ` there. If
ssh is not allowed or asks for a password, start that command on the nodes
yourself, for instance with srun.

Recordings of processes that have ended are packed: compressed into a container
(recordings/*.node), with the names of the call sites. Names are added to containers
that have none. Recordings of running processes are copied and also stay where they
are. The exit status is 0 if nothing is left to collect.`,
		Example: `  mpitrace collect mpitrace-app-20260102-150405
  srun --ntasks-per-node=1 mpitrace collect --node mpitrace-app-4711`,
		Args: asUsage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), cmd.ErrOrStderr(), args[0])
		},
	}
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.BoolVar(&o.node, "node", false, "collect only the recordings on this node, and do not merge")
	f.StringVar(&o.ssh, "ssh", "ssh -oBatchMode=yes -oConnectTimeout=10", "the `COMMAND` that runs a command on another node; its arguments are the node and the command")
	return cmd
}

func (o *collectOptions) run(ctx context.Context, log io.Writer, path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return usage(fmt.Errorf("%s is not a run directory", path))
	}
	dir := rundir.Dir(abs)
	// the owner of the run directory decides which files are moved and to which nodes ssh connects
	if err := dir.Foreign(); err != nil {
		return fmt.Errorf("%w: only its owner can collect", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	n, err := collect.Run(dir, host)
	if n > 0 || o.node {
		warn(log, fmt.Sprintf("collected %s of %s", text.CountOf(n, "recording"), host))
	}
	if o.node {
		return err
	}
	errs := []error{err}
	for _, node := range rundir.Hosts(dir.Uncollected(), host) {
		errs = append(errs, o.collectOn(ctx, log, node, abs))
	}
	errs = append(errs, merge(log, dir))
	left := dir.Uncollected()
	warn(log, dir.LeftText(left)...)
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("not all recordings of %s are collected", path))
	}
	return errors.Join(errs...)
}

// collectOn runs `mpitrace collect --node` on another node.
func (o *collectOptions) collectOn(ctx context.Context, log io.Writer, node, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	there := text.ShellQuote(self) + " collect --node " + text.ShellQuote(dir)
	words := append(strings.Fields(o.ssh), node, there)
	if len(words) < 3 {
		return usage(errors.New("--ssh names no command"))
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("collect on %s: %w\nrun this command there: %s\n(in a job of Slurm: srun --overlap -w %[1]s %[3]s)", node, err, there)
	}
	return nil
}

// merge merges a run again if there are recordings newer than the merged file.
func merge(log io.Writer, dir rundir.Dir) error {
	opened, err := openRun(log, string(dir), source.Options{Depth: source.Whole, RunOnly: true})
	if err != nil {
		return err
	}
	warn(log, opened.MissingText()...)
	err = mergeIfStale(dir, opened, nil)
	warn(log, export.MergedText(dir, &opened.Traced)...)
	if err != nil {
		return fmt.Errorf("not merged: %w", err)
	}
	return nil
}
