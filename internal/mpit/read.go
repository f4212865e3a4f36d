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

// Options selects the MPI and what to ask it.
type Options struct {
	Build     interpose.BuildOptions
	AfterInit bool // ask after MPI_Init, in a single process
}

// patience is the time limit for the library. Open MPI opens all its
// components.
const patience = 2 * time.Minute

// Read returns the variables of an MPI. It uses this process's environment, so
// the values are those of a program that is started here.
func Read(ctx context.Context, o Options) (*Catalogue, error) {
	lister, err := interpose.BuildLister(ctx, o.Build)
	if err != nil {
		return nil, err
	}
	args := []string{o.Build.MPI}
	if o.AfterInit {
		args = append(args, "after-init")
	}
	text, err := run(ctx, lister, "", os.Environ(), args...)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// run returns the output of the program. It shows the library's own messages
// only with an error: MPI programs print them anyway.
func run(ctx context.Context, lister, dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, lister, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // a child may still hold the pipe
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ask the MPI for its variables: no answer: %w", ctx.Err())
	case err != nil && !whole(stdout.Bytes()): // MPI_Finalize may crash after the list is complete
		return nil, fmt.Errorf("ask the MPI for its variables: %w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// whole reports whether a list has its last line.
func whole(text []byte) bool {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.HasPrefix(lines[len(lines)-1], []byte("end "))
}
