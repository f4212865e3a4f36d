package patterns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// text describes a component of a job of some ranks.
func (c *Component) text(ranks int) string {
	switch c.Kind {
	case Self:
		return "ranks to themselves"
	case AllToAll:
		if c.Size == ranks && c.Groups == 1 {
			return "every rank sends to every rank"
		}
		return c.allToAllText()
	case MasterWorker:
		return map[TreeDirection]string{
			FromRoot: fmt.Sprintf("rank %d to all others", *c.Root),
			ToRoot:   fmt.Sprintf("all others to rank %d", *c.Root),
			BothWays: fmt.Sprintf("master-worker: rank %d and all others", *c.Root),
		}[c.Direction]
	case Butterfly:
		return fmt.Sprintf("butterfly: ranks r and r xor %s", text.List(numbers(c.Stages)))
	case Transpose:
		return c.transposeText()
	case Tree:
		return map[TreeDirection]string{
			FromRoot: fmt.Sprintf("%s tree from rank %d", c.Shape, *c.Root),
			ToRoot:   fmt.Sprintf("%s tree to rank %d", c.Shape, *c.Root),
			BothWays: fmt.Sprintf("%s tree of rank %d, both ways", c.Shape, *c.Root),
		}[c.Direction]
	case Random:
		return fmt.Sprintf("random, %s peers each", text.Number(c.Peers))
	}
	return c.stencilText()
}

func (c *Component) allToAllText() string {
	words := fmt.Sprintf("all-to-all of %s", text.CountOf(c.Size, "rank"))
	if c.Groups > 1 {
		words = fmt.Sprintf("all-to-all in %s of %d", text.CountOf(c.Groups, "group"), c.Size)
	}
	if c.Stride > 1 {
		words += fmt.Sprintf(", ranks %d apart", c.Stride)
	}
	return words
}

func (c *Component) transposeText() string {
	words := "transpose " + product(c.Grid)
	if c.Groups > 1 {
		words += fmt.Sprintf(" in %s", text.CountOf(c.Groups, "group"))
	}
	if c.Stride > 1 {
		words += fmt.Sprintf(", blocks of %s", text.CountOf(c.Stride, "rank"))
	}
	return words
}

// sides names the neighbours in the numbers of dimensions, by those of the grid.
var sides = [][]string{2: {1: "sides", "corners"}, 3: {1: "faces", "edges", "corners"}}

// cubeText describes a stencil on a grid of 2 ranks in each dimension, in which no rank has as many
// neighbours as there are offsets. It returns "" for other components.
func (c *Component) cubeText() string {
	n := len(c.Grid)
	if c.Kind != Stencil || n < 2 || n >= len(sides) || slices.Min(c.Grid) != 2 || slices.Max(c.Grid) != 2 {
		return ""
	}
	var words []string
	for d := 1; d <= n; d++ {
		if slices.ContainsFunc(c.Offsets, func(o []int) bool { return linked(o) == d }) {
			words = append(words, sides[n][d])
		}
	}
	return product(c.Grid) + " stencil: " + strings.Join(words, ", ")
}

// stencilText describes a stencil, a ring or a sweep.
func (c *Component) stencilText() string {
	if words := c.cubeText(); words != "" {
		return words
	}
	var dims []string
	for i, w := range c.Width {
		if w > 0 {
			dims = append(dims, strconv.Itoa(i+1))
		}
	}
	words := fmt.Sprintf("%d-D %s %s", len(dims), c.Kind, product(c.Grid))
	if c.Kind == Ring {
		words = "ring of " + product(c.Grid)
	}
	if len(dims) < len(c.Grid) {
		words += " in dimension " + text.List(dims)
	}
	if c.Kind == Stencil {
		words += ", " + text.CountOf(len(c.Offsets), "neighbour")
	}
	if widths := slices.Compact(slices.Sorted(slices.Values(c.Width))); widths[len(widths)-1] > 1 {
		what := "width"
		if c.Kind == Ring {
			what = "step"
		}
		words += fmt.Sprintf(", %s %s", what, product(c.Width))
	}
	if c.Kind == Sweep || c.Kind == Ring {
		return words + c.wayText()
	}
	return words + c.periodicText()
}

func (c *Component) periodicText() string {
	var dims []string
	linked := 0
	for i, p := range c.Periodic {
		if p {
			dims = append(dims, strconv.Itoa(i+1))
		}
		if c.Width[i] > 0 {
			linked++
		}
	}
	switch {
	case len(dims) == 0:
		return ", not periodic"
	case len(dims) == linked:
		return ", periodic"
	}
	return ", periodic in dimension " + text.List(dims)
}

// wayText says in which direction a sweep or a ring goes.
func (c *Component) wayText() string {
	var up, down, both int
	for i, w := range c.Width {
		plus := slices.ContainsFunc(c.Offsets, func(o []int) bool { return o[i] > 0 })
		minus := slices.ContainsFunc(c.Offsets, func(o []int) bool { return o[i] < 0 })
		switch {
		case w == 0:
		case plus && minus:
			both++
		case plus:
			up++
		default:
			down++
		}
	}
	switch {
	case both == 0 && down == 0:
		return ", to higher ranks"
	case both == 0 && up == 0:
		return ", to lower ranks"
	}
	return ", in one direction of each dimension"
}

// product returns numbers with × between them.
func product(n []int) string { return strings.Join(numbers(n), " × ") }

func numbers(n []int) []string {
	out := make([]string, len(n))
	for i, v := range n {
		out[i] = strconv.Itoa(v)
	}
	return out
}
