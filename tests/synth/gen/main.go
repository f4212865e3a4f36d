// Command gen writes a synthetic MPI job as files, as a real job would have
// left them:
//
//	go run ./tests/synth/gen -shape stencil -ranks 100000 -o DIR
//
// With -format recording (the default), DIR is a run directory. With container,
// too, but the recordings of each node are in a packed container. With prof or
// arrow, DIR holds one file per block of ranks, <shape>.<first rank>.<format>.
// A block is one rank unless -block gives another number; -block 0 writes one
// file for all ranks.
//
// With -format trace, DIR is a run directory with the events of each rank.
// Traces have other shapes:
//
//	go run ./tests/synth/gen -format trace -shape halo -ranks 64 -events 100000000 -o DIR
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
)

func main() {
	if err := generate(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

type options struct {
	format, dir string
	block       int
}

func generate(args []string, log io.Writer) error {
	var o options
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(log)
	shape := flags.String("shape", "stencil", fmt.Sprintf("of the job: one of %v or %v, or a fault: %v; of a trace: one of %v", synth.Shapes, synth.PatternShapes, synth.FaultNames, synth.TraceShapes))
	ranks := flags.Int("ranks", 64, "number of ranks")
	perNode := flags.Int("per-node", 64, "ranks of a node")
	collectives := flags.Bool("collectives", true, "with the shape's collectives")
	phases := flags.Int("phases", 0, "how many phases do all again, each in a slice of its own")
	timing := flags.String("timing", "exact", "how calls are timed: exact, sampled or off")
	events := flags.Uint64("events", 1_000_000, "at least how many a trace has, of all ranks")
	flags.StringVar(&o.format, "format", "recording", "recording, container, prof, arrow or trace")
	flags.StringVar(&o.dir, "o", "", "directory to write to")
	flags.IntVar(&o.block, "block", 1, "ranks of a .prof or Arrow file, 0 for all in one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.dir == "" || *perNode < 1 || o.block < 0 {
		return fmt.Errorf("write job: -o names a directory, -per-node is at least 1 and -block at least 0")
	}
	if o.format == "trace" {
		job, err := synth.NamedTrace(*shape, *ranks, *perNode, *events)
		if err != nil {
			return err
		}
		return o.traces(job)
	}
	j, err := synth.Named(*shape, *ranks)
	if err != nil {
		return err
	}
	known := false
	if j.Timing, known = profile.ParseTiming(*timing); !known {
		return fmt.Errorf("write job: -timing is exact, sampled or off, not %q", *timing)
	}
	j.PerNode, j.Phases = *perNode, *phases
	if !*collectives {
		j.Collectives = nil
	}
	return o.write(j)
}

func (o options) write(j *synth.Job) error {
	switch o.format {
	case "recording":
		return o.recordings(j)
	case "container":
		return o.containers(j)
	case "prof":
		return o.blocks(j, func(w io.Writer, b block) error {
			return b.Each(func(p *profile.Profile) error { return prof.Write(w, p.Traffic()) })
		})
	case "arrow":
		return o.blocks(j, func(w io.Writer, b block) error { return table.WriteProfile(w, b) })
	}
	return fmt.Errorf("write job: unknown format %q", o.format)
}

// recordings writes a run directory.
func (o options) recordings(j *synth.Job) error {
	d, err := rundir.CreateAt(o.dir)
	if err != nil {
		return err
	}
	return parallel(j.Ranks, 64, func(first, end int) error {
		for rank := first; rank < end; rank++ {
			path := filepath.Join(d.Recordings(), fmt.Sprintf("%s.%06d.rec", j.Name, rank))
			if err := recordingtest.WriteFile(path, j.Profile(rank)); err != nil {
				return err
			}
		}
		return nil
	})
}

// containers writes a run directory with a packed container for each node.
func (o options) containers(j *synth.Job) error {
	d, err := rundir.CreateAt(o.dir)
	if err != nil {
		return err
	}
	return parallel(j.Ranks, j.PerNode, func(first, end int) error {
		return container.Write(container.Path(d.Recordings(), j, first), j, first, end, nil)
	})
}

// block is the ranks first to end-1 of a job, which one file holds.
type block struct {
	*synth.Job
	first, end int
}

// Each implements profile.Source.
func (b block) Each(f func(*profile.Profile) error) error {
	for rank := b.first; rank < b.end; rank++ {
		if err := f(b.Profile(rank)); err != nil {
			return err
		}
	}
	return nil
}

func (o options) blocks(j *synth.Job, write func(io.Writer, block) error) error {
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	size := o.block
	if size == 0 {
		size = j.Ranks
	}
	return parallel(j.Ranks, size, func(first, end int) error {
		f, err := os.Create(filepath.Join(o.dir, fmt.Sprintf("%s.%d.%s", j.Name, first, o.format)))
		if err != nil {
			return err
		}
		defer f.Close()
		if err := write(f, block{j, first, end}); err != nil {
			return fmt.Errorf("write %s: %w", f.Name(), err)
		}
		return f.Close()
	})
}

// parallel calls f for ranges of at most size numbers that cover 0 … n-1,
// several at a time.
func parallel(n, size int, f func(first, end int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for first := 0; first < n; first += size {
		g.Go(func() error { return f(first, min(first+size, n)) })
	}
	return g.Wait()
}
