// Package process measures what recording costs a process apart from its calls:
// the time that MPI_Init and MPI_Finalize take longer, the memory that is held,
// and the size of the recording as it is brought home.
//
//	go run ./bench process --pairs 21
//
// Starts are of real jobs, in pairs of one as it is and one under `mpitrace run`.
// What a rank spends in the two calls outside of the MPI is repeatable, as
// processor time more than as wall time. The difference of the slowest rank's
// wall time in a pair says the same in principle; the MPI's own start varies by
// far more, on a machine with fewer processors than ranks above all. The whole
// command includes what mpitrace does before and after the job.
//
// Memory is that of one process in a world of any size, which a stand-in for an
// MPI makes (src/world.c); each figure is a difference to the same program alone.
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

// command runs one to its end, quietly unless it fails.
func command(ctx context.Context, env []string, line ...string) error {
	_, err := output(ctx, env, line...)
	return err
}

// output is what a command wrote to stdout.
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
