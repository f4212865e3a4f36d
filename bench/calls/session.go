package calls

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is the time limit of a command: most take milliseconds, or up to a
// minute under valgrind.
const (
	patience       = 20 * time.Second
	countPatience  = 4 * time.Minute
	finishPatience = time.Minute
)

// session is a driver that runs under a tool and waits for commands. It sleeps
// between commands, so that several sessions can be asked in turn.
type session struct {
	tool     tool
	patience time.Duration
	cmd      *exec.Cmd
	cancel   context.CancelFunc
	dir      string     // for FIFOs and the tool's output
	commands []*os.File // one FIFO for each rank
	replies  chan string
	talk     strings.Builder
}

var errEnded = errors.New("it ended")

// open starts a program under a tool and waits until it is ready. If via is
// given, it is the command that runs rank 0.
func (s *setup) open(ctx context.Context, p program, t tool, via []string, patience time.Duration) (*session, error) {
	dir, err := runDirectory(t.padding)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	x := &session{tool: t, patience: patience, dir: dir, cancel: cancel, replies: make(chan string)}
	if err := errors.Join(x.makeCommands(p.ranks), x.start(ctx, s.line(p, via, t.settings(dir), dir))); err != nil {
		return nil, x.fail(err)
	}
	if err := x.greet(s); err != nil {
		return nil, x.fail(err)
	}
	return x, nil
}

// runDirectory creates a directory whose name always has the same length: the addresses of
// allocations, and so their hashes, depend on the lengths of names. The directory is in memory if
// possible, as under `mpitrace run`, because each write to a page of a file on disk may cost a page
// fault.
func runDirectory(padding int) (dir string, err error) {
	name := fmt.Sprintf("mpitrace-bench-%0*d", 10+padding, rand.Uint32())
	for _, parent := range []string{"/dev/shm", os.TempDir()} {
		dir = filepath.Join(parent, name)
		if err = os.Mkdir(dir, 0o700); err == nil {
			return dir, nil
		}
	}
	return dir, err
}

// makeCommands creates the FIFOs, and opens them for reading and writing,
// because they have no reader yet.
func (x *session) makeCommands(ranks int) error {
	for rank := range ranks {
		path := filepath.Join(x.dir, strconv.Itoa(rank))
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		x.commands = append(x.commands, file)
	}
	return nil
}

func (x *session) start(ctx context.Context, line []string) error {
	x.cmd = exec.CommandContext(ctx, line[0], line[1:]...)
	x.cmd.Env, x.cmd.Dir, x.cmd.Stderr = environ(), x.dir, &x.talk
	// Open MPI refuses to run as root, for example in containers, without these
	// two variables.
	x.cmd.Env = append(x.cmd.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	// A launcher that is killed leaves its ranks behind, so it gets SIGTERM
	// first.
	x.cmd.Cancel = func() error { return x.cmd.Process.Signal(syscall.SIGTERM) }
	x.cmd.WaitDelay = 5 * time.Second
	output, err := x.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := x.cmd.Start(); err != nil {
		return err
	}
	go x.listen(output)
	return nil
}

// listen passes on the driver's answers. Tools may print to the same stdout.
func (x *session) listen(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		for _, key := range []string{"answering: ", "took: "} {
			if _, reply, found := strings.Cut(lines.Text(), key); found {
				x.replies <- reply
			}
		}
	}
	close(x.replies)
}

// greet waits until the driver is ready, closes our reading ends of the FIFOs,
// so that the driver notices if we end, and checks that the calls reach the
// tool's library.
func (x *session) greet(s *setup) error {
	answering, err := x.reply(max(x.patience, finishPatience))
	if err != nil {
		return err
	}
	for i, file := range x.commands {
		if x.commands[i], err = os.OpenFile(file.Name(), os.O_WRONLY, 0); err != nil {
			return err
		}
		file.Close()
	}
	expected := s.library
	if x.tool.preload != "" {
		expected = x.tool.preload
	}
	if filepath.Base(answering) != filepath.Base(expected) && !x.tool.peer {
		return fmt.Errorf("MPI calls are answered by %q, not %q", answering, expected)
	}
	return nil
}

func (x *session) reply(patience time.Duration) (string, error) {
	select {
	case reply, open := <-x.replies:
		if !open {
			return "", errEnded
		}
		return reply, nil
	case <-time.After(patience):
		return "", fmt.Errorf("no answer in %v", patience)
	}
}

// run lets the driver run a loop for warm turns, and then for turns that are
// timed. After an error the session has ended.
func (x *session) run(loop string, warm, turns int) (nanoseconds float64, err error) {
	for _, file := range x.commands {
		if _, err := fmt.Fprintf(file, "%s %d %d\n", loop, warm, turns); err != nil {
			return 0, x.fail(err)
		}
	}
	reply, err := x.reply(x.patience)
	if err != nil {
		return 0, x.fail(fmt.Errorf("run %s: %w", loop, err))
	}
	nanoseconds, err = strconv.ParseFloat(reply, 64)
	if err != nil {
		return 0, x.fail(err)
	}
	return nanoseconds, nil
}

// close ends the driver, and checks that the tool recorded.
func (x *session) close() error {
	x.closeCommands()
	if _, err := x.reply(finishPatience); !errors.Is(err, errEnded) {
		return x.fail(errors.New("it does not end"))
	}
	if err := x.cmd.Wait(); err != nil {
		return x.fail(err)
	}
	x.cancel()
	return errors.Join(x.tool.check(x.dir), os.RemoveAll(x.dir))
}

func (x *session) closeCommands() {
	for _, file := range x.commands {
		file.Close()
	}
	x.commands = nil
}

// fail kills the session, and adds the output on stderr to the error.
func (x *session) fail(err error) error {
	x.closeCommands()
	x.cancel()
	if x.cmd != nil && x.cmd.Process != nil && x.cmd.ProcessState == nil {
		go func() {
			for range x.replies {
			}
		}()
		err = errors.Join(err, x.cmd.Wait())
	}
	os.RemoveAll(x.dir)
	return fmt.Errorf("under %s: %w\n%s", x.tool.name, err, x.talk.String())
}
