// Package matrices measures the cost of making matrices: wall time, processor
// time and maximum memory. It writes the files of synthetic jobs and runs
// commands on them, one at a time.
//
//	go run ./bench matrices --raw bench.txt
//
// It has three parts.
//
// peer compares profile2mat with the Perl script that comes with Open MPI, on
// the same .prof files. Each round runs both, so that a slow minute of the
// machine affects both. It also requires that both write the same bytes.
//
// phases does the same for profiles of several phases, which take Open MPI's
// scripts two steps.
//
// scale makes a sparse matrix and heatmaps of jobs of 1,000, 10,000 and 100,000
// ranks, once each.
//
// summary makes the report, its page and the matrix of nodes of jobs of 10,000 and 100,000
// ranks in containers, once each. For a million ranks:
//
//	go run ./bench matrices --part summary --scale 1048576
//
// The tables show medians and minima. The Go benchmark lines, which benchstat
// reads, show each run.
package matrices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/spf13/cobra"
)

// options holds the command's flags.
type options struct {
	rounds int
	scale  int
	raw    string
	parts  []string
}

// partNames lists the values of --part, in the order of running.
var partNames = []string{"peer", "phases", "scale", "summary"}

// Command returns the command "bench matrices".
func Command() *cobra.Command {
	var o options
	c := measure.Command("matrices", "Measure making matrices, beside Open MPI's scripts and on up to 100,000 ranks", o.check, o.run)
	c.Flags().IntVar(&o.rounds, "rounds", 5, "`number` of rounds over both tools; phases has 3 at most")
	c.Flags().IntVar(&o.scale, "scale", 100_000, "`ranks` of the largest job; 100000 need 2 GB of disk in $TMPDIR, and part summary 5 GB for 1048576")
	c.Flags().StringVar(&o.raw, "raw", "-", "`file` for the Go benchmark lines; - is standard output")
	c.Flags().StringSliceVar(&o.parts, "part", partNames, "`parts` to run")
	return c
}

func (o *options) check() error {
	for _, part := range o.parts {
		if !slices.Contains(partNames, part) {
			return fmt.Errorf("unknown part %q: the parts are %s", part, strings.Join(partNames, ", "))
		}
	}
	if o.rounds < 1 || o.scale < 1 {
		return errors.New("--rounds and --scale must be positive")
	}
	return nil
}

// announce prints the parts that will run, and how long each takes on 2 cores.
func (o options) announce(log io.Writer) {
	takes := map[string]string{
		"peer":    fmt.Sprintf("peer: .prof of a stencil of %d ranks, Open MPI's Perl script and ours, %d rounds of some 25 s", peerRanks, o.rounds),
		"phases":  fmt.Sprintf("phases: %d such jobs, Open MPI's two scripts and ours, %d rounds of some 40 s", phases, o.phaseRounds()),
		"summary": fmt.Sprintf("summary: stencils of up to %d ranks in containers; 100,000 take some 2 minutes and 1 GB in %s", o.scale, os.TempDir()),
		"scale":   fmt.Sprintf("scale: stencils of up to %d ranks as recordings and as Arrow; 100,000 take some 6 minutes and 2 GB in %s", o.scale, os.TempDir()),
	}
	for _, part := range partNames {
		if slices.Contains(o.parts, part) {
			fmt.Fprintln(log, takes[part])
		}
	}
}

// phaseRounds returns the number of rounds of part phases: at most 3, because
// each is long.
func (o options) phaseRounds() int { return min(o.rounds, 3) }

// run runs the parts. It writes benchmark lines and tables to out, and progress
// to log.
func (o *options) run(ctx context.Context, dir string, out, log io.Writer) error {
	raw, err := measure.OpenLines(o.raw, out)
	if err != nil {
		return err
	}
	defer raw.Close()
	o.announce(log)
	b := &bench{ctx: ctx, options: *o, dir: dir, raw: raw, out: out, log: log}
	if err := b.build(); err != nil {
		return err
	}
	measures := map[string]func() error{"peer": b.comparePeer, "phases": b.comparePhases, "scale": b.measureScale, "summary": b.measureSummary}
	for _, part := range partNames {
		if slices.Contains(o.parts, part) {
			if err := measures[part](); err != nil {
				return fmt.Errorf("%s: %w", part, err)
			}
		}
	}
	return nil
}
