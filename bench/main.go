// Command bench measures commands, programs and libraries. Benchmarks of single
// functions are Go benchmarks next to the code.
//
//	go run ./bench calls|process|programs|matrices [flags]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/bench/calls"
	"github.com/mpitrace/mpitrace/bench/matrices"
	"github.com/mpitrace/mpitrace/bench/process"
	"github.com/mpitrace/mpitrace/bench/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "bench",
		Short: "Measure what recording and making matrices costs",
		Long: `Bench measures what recording an MPI program costs, and what making matrices
costs. Each part prints Go benchmark lines, which benchstat reads, and tables.
Run it on a machine that does nothing else.`,
		SilenceErrors: true,
	}
	root.AddCommand(calls.Command(), process.Command(), programs.Command(), matrices.Command())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
