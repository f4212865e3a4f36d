// Package placement compares the orders that placement.Best finds with those of VieM and
// of Scotch's gmap, on the same graphs and hierarchies, in one run.
//
//	go run ./bench placement --viem viem --scotch scotch_gmap
//
// Each order is checked, and its cost is what placement.Evaluate returns. The best cost
// of ours is compared with that of VieM's best preset; times with that of the preset of
// the same effort. The table shows processor seconds. The mean of the times of the search
// alone, as the tools print them, is below the table.
package placement

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/spf13/cobra"
)

// options holds the command's flags.
type options struct {
	viem, scotch string
	graphs       []string
	ranks        int
	efforts      []int
	hierarchies  []string
	timeout      time.Duration
}

// Command returns the command "bench placement".
func Command() *cobra.Command {
	var o options
	c := measure.Command("placement", "Compare orders of ranks with those of VieM and Scotch", o.check, o.run)
	c.Flags().StringVar(&o.viem, "viem", "viem", "`program` of VieM 1.0; left out if it is not there")
	c.Flags().StringVar(&o.scotch, "scotch", "scotch_gmap", "`program` gmap of Scotch; left out if it is not there")
	c.Flags().StringSliceVar(&o.graphs, "graph", nil, "`files` in METIS format, or patterns of such, in addition to the synthetic graphs")
	c.Flags().IntVar(&o.ranks, "ranks", 32768, "`ranks` of the largest synthetic graph; 0 for none")
	c.Flags().IntSliceVar(&o.efforts, "effort", []int{1, 2, 3}, "`efforts` to run, from 1 to 3, with VieM's preset of each")
	c.Flags().StringSliceVar(&o.hierarchies, "hierarchy", []string{"16:4:2/1:10:100"}, "`sizes/distances` from the innermost level, for graphs of that many ranks, in addition to three for each graph")
	c.Flags().DurationVar(&o.timeout, "timeout", 10*time.Minute, "`time` after which VieM is stopped, and has no result")
	return c
}

func (o *options) check() error {
	for _, e := range o.efforts {
		if e < 1 || e > len(presets) {
			return fmt.Errorf("--effort is 1 to %d", len(presets))
		}
	}
	if len(o.efforts) == 0 {
		return errors.New("--effort names none")
	}
	for _, h := range o.hierarchies {
		if _, err := parseHierarchy(h); err != nil {
			return fmt.Errorf("--hierarchy %s: %w", h, err)
		}
	}
	return nil
}

// hierarchiesFor returns the hierarchies for a number of ranks.
func (o *options) hierarchiesFor(ranks int) []hierarchy {
	var found []hierarchy
	for _, text := range o.hierarchies {
		if h, err := parseHierarchy(text); err == nil && h.slots() == ranks {
			found = append(found, h)
		}
	}
	return append(found, hierarchies(ranks)...)
}

// load returns the graphs to place.
func (o *options) load() ([]graph, error) {
	var graphs []graph
	for _, pattern := range o.graphs {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			g, err := readMETIS(path)
			if err != nil {
				return nil, err
			}
			graphs = append(graphs, g)
		}
	}
	return append(graphs, synthetic(o.ranks)...), nil
}

// run runs all tools on all graphs, and writes tables to out.
func (o *options) run(ctx context.Context, dir string, out, log io.Writer) error {
	for _, tool := range []*string{&o.viem, &o.scotch} {
		if path, err := exec.LookPath(*tool); err != nil {
			fmt.Fprintf(log, "%s is left out: %v\n", *tool, err)
			*tool = ""
		} else if *tool, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	graphs, err := o.load()
	if err != nil {
		return err
	}
	b := &bench{ctx: ctx, options: *o, dir: dir}
	lines := [][]string{header(o.efforts)}
	var all means
	for i := range graphs {
		if err := b.writeFiles(&graphs[i]); err != nil {
			return err
		}
		for _, h := range o.hierarchiesFor(graphs[i].traffic.Ranks) {
			fmt.Fprintf(log, "%s, %v\n", graphs[i].name, &h)
			c, err := b.compare(&graphs[i], &h)
			if err != nil {
				return fmt.Errorf("%s, %v: %w", graphs[i].name, &h, err)
			}
			line := c.line(&all)
			fmt.Fprintln(log, strings.Join(line, " | "))
			lines = append(lines, line)
		}
	}
	if err := measure.WriteTable(out, lines, 3); err != nil {
		return err
	}
	all.write(out)
	return nil
}

// A comparison is the results of all tools on one graph and hierarchy.
type comparison struct {
	graph, hierarchy string
	ours, viem       []cell // by effort
	scotch           cell
}

// A cell is one result; its cost is 0 if the tool was left out or stopped.
type cell struct {
	cost            uint64
	time, processor time.Duration
}

func (b *bench) compare(g *graph, h *hierarchy) (*comparison, error) {
	t, err := h.topology()
	if err != nil {
		return nil, err
	}
	rate := func(r result, err error) (cell, error) {
		if err == nil && len(r.order) != g.traffic.Ranks {
			err = fmt.Errorf("an order of %d ranks for %d", len(r.order), g.traffic.Ranks)
		}
		if err == nil {
			err = r.order.Check(t)
		}
		if err != nil {
			return cell{}, err
		}
		return cell{placement.Evaluate(t, g.traffic, r.order).Objective, r.time, r.processor}, nil
	}
	c := &comparison{graph: g.name, hierarchy: h.String()}
	for _, effort := range b.options.efforts {
		one, err := rate(ours(t, g, effort))
		if err != nil {
			return nil, err
		}
		c.ours = append(c.ours, one)
		var other cell
		if b.options.viem != "" {
			other, err = rate(b.viem(g, h, presets[effort-1]))
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("viem: %w", err)
			}
		}
		c.viem = append(c.viem, other)
	}
	if b.options.scotch != "" {
		if c.scotch, err = rate(b.scotch(g, h)); err != nil {
			return nil, fmt.Errorf("scotch: %w", err)
		}
	}
	return c, nil
}

// means collects ratios for geometric means.
type means struct {
	viem, scotch, time, processor mean
}

type mean struct {
	logs, largest float64
	n             int
}

func (m *mean) add(ratio float64) {
	m.logs += math.Log(ratio)
	m.largest = max(m.largest, ratio)
	m.n++
}

func (m *mean) String() string {
	if m.n == 0 {
		return "not measured"
	}
	return fmt.Sprintf("geometric mean %.3f, largest %.3f, of %d", math.Exp(m.logs/float64(m.n)), m.largest, m.n)
}

func (m *means) write(out io.Writer) {
	fmt.Fprintf(out, "\ncost / VieM's best: %v\ncost / Scotch's: %v\ntime / VieM's, same effort: %v\nprocessor time / VieM's, same effort: %v\n",
		&m.viem, &m.scotch, &m.time, &m.processor)
}
