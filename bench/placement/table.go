package placement

import (
	"fmt"
	"strconv"
	"time"
)

func header(efforts []int) []string {
	line := []string{"graph", "sizes, distances"}
	for _, e := range efforts {
		line = append(line, fmt.Sprintf("cost, effort %d", e))
	}
	line = append(line, "VieM's best", "Scotch", "/ VieM", "/ Scotch")
	for _, e := range efforts {
		line = append(line, fmt.Sprintf("s, effort %d", e), "s, VieM "+presets[e-1])
	}
	return append(line, "s, Scotch")
}

// line returns a line of the table, and adds its ratios to all. The best order of ours
// is compared with the best of VieM.
func (c *comparison) line(all *means) []string {
	line := []string{c.graph, c.hierarchy}
	best, viem := c.ours[0].cost, uint64(0)
	for i, o := range c.ours {
		line = append(line, strconv.FormatUint(o.cost, 10))
		best = min(best, o.cost)
		if v := c.viem[i].cost; v > 0 && (viem == 0 || v < viem) {
			viem = v
		}
	}
	line = append(line, number(viem), number(c.scotch.cost), ratio(best, viem, &all.viem), ratio(best, c.scotch.cost, &all.scotch))
	for i, o := range c.ours {
		v := c.viem[i]
		line = append(line, seconds(o.processor), seconds(v.processor))
		if v.time > 0 && v.processor > 0 {
			all.time.add(float64(o.time) / float64(v.time))
			all.processor.add(float64(o.processor) / float64(v.processor))
		}
	}
	return append(line, seconds(c.scotch.processor))
}

func number(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

func seconds(t time.Duration) string {
	if t == 0 {
		return "-"
	}
	return strconv.FormatFloat(t.Seconds(), 'g', 3, 64)
}

// ratio adds ours / other to m.
func ratio(ours, other uint64, m *mean) string {
	if other == 0 {
		return "-"
	}
	r := float64(ours) / float64(other)
	m.add(r)
	return strconv.FormatFloat(r, 'f', 3, 64)
}
