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
	"sync"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/run"
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

Recordings of running processes are copied and also stay where they are. The exit
status is 0 if nothing is left to collect.`,
		Example: `  mpitrace collect mpitrace-app-20260102-150405
  srun --ntasks-per-node=1 mpitrace collect --node mpitrace-app-4711`,
		Args: asUsage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), cmd.ErrOrStderr(), args[0])
		},
	}
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
		return usage(fmt.Errorf("%s is no run directory", path))
	}
	dir := run.Dir(abs)
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	n, err := dir.Collect(host)
	if n > 0 || o.node {
		fmt.Fprintf(log, "mpitrace: brought %s from %s\n", text.CountOf(n, "recording"), host)
	}
	if o.node {
		return err
	}
	errs := []error{err}
	for _, node := range run.Hosts(dir.Uncollected(), host) {
		errs = append(errs, o.collectOn(ctx, log, node, abs))
	}
	errs = append(errs, merge(log, dir))
	left := dir.Uncollected()
	sayLeft(log, dir, left)
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("not all of %s is home", path))
	}
	return errors.Join(errs...)
}

// collectOn runs `mpitrace collect --node` on another node.
func (o *collectOptions) collectOn(ctx context.Context, log io.Writer, node, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	there := shellQuote(self) + " collect --node " + shellQuote(dir)
	words := append(strings.Fields(o.ssh), node, there)
	if len(words) < 3 {
		return usage(errors.New("--ssh names no command"))
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("collect on %s: %w\nrun this command there: %s", node, err, there)
	}
	return nil
}

// shellQuote returns word quoted for a shell, if it needs quotes.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("/._-+,=@", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// merge merges a run again if there are recordings newer than the merged file.
func merge(log io.Writer, dir run.Dir) error {
	opened, err := openRun(log, dir)
	if err != nil {
		return err
	}
	err = mergeIfStale(dir, opened, nil)
	sayEvents(log, dir, &opened.Traced)
	if err != nil {
		return fmt.Errorf("not merged: %w", err)
	}
	return nil
}

// sayLeft lists the recordings that are not in the run directory yet, and
// prints the command that collects them.
func sayLeft(log io.Writer, dir run.Dir, left []run.Left) {
	const most = 10
	writers := sync.OnceValue(run.RecordingWriters)
	for i, l := range left {
		if i == most {
			fmt.Fprintf(log, "mpitrace: … and %d more, which run.json lists\n", len(left)-most)
			break
		}
		why := ""
		if _, is := writers()[filepath.Base(l.Path)]; is {
			why = ": its process still runs"
		}
		fmt.Fprintf(log, "mpitrace: not brought home: %s%s\n", text.Line(l.String()), why)
	}
	if len(left) > 0 {
		fmt.Fprintf(log, "mpitrace: to bring what is left: mpitrace collect %s\n", shellQuote(string(dir)))
	}
}

// sayLost reports recordings that were deleted before they were collected.
func sayLost(log io.Writer, dir run.Dir, info *run.Info) {
	if len(info.Lost) > 0 {
		fmt.Fprintf(log, "mpitrace: incomplete: %s\n", text.Line(lostText(dir, info)))
	}
}

func lostText(dir run.Dir, info *run.Info) string {
	n, place, hint := uint64(len(info.Lost)), dir.Recordings(), ""
	if info.Spool != "" {
		place, hint = info.Spool, " (with --spool run they are made in the run directory)"
	}
	return fmt.Sprintf("the recordings of %s are gone: they were deleted from %s before mpitrace brought them home%s",
		text.CountOf(n, "process"), place, hint)
}

// whereabouts explains where the recordings of a run are that has none in its
// directory. It returns "" if no process is known to have made one.
func whereabouts(dir run.Dir, info *run.Info) string {
	if len(info.Lost) > 0 {
		return lostText(dir, info)
	}
	host, _ := os.Hostname()
	for _, l := range dir.Uncollected() {
		here := l.Host == host
		if _, err := os.Lstat(l.Path); here && os.IsNotExist(err) {
			return fmt.Sprintf("its recordings were in %s, which is gone", l)
		}
		if !here || l.Path != info.Spool { // the spool of this node was already read
			return fmt.Sprintf("its recordings are still at %s; to bring them: mpitrace collect %s", l, shellQuote(string(dir)))
		}
	}
	recorded := 0
	for _, job := range info.Jobs {
		recorded += job.Recorded
	}
	if recorded > 0 {
		return fmt.Sprintf("run.json names %s, which somebody has deleted since", text.CountOf(recorded, "recording"))
	}
	return ""
}

// sayNotHome warns of recordings outside the run directory, which may be lost
// there. Those in the spool of this node are read where they are.
func sayNotHome(log io.Writer, dir run.Dir) {
	spool, n := dir.Spooled()
	left := dir.Uncollected()
	switch {
	case n > 0:
		fmt.Fprintf(log, "mpitrace: %s in %s only: the run goes on, or `mpitrace run` was killed; "+
			"then bring them home, since a reboot may delete them there: mpitrace collect %s\n", text.CountOf(n, "recording"), text.Line(spool), shellQuote(string(dir)))
	case len(left) > 0:
		sayLeft(log, dir, left)
	}
}
