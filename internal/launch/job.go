package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/scratch"
)

// Status is how a command ended.
type Status struct {
	Code   int            // exit status, 128+n for signal n
	Signal syscall.Signal // that killed it, 0 if none
	// Interrupted is when a signal came that was to end the job, zero if none
	// did: whoever sent it will not wait for long.
	Interrupted time.Time
}

func (s Status) String() string {
	if s.Signal != 0 {
		return fmt.Sprintf("killed by %v", s.Signal)
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// Streams are a command's standard files.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Grace is how long a job has to end after a signal before what there is of its
// record is brought home and shown: batch systems kill everything some seconds
// after their first signal.
const Grace = 3 * time.Second

// Run runs a command to its end. An error means that it could not be started.
//
// A signal is no reason to leave the job alone, which may take its time to end,
// as it would without us: Run goes on waiting. If the job has not ended Grace
// after the signal, late is called, once, beside the job; from then on another
// signal ends this process at once.
//
// What the terminal sends, it sends to the launcher as well, which is in the
// same process group: that is not sent again. What came to this process alone,
// from a batch system or a user, is passed on, and but once, as a launcher takes
// a second signal for impatience and leaves its ranks no time.
func Run(argv, env []string, s Streams, late func()) (Status, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	caught := catch(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		return Status{}, fmt.Errorf("start %s: %w", argv[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w := waiter{process: cmd.Process, late: late}
	st, err := status(cmd, w.wait(ended, caught))
	st.Interrupted = w.interrupted
	return st, err
}

// catch takes over signals, but those that this process was started to ignore
// (nohup, a shell's background): the command has to ignore them too. Catching
// leaves the command's own handling alone, ignoring would be inherited.
func catch(signals ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 8)
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

// OutlivePipe makes it an error to write to a terminal or a pipe that is gone,
// instead of the end of the program: the record is to come home all the same.
// Commands that are started do not inherit it.
func OutlivePipe() { catch(syscall.SIGPIPE) }

// waiter waits for a command and minds the signals that come meanwhile.
type waiter struct {
	process     *os.Process
	late        func()
	interrupted time.Time
	passed      bool // on, one to end the job
	isLate      bool
}

// wait returns what ended gives, after late if that was called.
func (w *waiter) wait(ended <-chan error, caught <-chan os.Signal) (result error) {
	var grace <-chan time.Time
	var told chan struct{} // closed when late has returned
	for over := false; !over || told != nil; {
		select {
		case result = <-ended:
			over, ended, grace = true, nil, nil
		case s := <-caught:
			if w.mind(s) && grace == nil && !over && !w.isLate {
				grace = time.After(Grace)
			}
		case <-grace:
			grace, w.isLate, told = nil, true, make(chan struct{})
			go func() {
				defer close(told)
				w.late()
			}()
		case <-told:
			told = nil
		}
	}
	return result
}

// mind does what a signal asks for, and tells whether it is one to end the job.
func (w *waiter) mind(s os.Signal) bool {
	if s == syscall.SIGUSR1 || s == syscall.SIGUSR2 {
		w.process.Signal(s)
		return false
	}
	if !sentToGroup(s) && (!w.passed || w.isLate) {
		w.passed = true
		w.process.Signal(s)
	}
	if w.isLate && s != syscall.SIGQUIT { // by which a Go program would end with its stacks
		scratch.End(s)
	}
	if w.interrupted.IsZero() {
		w.interrupted = time.Now()
	}
	return true
}

// sentToGroup tells whether a signal is one that came to the launcher, too: from
// the terminal, in whose foreground this process is; or, when a terminal is
// closed, from the shell, which is told of that and tells its jobs. Where there
// is no shell (ssh -t) only the process that leads the session is told.
func sentToGroup(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT:
		return inForeground()
	case syscall.SIGHUP:
		session, err := unix.Getsid(0)
		return err != nil || session != os.Getpid()
	}
	return false
}

// inForeground tells whether a terminal sends its signals to this process.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false // there is none
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func status(cmd *exec.Cmd, err error) (Status, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Status{}, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Status{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}, nil
	}
	return Status{Code: cmd.ProcessState.ExitCode()}, nil
}
