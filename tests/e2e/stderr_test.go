package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestStderr checks that the library's messages neither end nor block the
// program if the reader of stderr has gone, does not read, or if the file has
// reached the maximum size.
func TestStderr(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		testenv.Need(t, "prlimit")
		for name, open := range map[string]func(*testing.T) *os.File{"closed": func(*testing.T) *os.File { return nil },
			"nobody reads it": brokenPipe, "nobody reads it now": fullPipe, "a long file": longFile} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				var stdout bytes.Buffer
				// The invalid setting causes a message.
				command := preload(m.library(t), []string{"MPITRACE_MAX_MB=x", "MPITRACE_DIR=run"}, m.compile(t, "many_comms"))
				if name == "a long file" {
					command = append([]string{"prlimit", fmt.Sprintf("--fsize=%d:", longest)}, command...)
				}
				cmd := exec.CommandContext(ctx, command[0], command[1:]...)
				if name == "closed" {
					cmd = exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", `exec "$@" 2>&-`, "sh"}, command)...)
				}
				cmd.Dir = t.TempDir()
				cmd.Env = append(environ(t), alone...)
				cmd.Stdout = &stdout
				if file := open(t); file != nil {
					cmd.Stderr = file
				}
				if err := cmd.Run(); err != nil || stdout.String() != "ok\n" {
					t.Errorf("%v, %q", err, &stdout)
				}
				if ranks := readRecordings(t, filepath.Join(cmd.Dir, "run")); len(ranks) != 1 {
					t.Errorf("%d recordings", len(ranks))
				}
			})
		}
	})
}

func brokenPipe(t *testing.T) *os.File {
	read, write := pipe(t)
	read.Close()
	return write
}

func fullPipe(t *testing.T) *os.File {
	_, write := pipe(t)
	fd := int(write.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := syscall.Write(fd, make([]byte, 4096)); errors.Is(err, syscall.EAGAIN) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return write
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return read, write
}

const longest = 1 << 30 // large enough for the MPIs' own files

// longFile returns a file that is as long as the program's limit on file size.
func longFile(t *testing.T) *os.File {
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(longest); err != nil { // sparse
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestOwnStderr runs a program that closes its standard streams and opens data files
// in their place. The library's messages must not go into them: they are in the
// recording, and the report prints them. The library is preloaded, or opened when
// the program's file has descriptor 2 already.
func TestOwnStderr(t *testing.T) {
	needPrebuilt(t)
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "own_stderr")
		const intercepts, badLimit, noProf = "intercepts 1 MPI function", "MPITRACE_MAX_MB=x is not a number", "cannot write /none/p.0.prof"
		for _, test := range []struct {
			name, library string
			args, want    []string
		}{
			{"preloaded", m.library(t), nil, []string{intercepts, badLimit}},
			{"dispatcher", dispatcher(t), nil, []string{intercepts, badLimit}},
			{"later", m.library(t), []string{"late"}, []string{noProf}},
		} {
			t.Run(test.name, func(t *testing.T) {
				dir, data := filepath.Join(t.TempDir(), "run"), t.TempDir()
				env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_MAX_MB=x", "MPITRACE_PROF=/none/p"}
				succeed(t, alone, preload(test.library, env, append([]string{program, data}, test.args...)...)...)
				if got := string(readAll(t, filepath.Join(data, "part2"))); got != "HEAD\nBODY\n" {
					t.Errorf("the program's file holds %q", got)
				}
				text, json := succeed(t, nil, mpitrace, "report", "--full", dir).stdout, succeed(t, nil, mpitrace, "report", "--json", dir).stdout
				for _, want := range test.want {
					if ranks := readRecordings(t, dir); len(ranks) != 1 || !strings.Contains(strings.Join(ranks[0].Messages, "\n"), want) {
						t.Errorf("the recordings do not have the message %q", want)
					}
					for what, shown := range map[string]string{"text": text, "--json": json} {
						if !strings.Contains(shown, want) {
							t.Errorf("%s does not show the message %q", what, want)
						}
					}
				}
			})
		}
	})
}
