package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// Status is how a command ended.
type Status struct {
	Code   int            // exit status, 128+n for signal n
	Signal syscall.Signal // that killed it, 0 if none
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

// Run runs a command to its end. An error means that it could not be started.
//
// The terminal sends SIGINT, SIGQUIT and SIGHUP to the launcher as well, which
// is in the same process group: they are not sent again, and this process
// stays to collect. What is sent to this process alone, by a batch system or
// a user, is passed on; SIGTERM once, as a launcher takes a second one for
// impatience and leaves without cleaning up.
func Run(argv, env []string, s Streams) (Status, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	caught := catch(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		return Status{}, fmt.Errorf("start %s: %w", argv[0], err)
	}
	done := make(chan struct{})
	go forward(caught, done, cmd.Process)
	err := cmd.Wait()
	close(done)
	return status(cmd, err)
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

func forward(caught <-chan os.Signal, done <-chan struct{}, p *os.Process) {
	terminated := false
	for {
		select {
		case <-done:
			return
		case s := <-caught:
			switch {
			case s == syscall.SIGTERM && !terminated:
				terminated = true
				p.Signal(s)
			case s == syscall.SIGUSR1 || s == syscall.SIGUSR2:
				p.Signal(s)
			}
		}
	}
}

func status(cmd *exec.Cmd, err error) (Status, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Status{}, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Status{128 + int(ws.Signal()), ws.Signal()}, nil
	}
	return Status{Code: cmd.ProcessState.ExitCode()}, nil
}

// CheckLibraryPath refuses a path that cannot be preloaded: the loader takes
// blanks and colons for separators and has no way to quote them.
func CheckLibraryPath(path string) error {
	if i := strings.IndexAny(path, " \t\n:"); i >= 0 {
		return fmt.Errorf("the library's path %q has a %q in it, which LD_PRELOAD takes for a separator: set XDG_CACHE_HOME to a directory without, or move the installation", path, path[i])
	}
	return nil
}
