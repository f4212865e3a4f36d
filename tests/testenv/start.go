package testenv

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// startReady starts a command that prints "ready" and then waits for the end of its standard input,
// which ends with the test, or with this process if that is killed. The error says why it is not
// ready, with what the command wrote to standard error.
func startReady(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, stdout, err := StartWaiting(t, cmd, "ready")
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if err == nil {
		return nil
	}
	stdin.Close()
	io.Copy(io.Discard, stdout)
	return fmt.Errorf("%w: %s", err, stderr.String())
}

// StartWaiting starts a command that prints a line and then waits for the end of
// its standard input. It returns when the line was printed; err says why it was
// not. The caller closes in, and waits for the command.
func StartWaiting(t testing.TB, cmd *exec.Cmd, line string) (in io.WriteCloser, out *bufio.Reader, err error) {
	t.Helper()
	in, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewReader(stdout)
	if said, err := out.ReadString('\n'); said != line+"\n" {
		return in, out, fmt.Errorf("it printed %q instead of %q: %v", said, line, err)
	}
	return in, out, nil
}
