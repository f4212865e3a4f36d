package programs

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// pairs holds the wall times of a program in seconds, by pair.
type pairs struct {
	program     program
	alone, with []float64
}

func (p program) measure(ctx context.Context, o options, dir string, out, log io.Writer) (pairs, error) {
	found := pairs{program: p}
	record := filepath.Join(dir, "run")
	recorded := slices.Concat([]string{o.mpitrace, "run", "--no-report", "--strict", "-o", record, "--"}, p.line())
	// Pair -1 is not counted: it builds the library and fills the file cache.
	for number := -1; number < o.pairs; number++ {
		var took [2]float64
		for i := range 2 {
			which := (i + number + 2) % 2
			if err := os.RemoveAll(record); err != nil {
				return found, err
			}
			var err error
			if took[which], err = wall(ctx, dir, [][]string{p.line(), recorded}[which]...); err != nil {
				return found, err
			}
		}
		if number < 0 {
			continue
		}
		fmt.Fprintf(log, "%s: pair %d of %d: %.2f s alone, %.2f s recorded\n", p.name, number+1, o.pairs, took[0], took[1])
		fmt.Fprintf(out, "BenchmarkProgram/program=%s/tool=none 1 %.0f ns/op\nBenchmarkProgram/program=%s/tool=ours 1 %.0f ns/op\n",
			p.name, took[0]*1e9, p.name, took[1]*1e9)
		found.alone, found.with = append(found.alone, took[0]), append(found.with, took[1])
	}
	return found, nil
}

// runLimit is the time after which a run counts as hung and is killed.
const runLimit = 10 * time.Minute

// wall runs a command in dir and returns its wall time in seconds.
func wall(ctx context.Context, dir string, line ...string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	began := time.Now()
	_, err := measure.Output(ctx, dir, nil, line...)
	return time.Since(began).Seconds(), err
}

// differences returns, for each pair, how much longer the recorded run took than the run alone.
func (p *pairs) differences() []float64 {
	d := make([]float64, len(p.alone))
	for i := range d {
		d[i] = p.with[i] - p.alone[i]
	}
	return d
}

// ratios returns, for each pair, the wall time of the recorded run divided by that of the run
// alone.
func (p *pairs) ratios() []float64 {
	r := make([]float64, len(p.alone))
	for i := range r {
		r[i] = p.with[i] / p.alone[i]
	}
	return r
}

// medianInterval returns a confidence interval of at least 95 % for the median of the distribution
// of the values, by order statistics: it makes no assumption about the distribution. ok is false
// for fewer than six values.
func medianInterval(values []float64) (low, high float64, ok bool) {
	n := len(values)
	// outside is the probability that fewer than k of n values are below the
	// median, or fewer than k above.
	var outside float64
	k := 0
	for {
		outside += 2 * binomial(n, k) / math.Pow(2, float64(n))
		if outside > 0.05 {
			break
		}
		k++
	}
	if k == 0 {
		return 0, 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[k-1], sorted[n-k], true
}

// binomial returns n over k.
func binomial(n, k int) float64 {
	product := 1.0
	for i := range k {
		product *= float64(n-i) / float64(i+1)
	}
	return product
}

// writeTimes writes the table of wall times, or nothing if none was measured.
func writeTimes(out io.Writer, all []pairs) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprint(out, "\nWall time recorded, as a multiple of the wall time alone:\n\n")
	lines := [][]string{{"program", "ranks", "pairs", "alone, median s", "added, median s", "median ratio", "95 % interval"}}
	for _, p := range all {
		r := p.ratios()
		interval := "–"
		if low, high, ok := medianInterval(r); ok {
			interval = fmt.Sprintf("%.3f to %.3f", low, high)
		}
		lines = append(lines, []string{p.program.name, strconv.Itoa(p.program.ranks), strconv.Itoa(len(r)),
			fmt.Sprintf("%.2f", measure.Median(p.alone)), fmt.Sprintf("%+.2f", measure.Median(p.differences())),
			fmt.Sprintf("%.3f", measure.Median(r)), interval})
	}
	return measure.WriteTable(out, lines, 1)
}
