package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/live"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

type statusOptions struct {
	node  bool
	json  bool
	watch bool
}

func newStatus() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [DIR] [--watch] | --node",
		Short: "Show the MPI call each rank of a running job is in",
		Long: `Show the MPI call that each rank of a running or hanging job is in: the peer, how
long the rank has been in the call, and the line of the source. Ranks that are in
the same call at the same place are shown together, the longest wait first. A
deadlock of blocking sends and receives is reported if it is certain.

DIR is the run directory, which mpitrace run printed; recordings and Arrow files show how
their processes ended. With --node, no directory is
needed: it shows all your processes on this node that are being recorded.
` + fmt.Sprintf(newestHelp, "DIR") + `

With --watch, it is shown again each second until the job ends, with the calls,
messages and bytes per second, ranks that have been in one call for more than 5 s,
and the matrix so far. With --json, each line is an object.

The processes are not disturbed: the command reads their recordings. It cannot
show whether processes on other nodes are still running. After the end of the
job, it shows how the job ended, as mpitrace report does.`,
		Example: `  mpitrace status mpitrace-app-20260102-150405
  mpitrace status --watch mpitrace-app-20260102-150405
  mpitrace status --node
  mpitrace status --json mpitrace-app-20260102-150405`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.node && len(args) > 0 {
				return usage(errors.New("give the directory of a run, or --node"))
			}
			if o.node && o.watch {
				return usage(errors.New("--watch needs the directory of a run: it cannot be combined with --node"))
			}
			if !o.node {
				dir, err := namedRun(cmd, args)
				if err != nil {
					return err
				}
				args = []string{dir}
			}
			if o.watch {
				return o.watchRun(cmd, args)
			}
			now := time.Now()
			opened, err := o.open(cmd, args)
			if err != nil {
				return err
			}
			if err := o.show(cmd, opened, now); err != nil || o.json || opened.Ended() {
				return err
			}
			for _, there := range elsewhereCommands(opened.Dir, "status") {
				fmt.Fprintln(cmd.OutOrStdout(), "what is not seen from here:", there)
			}
			return nil
		},
	}
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.BoolVar(&o.node, "node", false, "show all your processes on this node that are being recorded")
	f.BoolVar(&o.json, "json", false, "print JSON instead of text")
	f.BoolVarP(&o.watch, "watch", "w", false, "show it again each second until the job ends")
	return cmd
}

func (o *statusOptions) open(cmd *cobra.Command, args []string) (*source.Run, error) {
	log := cmd.ErrOrStderr()
	if !o.node {
		return openRun(log, args[0], source.Options{Depth: source.Whole})
	}
	found, errs := source.NodeProfiles()
	warn(log, errs...)
	if len(found) == 0 {
		return nil, errors.New("none of your processes on this node is being recorded")
	}
	opened, err := source.Split(found, source.Options{Depth: source.Whole, Log: log})
	if err == nil {
		warn(log, opened.Unnamed()...)
	}
	return opened, err
}

func (o *statusOptions) show(cmd *cobra.Command, opened *source.Run, read time.Time) error {
	jobs := []*aggregate.JobStatus{}
	for _, src := range opened.Jobs {
		j, err := aggregate.Of(source.LiveSource{Of: src, Read: read, Ended: opened.Ended()}, aggregate.Options{})
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
		if err := terminal.Write(out, views.Status(s), terminal.Options{ASCII: asciiOnly()}); err != nil {
			return err
		}
	}
	return nil
}

// elsewhereCommands returns, for each other node that has recordings of a run, the command that runs
// mpitrace there with a verb and the directory. While a job of Slurm runs, srun starts it beside the
// job.
func elsewhereCommands(dir rundir.Dir, verb string) (commands []string) {
	info, _ := dir.ReadInfo() // without it, ssh is used
	here, _ := os.Hostname()
	for _, node := range rundir.Hosts(dir.Uncollected(), here) {
		start := "ssh " + node
		if b := info.Batch; b != nil && b.System == "Slurm" {
			start = fmt.Sprintf("srun --jobid=%s --overlap -w %s", text.ShellQuote(b.ID), node)
		}
		commands = append(commands, fmt.Sprintf("%s mpitrace %s %s", start, verb, text.ShellQuote(string(dir))))
	}
	return commands
}

// watchRun shows what a run is doing, each second until it ends.
func (o *statusOptions) watchRun(cmd *cobra.Command, args []string) error {
	dir := rundir.Dir(args[0])
	if !dir.Used() { // it may not have begun yet
		if _, err := openRun(io.Discard, string(dir), source.Options{RunOnly: true}); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w := statusPrinter{out: cmd.OutOrStdout(), json: o.json}
	reader := live.NewReader(dir, w.keepHeatmap)
	go reader.Run(ctx)
	for number := uint64(0); ; {
		reading, err := reader.After(ctx, number)
		if err != nil { // Ctrl-C
			return nil
		}
		if o.json || !reading.Finished {
			if err := w.show(reading); err != nil {
				return err
			}
		}
		if reading.Finished {
			break
		}
		number = reading.Number
	}
	return o.last(cmd, args)
}

// last shows how the job ended.
func (o *statusOptions) last(cmd *cobra.Command, args []string) error {
	if o.json {
		return nil
	}
	now := time.Now()
	opened, err := o.open(cmd, args)
	if err != nil {
		return err
	}
	return o.show(cmd, opened, now)
}

// statusPrinter prints readings of a run.
type statusPrinter struct {
	out      io.Writer
	json     bool
	heatmaps sync.Map // *aggregate.Heatmap by run; the reader stores them
}

// keepHeatmap is called by the reader for each job.
func (w *statusPrinter) keepHeatmap(j *aggregate.Job) any {
	w.heatmaps.Store(j.Run, j.Heatmap())
	return nil
}

// show prints a reading. On a terminal, it replaces the previous reading.
func (w *statusPrinter) show(reading *live.Snapshot) error {
	if w.json {
		return json.NewEncoder(w.out).Encode(reading)
	}
	var page bytes.Buffer
	if reading.Notice != "" {
		page.WriteString(reading.Notice + "\n")
	}
	for i := range reading.Jobs {
		if i > 0 {
			page.WriteString("\n")
		}
		if err := terminal.Write(&page, views.Watch(w.watched(&reading.Jobs[i])), terminal.Options{ASCII: asciiOnly()}); err != nil {
			return err
		}
	}
	if reading.Problem != "" {
		page.WriteString(text.Line(reading.Problem) + "\n")
	}
	height := text.TerminalHeight(w.out)
	if height == 0 {
		page.WriteString("\n")
		_, err := w.out.Write(page.Bytes())
		return err
	}
	_, err := io.WriteString(w.out, text.Screen(page.String(), height))
	return err
}

// watched returns a job of a reading with its heatmap.
func (w *statusPrinter) watched(job *live.LiveJob) *views.Watched {
	out := job.Watched
	if h, known := w.heatmaps.Load(job.Status.Run); known {
		out.Heatmap = h.(*aggregate.BinnedMatrix)
	}
	return &out
}
