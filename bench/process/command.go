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
	"io"
	"os"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/spf13/cobra"
)

type options struct {
	pairs    int
	mpitrace string
}

// Command returns the command "bench process".
func Command() *cobra.Command {
	var o options
	c := measure.Command("process", "Measure starting, ending, memory and the size of recordings", o.check, o.run)
	c.Flags().IntVar(&o.pairs, "pairs", 21, "`number` of starts with and without mpitrace, each")
	c.Flags().StringVar(&o.mpitrace, "mpitrace", "", "`path` of mpitrace (default: built from this source)")
	return c
}

func (o *options) check() error {
	if o.pairs < 1 {
		return errors.New("--pairs must be positive")
	}
	return nil
}

func (o *options) run(ctx context.Context, dir string, out, log io.Writer) (err error) {
	if err := os.CopyFS(dir, sources); err != nil {
		return err
	}
	if o.mpitrace, err = measure.Mpitrace(ctx, o.mpitrace, dir); err != nil {
		return err
	}
	starts, err := measureStarts(ctx, *o, dir, out, log)
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

// command runs a command to its end.
func command(ctx context.Context, line ...string) error {
	_, err := measure.Output(ctx, "", nil, line...)
	return err
}
