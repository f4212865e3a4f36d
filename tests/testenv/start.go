package testenv

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

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
