package placement

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/placement"
)

// A graph is what the tools place: vertices are ranks, and weights are what ranks exchange.
type graph struct {
	name    string
	traffic *placement.RankTraffic
}

// pair is two ranks, the lower first.
type pair [2]int

func newGraph(name string, ranks int, edges map[pair]uint64) graph {
	type half struct {
		peer   int
		weight uint64
	}
	rows := make([][]half, ranks)
	for _, p := range slices.SortedFunc(maps.Keys(edges), func(a, b pair) int { return slices.Compare(a[:], b[:]) }) {
		rows[p[0]] = append(rows[p[0]], half{p[1], edges[p]})
		rows[p[1]] = append(rows[p[1]], half{p[0], edges[p]})
	}
	t := &placement.RankTraffic{Ranks: ranks, Compressed: matrix.NewCompressed[uint64](ranks, 2*len(edges))}
	for _, row := range rows {
		slices.SortFunc(row, func(a, b half) int { return cmp.Compare(a.peer, b.peer) })
		for _, h := range row {
			t.Append(int32(h.peer), h.weight)
		}
		t.EndRow()
	}
	return graph{name, t}
}

// synthetic returns the graphs made here that have no more than most ranks.
func synthetic(most int) []graph {
	var graphs []graph
	for _, side := range []int{8, 16, 32} {
		if side*side*side <= most {
			graphs = append(graphs, stencil(side, 6), stencil(side, 26))
		}
	}
	if most >= 4096 {
		graphs = append(graphs, geometric(4096, 10), powerLaw(4096, 4))
	}
	return graphs
}

// stencil returns a cube of ranks that exchange faces of 64, and, with 26 neighbours,
// edges of 8 and corners of 1. It is not periodic.
func stencil(side, neighbours int) graph {
	edges := map[pair]uint64{}
	id := func(x, y, z int) int { return (x*side+y)*side + z }
	inside := func(c int) bool { return c >= 0 && c < side }
	for at := range side * side * side {
		x, y, z := at/side/side, at/side%side, at%side
		for d := range 27 {
			dx, dy, dz := d/9-1, d/3%3-1, d%3-1
			apart := dx*dx + dy*dy + dz*dz
			if !inside(x+dx) || !inside(y+dy) || !inside(z+dz) || apart > 1 && neighbours == 6 {
				continue
			}
			if to := id(x+dx, y+dy, z+dz); to > at {
				edges[pair{at, to}] = []uint64{1: 64, 2: 8, 3: 1}[apart]
			}
		}
	}
	return newGraph(fmt.Sprintf("stencil %d, %d neighbours", side*side*side, neighbours), side*side*side, edges)
}

// geometric returns a graph of random points in the unit square. Two points have an edge, with a
// weight of 1 to 9, if they are near each other. A point has as many edges as degree says, on average.
func geometric(ranks, degree int) graph {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, ranks), make([]float64, ranks)
	for i := range x {
		x[i], y[i] = r.Float64(), r.Float64()
	}
	radius := float64(degree) / (math.Pi * float64(ranks)) // squared
	edges := map[pair]uint64{}
	for a := range x {
		for b := a + 1; b < ranks; b++ {
			if dx, dy := x[a]-x[b], y[a]-y[b]; dx*dx+dy*dy < radius {
				edges[pair{a, b}] = 1 + r.Uint64N(9)
			}
		}
	}
	return newGraph(fmt.Sprintf("random geometric %d", ranks), ranks, edges)
}

// powerLaw returns a graph in which each new rank is joined to some earlier ones, with a
// probability in proportion to their degree (Barabási and Albert, 1999).
func powerLaw(ranks, joined int) graph {
	r := rand.New(rand.NewPCG(3, 4))
	var ends []int // each rank once per edge
	for i := range joined {
		ends = append(ends, i)
	}
	edges := map[pair]uint64{}
	for a := joined; a < ranks; a++ {
		for n := 0; n < joined; {
			b := ends[r.IntN(len(ends))]
			if _, known := edges[pair{b, a}]; known || b == a {
				continue
			}
			edges[pair{b, a}] = 1 + r.Uint64N(9)
			ends = append(ends, a, b)
			n++
		}
	}
	return newGraph(fmt.Sprintf("power law %d", ranks), ranks, edges)
}

// readMETIS reads a graph with weighted edges in the format of METIS, which VieM reads.
func readMETIS(path string) (graph, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return graph{}, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".graph")
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "%") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return graph{}, fmt.Errorf("%s: no header", path)
	}
	header := strings.Fields(lines[0])
	ranks, err := strconv.Atoi(header[0])
	if err != nil || len(header) < 3 || header[2] != "1" && header[2] != "11" || len(lines) <= ranks {
		return graph{}, fmt.Errorf("%s: not a graph with weights of edges", path)
	}
	// the weights that a line may begin with are those of vertices, and do not count
	first := len(header[2]) - 1
	edges := map[pair]uint64{}
	for a, line := range lines[1 : ranks+1] {
		fields := strings.Fields(line)
		for i := first; i+1 < len(fields); i += 2 {
			b, err1 := strconv.Atoi(fields[i])
			weight, err2 := strconv.ParseUint(fields[i+1], 10, 63)
			if err := errors.Join(err1, err2); err != nil || b < 1 || b > ranks {
				return graph{}, fmt.Errorf("%s:%d: vertex %q: %w", path, a+2, fields[i], err)
			}
			if a < b-1 {
				edges[pair{a, b - 1}] = weight
			}
		}
	}
	return newGraph(name, ranks, edges), nil
}

// writeMETIS writes what readMETIS reads.
func (g *graph) writeMETIS(w io.Writer) error {
	out := bufio.NewWriter(w)
	t := g.traffic
	fmt.Fprintf(out, "%d %d 1\n", t.Ranks, len(t.Column)/2)
	for r := range t.Ranks {
		for i := t.Start[r]; i < t.Start[r+1]; i++ {
			fmt.Fprintf(out, "%d %d ", t.Column[i]+1, t.Value[i])
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// writeScotch writes a graph in Scotch's format, with weights of edges.
func (g *graph) writeScotch(w io.Writer) error {
	out := bufio.NewWriter(w)
	t := g.traffic
	fmt.Fprintf(out, "0\n%d %d\n0 010\n", t.Ranks, len(t.Column))
	for r := range t.Ranks {
		fmt.Fprintf(out, "%d", t.Start[r+1]-t.Start[r])
		for i := t.Start[r]; i < t.Start[r+1]; i++ {
			fmt.Fprintf(out, " %d %d", t.Value[i], t.Column[i])
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}
