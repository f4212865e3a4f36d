package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
)

type statusOptions struct {
	node bool
	json bool
}

func newStatus() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status DIR | --node",
		Short: "Show the MPI call each rank of a running job is in",
		Long: `Show the MPI call that each rank of a running or hanging job is in: the peer, how
long the rank has been in the call, and the line of the source. Ranks that are in
the same call at the same place are shown together, the longest wait first. A
deadlock of blocking sends and receives is reported if it is certain.

DIR is the run directory, which mpitrace run printed. With --node, no directory is
needed: it shows all your processes on this node that are being recorded.

The processes are not disturbed: the command reads their recordings. It cannot
show whether processes on other nodes are still running. After the end of the
job, it shows how the job ended, as mpitrace report does.`,
		Example: `  mpitrace status mpitrace-app-20260102-150405
  mpitrace status --node
  mpitrace status --json mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.node == (len(args) == 1) {
				return usage(errors.New("give the directory of a run, or --node"))
			}
			now := time.Now()
			opened, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			return o.show(cmd, opened, now)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.node, "node", false, "show all your processes on this node that are being recorded")
	f.BoolVar(&o.json, "json", false, "print JSON instead of text")
	return cmd
}

func (o *statusOptions) open(cmd *cobra.Command, args []string) (*run.Run, error) {
	log := cmd.ErrOrStderr()
	if !o.node {
		return openRun(log, run.Dir(args[0]))
	}
	found, errs := run.NodeProfiles()
	warn(log, errs...)
	if len(found) == 0 {
		return nil, errors.New("none of your processes on this node is being recorded")
	}
	opened, err := run.OpenSource(found, log)
	if err != nil {
		return nil, err
	}
	warn(log, opened.Symbolize(nil)...)
	return opened, nil
}

func (o *statusOptions) show(cmd *cobra.Command, opened *run.Run, read time.Time) error {
	jobs := []*aggregate.JobStatus{}
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(run.LiveSource{Of: src, Read: read}, aggregate.Options{})
		if err != nil {
			return err
		}
		jobs = append(jobs, j.Status())
	}
	out := cmd.OutOrStdout()
	if o.json {
		return text.WriteJSON(out, struct {
			Jobs []*aggregate.JobStatus `json:"jobs"`
		}{jobs})
	}
	for i, s := range jobs {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := report.Status(out, s, textOptionsFor(out)); err != nil {
			return err
		}
	}
	return nil
}
