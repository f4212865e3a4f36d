package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/placement"
)

// A hierarchy is a topology as VieM and Scotch describe it, innermost level first.
type hierarchy struct {
	sizes     []int
	distances []int64
}

func (h *hierarchy) String() string { return join(h.sizes) + " " + join(h.distances) }

// parseHierarchy reads sizes and distances as 16:4:2/1:10:100.
func parseHierarchy(text string) (h hierarchy, err error) {
	sizes, distances, _ := strings.Cut(text, "/")
	for s := range strings.SplitSeq(sizes, ":") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return h, err
		}
		h.sizes = append(h.sizes, n)
	}
	for d := range strings.SplitSeq(distances, ":") {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return h, err
		}
		h.distances = append(h.distances, n)
	}
	_, err = h.topology()
	return h, err
}

func (h *hierarchy) slots() int {
	n := 1
	for _, s := range h.sizes {
		n *= s
	}
	return n
}

func (h *hierarchy) topology() (*placement.Topology, error) {
	names := []string{"l3", "socket", "node", "switch", "system"}
	if len(h.sizes) > len(names) {
		return nil, fmt.Errorf("%d levels, more than %d", len(h.sizes), len(names))
	}
	if len(h.sizes) != len(h.distances) || slices.Min(h.sizes) < 1 || !slices.IsSorted(h.distances) {
		return nil, fmt.Errorf("sizes %v with distances %v", h.sizes, h.distances)
	}
	t, per := &placement.Topology{Slots: make([]placement.Slot, h.slots())}, 1
	for i, n := range h.sizes {
		per *= n
		l := placement.Level{Name: names[len(names)-len(h.sizes)+i], Distance: h.distances[i], Domain: make([]int32, len(t.Slots))}
		for s := range l.Domain {
			l.Domain[s] = int32(s / per)
		}
		t.Levels = append(t.Levels, l)
	}
	return t, nil
}

func join[T int | int64](values []T) string {
	var text []string
	for _, v := range values {
		text = append(text, strconv.FormatInt(int64(v), 10))
	}
	return strings.Join(text, ":")
}

// hierarchies returns three for a number of ranks: nodes of two sockets, few large nodes,
// and four levels of distances that are near each other. Sizes are factors of the number
// of ranks, near those wished.
func hierarchies(ranks int) []hierarchy {
	return []hierarchy{
		wish(ranks, []int{8, 2}, []int64{1, 10, 100}),
		wish(ranks, []int{4, 16}, []int64{1, 10, 100}),
		wish(ranks, []int{3, 2, 6}, []int64{1, 2, 5, 25}),
	}
}

// wish returns a hierarchy of the sizes wished, as far as they divide what is left of
// the ranks; the outermost level has the rest.
func wish(ranks int, sizes []int, distances []int64) hierarchy {
	var h hierarchy
	left := ranks
	for i, s := range sizes {
		for left%s != 0 || left/s < 2 && s > 1 {
			s--
		}
		if s > 1 {
			h.sizes, h.distances = append(h.sizes, s), append(h.distances, distances[i])
			left /= s
		}
	}
	h.sizes, h.distances = append(h.sizes, left), append(h.distances, distances[len(distances)-1])
	return h
}
