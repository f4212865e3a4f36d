// Package process measures what recording costs a process in addition to its
// calls: the time that it adds to MPI_Init and MPI_Finalize, memory, and the
// size of the packed recording.
//
//	go run ./bench process --pairs 21
//
// Starts are measured on real jobs, in pairs of one run alone and one under
// `mpitrace run`. The time that a rank spends in the two calls outside of the
// MPI library is repeatable, and its processor time more so than its wall time.
// In principle, the difference of the slowest rank's wall time in a pair
// measures the same, but the MPI's own start varies far more, especially on a
// machine with fewer processors than ranks. The time of the whole command
// includes what mpitrace does before and after the job.
//
// Memory is that of one process in a world of any size, which a stand-in for an
// MPI provides (src/world.c). Each figure is the difference to the same program
// without the library.
//
// It prints Go benchmark lines, and then two tables.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

type options struct {
	pairs    int
	mpitrace string
}

// Command returns the command "bench process".
func Command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:          "process",
		Short:        "Measure starting, ending, memory and the size of recordings",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.pairs < 1 {
				return errors.New("--pairs must be positive")
			}
			return run(c.Context(), o, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().IntVar(&o.pairs, "pairs", 21, "`number` of starts with and without mpitrace, each")
	c.Flags().StringVar(&o.mpitrace, "mpitrace", "", "`path` of mpitrace (default: built from this source)")
	return c
}

func run(ctx context.Context, o options, out, log io.Writer) error {
	dir, err := os.MkdirTemp("", "mpitrace-process-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, sources); err != nil {
		return err
	}
	if o.mpitrace == "" {
		o.mpitrace = filepath.Join(dir, "mpitrace")
		if err := command(ctx, nil, "go", "build", "-o", o.mpitrace, "github.com/mpitrace/mpitrace/cmd/mpitrace"); err != nil {
			return err
		}
	}
	starts, err := measureStarts(ctx, o, dir, out, log)
	if err != nil {
		return err
	}
	lives, err := measureLives(ctx, dir, out, log)
	if err != nil {
		return err
	}
	writeStarts(out, starts)
	return writeLives(out, lives)
}

// command runs a command to its end. It shows the command's stderr only in the
// error, if the command fails.
func command(ctx context.Context, env []string, line ...string) error {
	_, err := output(ctx, env, line...)
	return err
}

// output runs a command and returns its stdout.
func output(ctx context.Context, env []string, line ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%v: %w\n%s", line, err, exit.Stderr)
	}
	return text, err
}

// median returns the middle value, or the mean of the middle two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
