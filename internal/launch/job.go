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

// Status describes how a command ended.
type Status struct {
	Code   int            // exit status, 128+n for signal n
	Signal syscall.Signal // signal that killed the command, 0 if none
	// Interrupted is the time of the first signal that asked the job to end,
	// zero if there was none. Its sender may soon kill what is left.
	Interrupted time.Time
}

func (s Status) String() string {
	if s.Signal != 0 {
		return "killed by " + unix.SignalName(s.Signal)
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// Streams holds a command's standard input, output and error.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Grace is the time that a job has to end after a signal. After it, the part of
// the recording that exists is collected and reported, because batch systems
// kill all processes some seconds after their first signal.
const Grace = 3 * time.Second

// Run runs a command and waits until it has ended. It returns an error if the
// command cannot be started.
//
// A signal does not end this process: the job may need time to end, as it would
// without mpitrace. If the job has not ended Grace after the signal, Run calls
// late once, while the job continues.
//
// A signal from the terminal also reaches the launcher, which is in the same
// process group, so Run does not send it again. Run passes on a signal that was
// sent to this process alone, by a batch system or a user.
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
	if len(ignored) > 0 { // the command inherited that they are ignored, but may have changed that since
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

// catch catches signals, except those that were ignored when this process
// started (nohup, or `&` in a script). The exception is needed because a child
// inherits that a signal is ignored, but not that it is caught.
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

// OutlivePipe makes a write to a closed terminal or pipe return an error
// instead of killing this process, so that the recording is still collected.
// Child processes do not inherit this.
func OutlivePipe() { catch(syscall.SIGPIPE) }

const (
	// sameSignal is the time within which a second signal counts as the same
	// one. timeout(1) sends each signal both to this process and to its group.
	// Launchers react to a second signal by killing their ranks at once.
	sameSignal = 500 * time.Millisecond
	// passAfter is the time to wait for the launcher to end after a SIGINT that
	// may have reached it directly. After it, the signal is passed on.
	passAfter = 2 * time.Second
)

// waiter waits for a command and handles the signals that arrive meanwhile.
type waiter struct {
	process     *os.Process
	ignored     []os.Signal // signals that were ignored when this process started
	late        func()
	interrupted time.Time
	passed      struct { // the last signal that was passed on to end the job
		signal os.Signal
		at     time.Time
	}
	isLate bool

	retry  <-chan time.Time // when to pass on the signal `unsure`
	unsure os.Signal
}

// wait waits until the command has ended and returns the value from ended. It
// also waits for late, if that was called.
func (w *waiter) wait(ended <-chan error, caught <-chan os.Signal) (result error) {
	var grace <-chan time.Time
	var lateDone chan struct{} // closed when late has returned
	for over := false; !over || lateDone != nil; {
		select {
		case result = <-ended:
			over, ended, grace, w.retry = true, nil, nil, nil
		case s := <-caught:
			if !over && w.handle(s) && grace == nil && !w.isLate {
				grace = time.After(Grace)
			}
		case <-w.retry:
			w.retry = nil
			w.pass(w.unsure)
		case <-grace:
			grace, w.isLate, lateDone = nil, true, make(chan struct{})
			go func() {
				defer close(lateDone)
				w.late()
			}()
		case <-lateDone:
			lateDone = nil
		}
	}
	return result
}

// handle handles a signal and reports whether the signal asks the job to end.
func (w *waiter) handle(s os.Signal) bool {
	if s == syscall.SIGUSR1 || s == syscall.SIGUSR2 {
		w.process.Signal(s)
		return false
	}
	ignored := slices.Contains(w.ignored, s)
	if ignored && ignores(w.process.Pid, s) {
		return false // the command ignores it too
	}
	switch group := sentToGroup(s); {
	case group && ignored && s == syscall.SIGINT && w.retry == nil:
		// A job that a script started with `&` is in the terminal's foreground
		// group too. This may be Ctrl-C, which reached the launcher, or `kill
		// -INT` in the script, which did not.
		w.unsure, w.retry = s, time.After(passAfter)
	case !group:
		w.pass(s)
	}
	if w.interrupted.IsZero() {
		w.interrupted = time.Now()
	}
	return true
}

// pass sends a signal to the command, unless it has just sent the same one.
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

// sentToGroup reports whether a signal has also reached the launcher. The
// terminal sends SIGINT and SIGQUIT to its whole foreground process group. When
// a terminal is closed, the shell receives SIGHUP and passes it to its jobs.
// Without a shell (ssh -t), only the leader of the session receives it.
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

// inForeground reports whether this process is in the terminal's foreground
// group, which receives the terminal's signals.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false // no terminal
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

// addressSpace is the address space that mpitrace needs, in bytes: Go's runtime
// reserves almost 1 GiB when it starts. mpitrace also starts on each rank
// before the program does. If it failed there, the other ranks would wait for
// that rank.
const addressSpace = 2 << 30

// CheckAddressSpace returns an error if this process may map less memory than
// mpitrace needs.
func CheckAddressSpace() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= addressSpace {
		return nil
	}
	return fmt.Errorf("the address space is limited to %d MiB (ulimit -v), and mpitrace needs %d: raise it, "+
		"or preload the library by hand (LD_PRELOAD and MPITRACE_DIR; `mpitrace build` shows its path)", limit.Cur>>20, addressSpace>>20)
}
