package process

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
)

//go:embed src/*.c
var sources embed.FS

// starts holds the measured starts with one MPI on one number of ranks; each
// slice has one value per pair of runs.
type starts struct {
	mpi     string
	ranks   int
	init    []float64 // processor time in Init outside of the MPI: median of the ranks, ns
	final   []float64 // the same for Finalize
	outside []float64 // wall time of both calls outside of the MPI: median of the ranks, ns
	wall    []float64 // wall time that is added to both calls on the slowest rank, ns
	command []float64 // wall time that is added to the whole command, ns
}

var launchers = map[string][]string{
	"openmpi": {"mpirun.openmpi", "--oversubscribe"},
	"mpich":   {"mpiexec.mpich"},
}

func measureStarts(ctx context.Context, o options, dir string, out, log io.Writer) ([]starts, error) {
	var found []starts
	for _, mpi := range []string{"openmpi", "mpich"} {
		if _, err := exec.LookPath("mpicc." + mpi); err != nil {
			fmt.Fprintf(log, "no mpicc.%s: %s is left out\n", mpi, mpi)
			continue
		}
		program, err := buildStart(ctx, mpi, dir)
		if err != nil {
			return nil, err
		}
		for _, ranks := range []int{1, 4} {
			fmt.Fprintf(log, "%s: %d pairs of starts on %d ranks\n", mpi, o.pairs, ranks)
			s := starts{mpi: mpi, ranks: ranks}
			for pair := range o.pairs {
				if err := s.pair(ctx, o.mpitrace, dir, program, pair); err != nil {
					return nil, err
				}
			}
			s.writeLines(out)
			found = append(found, s)
		}
	}
	return found, nil
}

func buildStart(ctx context.Context, mpi, dir string) (program string, err error) {
	cc, inner := "mpicc."+mpi, "inner-"+mpi
	program = filepath.Join(dir, "start-"+mpi)
	err = command(ctx, cc, "-O2", "-fPIC", "-shared", filepath.Join(dir, "src", "inner.c"), "-o", filepath.Join(dir, "lib"+inner+".so"), "-ldl")
	if err == nil {
		err = command(ctx, cc, "-O2", filepath.Join(dir, "src", "start.c"), "-o", program, "-L"+dir, "-l"+inner, "-Wl,-rpath,"+dir)
	}
	return program, err
}

// pair runs the program alone and under mpitrace, in alternating order.
func (s *starts) pair(ctx context.Context, mpitrace, dir, program string, number int) error {
	plain := slices.Concat(launchers[s.mpi], []string{"-n", strconv.Itoa(s.ranks), program})
	record := filepath.Join(dir, "run")
	with := slices.Concat([]string{mpitrace, "run", "--no-report", "-o", record, "--"}, plain)
	var wall, whole [2]float64
	for i := range 2 {
		which := (i + number) % 2
		if err := os.RemoveAll(record); err != nil {
			return err
		}
		began := time.Now()
		text, err := measure.Output(ctx, "", nil, [][]string{plain, with}[which]...)
		whole[which] = float64(time.Since(began))
		if err != nil {
			return err
		}
		if wall[which], err = s.read(text, which == 1); err != nil {
			return err
		}
	}
	s.wall = append(s.wall, wall[1]-wall[0])
	s.command = append(s.command, whole[1]-whole[0])
	return nil
}

// read parses the ranks' lines and returns the slowest rank's time in both
// calls, in ns. If the run was recorded, it keeps the medians of the ranks' own
// times.
func (s *starts) read(text []byte, watched bool) (slowest float64, err error) {
	var inits, finals, outside []float64
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		rest, ours := strings.CutPrefix(lines.Text(), "start: ")
		if !ours {
			continue
		}
		var both, init, final, out float64
		if _, err := fmt.Sscan(rest, &both, &init, &final, &out); err != nil {
			return 0, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		slowest = max(slowest, both)
		inits, finals, outside = append(inits, init), append(finals, final), append(outside, out)
	}
	if len(inits) != s.ranks {
		return 0, fmt.Errorf("%d of %d ranks said how they started: %q", len(inits), s.ranks, text)
	}
	if seen := measure.Median(inits) > 0; seen != watched {
		return 0, fmt.Errorf("watched %v, and a library in front of the MPI %v", watched, seen)
	}
	if watched {
		s.init, s.final, s.outside = append(s.init, measure.Median(inits)), append(s.final, measure.Median(finals)), append(s.outside, measure.Median(outside))
	}
	return slowest, nil
}

func (s *starts) writeLines(out io.Writer) {
	for i := range s.init {
		fmt.Fprintf(out, "BenchmarkStart/mpi=%s/ranks=%d 1 %.0f init-cpu-ns %.0f finalize-cpu-ns %.0f outside-ns %.0f wall-ns %.0f command-ns\n",
			s.mpi, s.ranks, s.init[i], s.final[i], s.outside[i], s.wall[i], s.command[i])
	}
}

// writeStarts prints the medians, and the minima of the repeatable figures.
func writeStarts(out io.Writer, all []starts) {
	fmt.Fprint(out, "\nAdded to a rank's start and end, in ms (medians; in parentheses the least):\n\n"+
		"| MPI | ranks | MPI_Init, processor | MPI_Finalize, processor | both, wall outside of the MPI | both, wall of the slowest rank | the whole command |\n"+
		"| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, s := range all {
		fmt.Fprintf(out, "| %s | %d | %.2f (%.2f) | %.2f (%.2f) | %.2f (%.2f) | %.1f | %.1f |\n", s.mpi, s.ranks,
			measure.Median(s.init)/1e6, slices.Min(s.init)/1e6, measure.Median(s.final)/1e6, slices.Min(s.final)/1e6,
			measure.Median(s.outside)/1e6, slices.Min(s.outside)/1e6, measure.Median(s.wall)/1e6, measure.Median(s.command)/1e6)
	}
}
