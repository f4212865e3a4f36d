package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
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
		return "killed by " + unix.SignalName(s.Signal)
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
// A signal does not end this process: the job may take its time to end, as it
// would without us, so Run waits until the command has ended. If it has not ended
// Grace after the signal, late is called, once, beside the job.
//
// A signal from the terminal reaches the launcher directly, which is in the same
// process group: it is not sent again. A signal that came to this process alone,
// from a batch system or a user, is passed on.
func Run(argv, env []string, s Streams, late func()) (Status, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	defer atomicfile.LeaveSignals()()
	caught, ignored := catch(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		return Status{}, fmt.Errorf("start %s: %w", argv[0], err)
	}
	if len(ignored) > 0 { // the command was started to ignore them too, but may have changed its mind
		signal.Notify(caught, ignored...)
		defer signal.Ignore(ignored...)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w := waiter{process: cmd.Process, ignored: ignored, late: late}
	st, err := status(cmd, w.wait(ended, caught))
	st.Interrupted = w.interrupted
	return st, err
}

// catch catches signals, except those that this process was started to ignore
// (nohup, `&` in a script): a command inherits that a signal is ignored, but not
// that it is caught.
func catch(signals ...os.Signal) (c chan os.Signal, ignored []os.Signal) {
	c = make(chan os.Signal, 8)
	for _, s := range signals {
		if atomicfile.IgnoredAtStart(s) {
			ignored = append(ignored, s)
		} else {
			signal.Notify(c, s)
		}
	}
	return c, ignored
}

// OutlivePipe makes it an error to write to a terminal or a pipe that is gone,
// instead of the end of the program: the record is to come home all the same.
// Commands that are started do not inherit it.
func OutlivePipe() { catch(syscall.SIGPIPE) }

const (
	// sameSignal is the time within which a second signal is taken for the first
	// one, sent to this process and to its group, as timeout(1) does. Launchers
	// take a second signal for impatience and leave their ranks no time.
	sameSignal = 500 * time.Millisecond
	// doubtful is how long a launcher has to end by a SIGINT that may have
	// reached it directly, before the signal is passed on.
	doubtful = 2 * time.Second
)

// waiter waits for a command and handles the signals that come meanwhile.
type waiter struct {
	process     *os.Process
	ignored     []os.Signal // when this process was started
	late        func()
	interrupted time.Time
	passed      struct { // the last signal to end the job that was passed on
		signal os.Signal
		at     time.Time
	}
	isLate bool

	retry  <-chan time.Time // when to pass on `unsure`
	unsure os.Signal
}

// wait returns what ended gives, after late if that was called.
func (w *waiter) wait(ended <-chan error, caught <-chan os.Signal) (result error) {
	var grace <-chan time.Time
	var told chan struct{} // closed when late has returned
	for over := false; !over || told != nil; {
		select {
		case result = <-ended:
			over, ended, grace, w.retry = true, nil, nil, nil
		case s := <-caught:
			if !over && w.mind(s) && grace == nil && !w.isLate {
				grace = time.After(Grace)
			}
		case <-w.retry:
			w.retry = nil
			w.pass(w.unsure)
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

// mind does what a signal asks for, and reports whether it is one to end the job.
func (w *waiter) mind(s os.Signal) bool {
	if s == syscall.SIGUSR1 || s == syscall.SIGUSR2 {
		w.process.Signal(s)
		return false
	}
	ignored := slices.Contains(w.ignored, s)
	if ignored && ignores(w.process.Pid, s) {
		return false // so does the command
	}
	switch group := sentToGroup(s); {
	case group && ignored && s == syscall.SIGINT && w.retry == nil:
		// A job that a script started with `&` is in the foreground of the
		// terminal too: this may be Ctrl-C, or `kill -INT` in the script.
		w.unsure, w.retry = s, time.After(doubtful)
	case !group:
		w.pass(s)
	}
	if w.interrupted.IsZero() {
		w.interrupted = time.Now()
	}
	return true
}

// pass sends a signal to the command.
func (w *waiter) pass(s os.Signal) {
	if s == w.passed.signal && time.Since(w.passed.at) < sameSignal {
		return
	}
	w.passed.signal, w.passed.at = s, time.Now()
	w.process.Signal(s)
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, s os.Signal) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nSigIgn:\t")
	hex, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(hex, 16, 64)
	number, ok := s.(syscall.Signal)
	return err == nil && ok && mask&(1<<(number-1)) != 0
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
