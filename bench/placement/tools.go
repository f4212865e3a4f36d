package placement

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/mpitrace/mpitrace/internal/placement"
	"golang.org/x/sys/unix"
)

// A result is the order that a tool found, the time that it took without reading and writing files,
// and the processor time of all of its threads. The processor time of other programs includes their
// start and reading the graph.
type result struct {
	order     placement.Order
	time      time.Duration
	processor time.Duration
}

// ours runs placement.Best.
func ours(t *placement.Topology, g *graph, effort int) (result, error) {
	start, before := time.Now(), processorTime(unix.RUSAGE_SELF)
	o, _, err := placement.Best(t, g.traffic, placement.Options{Seed: 1, Effort: effort})
	return result{o, time.Since(start), processorTime(unix.RUSAGE_SELF) - before}, err
}

// processorTime returns the processor time so far of this process, or of the children
// that have ended.
func processorTime(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// presets are VieM's, by our effort from 1.
var presets = []string{"fast", "eco", "strong"}

var viemTime = regexp.MustCompile(`time spent for mapping ([0-9.e+-]+)`)

// largeRanks is the number of ranks from which on VieM computes distances when it needs them, and
// swaps only ranks that are joined by 2 edges. With its defaults it makes a table of 8 bytes ×
// ranks², and a list of all pairs that are joined by 10 edges. VieM 1.0 refuses the first option
// until its expression (hierarchy|hierarchyonline) in parse_parameters.h is turned around.
const largeRanks = 10_000

func (b *bench) viem(g *graph, h *hierarchy, preset string) (result, error) {
	line := []string{
		b.options.viem, b.path(g, ".graph"),
		"--hierarchy_parameter_string=" + join(h.sizes), "--distance_parameter_string=" + join(h.distances),
		"--preconfiguration_mapping=" + preset, "--output_filename=" + filepath.Join(b.dir, "permutation"),
	}
	if g.traffic.Ranks >= largeRanks {
		line = append(line, "--distance_construction_algorithm=hierarchyonline", "--communication_neighborhood_dist=2")
	}
	return b.tool(line, viemTime, "permutation", func(fields []string, i int) (int, string) { return i, fields[0] })
}

var scotchTime = regexp.MustCompile(`T\s+Mapping\s+([0-9.e+-]+)`)

func (b *bench) scotch(g *graph, h *hierarchy) (result, error) {
	target := "tleaf " + strconv.Itoa(len(h.sizes))
	for i := len(h.sizes) - 1; i >= 0; i-- {
		target += fmt.Sprintf(" %d %d", h.sizes[i], h.distances[i])
	}
	if err := os.WriteFile(filepath.Join(b.dir, "target"), []byte(target+"\n"), 0o666); err != nil {
		return result{}, err
	}
	line := []string{b.options.scotch, "-b0", "-vt", b.path(g, ".grf"), filepath.Join(b.dir, "target"), filepath.Join(b.dir, "mapping")}
	return b.tool(line, scotchTime, "mapping", func(fields []string, i int) (int, string) {
		if len(fields) != 2 {
			return -1, "" // the number of lines
		}
		r, err := strconv.Atoi(fields[0])
		if err != nil {
			return -1, ""
		}
		return r, fields[1]
	})
}

// tool runs a program, and reads the order that it writes: entry returns the rank and the
// slot of line i.
func (b *bench) tool(line []string, took *regexp.Regexp, file string, entry func(fields []string, i int) (int, string)) (result, error) {
	ctx, cancel := context.WithTimeout(b.ctx, b.options.timeout)
	defer cancel()
	before := processorTime(unix.RUSAGE_CHILDREN)
	out, err := measure.Output(ctx, b.dir, []string{"OMP_NUM_THREADS=2"}, line...)
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	if err != nil {
		return result{}, err
	}
	processor := processorTime(unix.RUSAGE_CHILDREN) - before
	match := took.FindSubmatch(out)
	if match == nil {
		return result{}, fmt.Errorf("%s does not say how long it took:\n%s", line[0], out)
	}
	seconds, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		return result{}, err
	}
	text, err := os.ReadFile(filepath.Join(b.dir, file))
	if err != nil {
		return result{}, err
	}
	slots := map[int]int32{}
	i := 0
	for l := range strings.Lines(string(text)) {
		if r, slot := entry(strings.Fields(l), i); r >= 0 {
			s, err := strconv.Atoi(slot)
			if err != nil {
				return result{}, fmt.Errorf("%s: %w", line[0], err)
			}
			slots[r] = int32(s)
		}
		i++
	}
	o := make(placement.Order, len(slots))
	for r := range o {
		o[r] = slots[r]
	}
	return result{o, time.Duration(seconds * float64(time.Second)), processor}, nil
}

// path returns the path of the file of a graph.
func (b *bench) path(g *graph, suffix string) string {
	return filepath.Join(b.dir, strings.NewReplacer(" ", "_", ",", "").Replace(g.name)+suffix)
}

// writeFiles writes a graph for the tools.
func (b *bench) writeFiles(g *graph) error {
	for suffix, write := range map[string]func(*os.File) error{
		".graph": func(f *os.File) error { return g.writeMETIS(f) },
		".grf":   func(f *os.File) error { return g.writeScotch(f) },
	} {
		f, err := os.Create(b.path(g, suffix))
		if err != nil {
			return err
		}
		if err := write(f); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

type bench struct {
	ctx     context.Context
	options options
	dir     string
}
