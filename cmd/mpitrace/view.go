package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/live"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/page"
	"github.com/mpitrace/mpitrace/profile"
)

// viewOptions say where a page is served.
type viewOptions struct {
	port    int
	address string
	ended   <-chan struct{} // see live.Reader
}

func newView() *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use:   "view [DIR]",
		Short: "Serve the page of a run to a browser, live while the run goes on",
		Long: `Serve the page of ` + "`report --html`" + ` to browsers on this machine, and print its address.
While the job runs, the page shows once a second what each rank is doing and since
when, whom it waits for, the rates of all ranks, and the matrix as it fills. Ranks
that are in one call for more than 5 s are marked as hanging. When the job ends,
the page becomes the report. What the page of a large job leaves out is read when
you ask for it: a click on a cell of the matrix shows the sizes, calls, call sites
and phases of its messages, and a traced run shows the calls of any window.

The ranks do nothing for it: the command reads their recordings, and /proc/PID/maps
of ranks on this node, only while somebody looks. Of ranks on other nodes it shows
what is visible from here, and how old that is.

The address holds a token: whoever has it can see the run, and nobody else can.
In a batch job whose output goes to a file, the address is in that file, and whoever
can read the file can see the run. Nothing can be changed through the address. Over
ssh, the command also prints the command that makes the address work on your own
machine. --listen lets other machines connect; the connection is not encrypted.

The command ends with Ctrl-C, or when nobody has looked for an hour.

` + fmt.Sprintf(newestHelp, "DIR"),
		Example: `  mpitrace view mpitrace-app-20260102-150405
  mpitrace view --port 8080 mpitrace-app-20260102-150405
  mpitrace run --view -- mpirun -n 4 ./app`,
		Args: asUsage(cobra.MaximumNArgs(1)),
		RunE: onRun(o.run),
	}
	registerSettings(cmd, debugDir)
	f := cmd.Flags()
	f.IntVar(&o.port, "port", 0, "listen on this `PORT` (default: the system chooses one)")
	f.StringVar(&o.address, "listen", "127.0.0.1", "listen on this `ADDRESS`; any but 127.0.0.1 and ::1 lets other machines connect")
	return cmd
}

func (o *viewOptions) run(cmd *cobra.Command, dir rundir.Dir) error {
	if !dir.Used() {
		if _, err := openRun(io.Discard, string(dir), source.Options{RunOnly: true}); err != nil {
			return err
		}
	}
	server, err := o.serve(dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), server.URL())
	warn(cmd.ErrOrStderr(), forwarding(server)...)
	for _, there := range elsewhereCommands(dir, "view") {
		warn(cmd.ErrOrStderr(), "while the job runs, ranks of that node are seen by: "+there)
	}
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	return server.Serve(ctx, live.IdleLimit)
}

// untilInterrupted returns a context that ends with Ctrl-C or SIGTERM. A signal that was ignored
// when mpitrace started stays ignored: a shell script ignores Ctrl-C for jobs started with `&`.
func untilInterrupted(parent context.Context) (context.Context, context.CancelFunc) {
	signals := slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM}, atomicfile.IgnoredAtStart)
	if len(signals) == 0 {
		return context.WithCancel(parent) // NotifyContext would catch all signals
	}
	return signal.NotifyContext(parent, signals...)
}

// serve returns a server of a run, which listens already.
func (o *viewOptions) serve(dir rundir.Dir, log io.Writer) (*live.Server, error) {
	if o.port < 0 || o.port > 65535 {
		return nil, usage(fmt.Errorf("--port %d: ports are from 1 to 65535; 0 lets the system choose", o.port))
	}
	debug.SetGCPercent(40) // as in summarize: less memory for jobs of many ranks
	var html bytes.Buffer
	if err := page.WriteServed(&html); err != nil {
		return nil, err
	}
	v := &viewedRun{dir: dir, log: log}
	reader := live.NewReader(dir, func(j *aggregate.Job) any { return page.MatricesOf(j) })
	reader.Ended = o.ended
	server, err := live.Listen(live.Served{Page: html.Bytes(), Policy: page.ServedPolicy(), Report: v.report, Pairs: v.pairs, Events: v.events,
		Reader: reader}, o.address, o.port)
	if err != nil {
		return nil, usage(err)
	}
	if !server.Loopback() {
		address := o.address
		if address == "" {
			address = "all addresses of this machine"
		}
		warn(log, fmt.Sprintf("warning: other machines can connect to %s, and the connection is not encrypted: whoever sees the token can see the run. ssh -L is safer", address))
	}
	return server, nil
}

// forwarding returns what to do on the user's own machine if this one is reached over ssh.
func forwarding(s *live.Server) []string {
	if os.Getenv("SSH_CONNECTION") == "" || !s.Loopback() {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "HOST"
	}
	return []string{fmt.Sprintf("first, on your own machine: ssh -L %d:%s %s", s.Port(), s.Host(), host)}
}

// viewedRun answers what a page asks about a run. It writes nothing into the run directory.
// Its methods are called one at a time.
type viewedRun struct {
	dir   rundir.Dir
	log   io.Writer
	lines []*page.TimelineData // of the jobs, after the report was made
	found summaries
}

// report returns the page of the run, which has ended.
func (v *viewedRun) report() (any, error) {
	opened, err := openRun(v.log, string(v.dir), source.Options{Depth: source.Whole, RunOnly: true})
	if err != nil {
		return nil, err
	}
	if v.found, err = summarize(opened, scratchFor(opened), time.Now(), true); err != nil {
		return nil, err
	}
	missing := missingText(v.dir.WrongMPI(), "")
	unmerged := v.dir.Untraced()
	if unmerged && v.dir.Writable() == nil { // the traces of some ranks may be missing, or being written
		missing = append(missing, "the traces are not analysed: some events are not merged yet, mpitrace report merges them")
	} else if traced, err := v.analysis(opened, unmerged); err != nil {
		missing = append(missing, fmt.Sprintf("the traces are not analysed: %v", err))
	} else {
		v.found.useTraced(traced)
	}
	info, _ := v.dir.ReadInfo() // the page shows what is known without it
	missing = append(missing, v.found.lacks(v.dir, info.Command)...)
	p, err := v.found.page(views.Options{Missing: missing, Info: info}, false)
	if err != nil {
		return nil, err
	}
	v.lines = nil
	for i := range p.Jobs {
		v.lines = append(v.lines, p.Jobs[i].Timeline)
	}
	v.found.whole = nil // the page has what is needed of it
	return p, nil
}

// analysis analyses the traces that were merged. With unmerged, it also reads events from
// the recordings, because this user cannot merge them.
func (v *viewedRun) analysis(opened *source.Run, unmerged bool) (analyses, error) {
	var traces []profile.EventSource
	var err error
	switch {
	case unmerged:
		traces, err = readTraces(io.Discard, v.dir, opened)
	case len(v.dir.TraceFiles()) == 0:
		return analyses{}, nil
	default:
		traces, err = export.Traces(v.dir)
	}
	if err != nil {
		return analyses{}, err
	}
	found, _, err := analyzeTraces(io.Discard, traces)
	return found, err
}

// pairs returns what ranks of a job sent to others. It reads only the recordings of these
// ranks: one of the two recorded each message.
func (v *viewedRun) pairs(job int, from, to profile.RankSet) (any, error) {
	opened, err := source.Open([]string{string(v.dir)}, source.Options{Depth: source.Once, RunOnly: true})
	if err != nil {
		return nil, err
	}
	if job >= len(opened.Jobs) {
		return nil, fmt.Errorf("the run has no job %d", job+1)
	}
	only := opened.Jobs[job].Only(func(rank int) bool { return from.Contains(rank) || to.Contains(rank) })
	j, err := aggregate.Of(only, aggregate.Options{PairDetails: page.MostPairs,
		DetailOf: func(p matrix.Pair) bool { return from.Contains(p.From) && to.Contains(p.To) }})
	if err != nil {
		return nil, err
	}
	details := j.PairDetails()
	if details == nil {
		return nil, fmt.Errorf("the cell has more than %d pairs: zoom in", page.MostPairs)
	}
	return page.PairsOf(details), nil
}

// events returns the calls of a window of a traced job.
func (v *viewedRun) events(job int, from, to int64) (any, error) {
	if job >= len(v.lines) || v.lines[job] == nil {
		return nil, errors.New("the run was not traced, or has not ended")
	}
	return v.lines[job].Window(v.found.traced.events[v.found.jobs[job].Run], from, to)
}

// viewing is the server of `run --view`, which runs in the process that runs the job.
type viewing struct {
	server *live.Server
	stop   context.CancelFunc
	merged chan struct{} // closed when the job has ended and its files are merged
	ended  chan error    // the server's error
}

// startView serves the page of a job that is about to start. It leaves signals to the job.
func startView(dir rundir.Dir, log io.Writer) (*viewing, error) {
	v := &viewing{merged: make(chan struct{}), ended: make(chan error, 1)}
	o := viewOptions{address: "127.0.0.1", ended: v.merged}
	var err error
	if v.server, err = o.serve(dir, log); err != nil {
		return nil, err
	}
	warn(log, append([]string{"watch the run at " + v.server.URL()}, forwarding(v.server)...)...)
	var ctx context.Context
	ctx, v.stop = context.WithCancel(context.Background())
	go func() { v.ended <- v.server.Serve(ctx, 365*24*time.Hour) }()
	return v, nil
}

// finish ends the server after the job, which returned an error or nil. If somebody has looked
// and the job was merged without an interruption, it first serves the report, until Ctrl-C or
// until nobody has looked for an hour. It returns the error, but prints its text before it waits.
func (v *viewing) finish(j *job, err error) error {
	close(v.merged)
	if j.merged && v.server.Asked() {
		if err != nil {
			err = &exit{code: printError(j.Log, err)}
		}
		v.wait(j.Log)
	}
	v.stop()
	if problem := <-v.ended; problem != nil {
		warn(j.Log, fmt.Errorf("serve the page: %w", problem))
	}
	return err
}

// wait waits for Ctrl-C, for the end of the server, or until nobody has looked for an hour.
func (v *viewing) wait(log io.Writer) {
	warn(log, "the page is served until Ctrl-C, or until nobody has looked for an hour")
	ctx, stop := untilInterrupted(context.Background())
	defer stop()
	for v.server.Idle() < live.IdleLimit {
		select {
		case <-ctx.Done():
			return
		case problem := <-v.ended:
			v.ended <- problem
			return
		case <-time.After(time.Second):
		}
	}
}
