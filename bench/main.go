// Command bench measures commands, programs and libraries. Benchmarks of single
// functions are Go benchmarks next to the code.
//
//	go run ./bench calls|process|programs|matrices|placement [flags]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/bench/calls"
	"github.com/mpitrace/mpitrace/bench/matrices"
	"github.com/mpitrace/mpitrace/bench/placement"
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
		Short: "Measure what recording, making matrices and placing ranks cost",
		Long: `Bench measures what recording an MPI program costs, what making matrices costs,
and how good the orders of ranks are that placement finds. Each part prints
tables; all but placement print Go benchmark lines too, which benchstat reads.
Run it on a machine that does nothing else.`,
		SilenceErrors: true,
	}
	root.AddCommand(calls.Command(), process.Command(), programs.Command(), matrices.Command(), placement.Command())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
