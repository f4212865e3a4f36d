package mpit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/mpitrace/mpitrace/interpose"
)

// Options say what to ask which MPI.
type Options struct {
	Build     interpose.BuildOptions
	AfterInit bool // once MPI_Init has been called, in a process alone
}

// patience is how long the library may take: Open MPI opens all its components.
const patience = 2 * time.Minute

// Read asks an MPI for its variables, in this process's environment: so values
// are those that a program would find that is started here.
func Read(ctx context.Context, o Options) (*List, error) {
	lister, err := interpose.BuildLister(ctx, o.Build)
	if err != nil {
		return nil, err
	}
	var args []string
	if o.AfterInit {
		args = append(args, "after-init")
	}
	text, err := run(ctx, lister, "", os.Environ(), args...)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// run gives what the program prints. What the MPI says beside is told with an
// error only: it is what its programs say anyway.
func run(ctx context.Context, lister, dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, lister, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // a child may have the pipe open
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ask the MPI for its variables: no answer: %w", ctx.Err())
	case err != nil && !whole(stdout.Bytes()): // MPI_Finalize may crash when all was said
		return nil, fmt.Errorf("ask the MPI for its variables: %w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// whole tells whether a list has its last line.
func whole(text []byte) bool {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.HasPrefix(lines[len(lines)-1], []byte("end "))
}
