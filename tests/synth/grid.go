package synth

import "slices"

// Grid holds the dimensions of a 3-D grid of ranks, in the order of
// MPI_Cart_create: the last coordinate varies fastest.
type Grid [3]int

// GridOf returns the grid of n ranks that is closest to a cube, with its
// dimensions in descending order, as MPI_Dims_create returns them.
func GridOf(n int) Grid {
	best := Grid{n, 1, 1}
	for a := 1; a*a*a <= n; a++ {
		if n%a != 0 {
			continue
		}
		for b := a; a*b*b <= n; b++ {
			if n/a%b == 0 && n/a/b-a < best[0]-best[2] {
				best = Grid{n / a / b, b, a}
			}
		}
	}
	return best
}

// Ranks returns the number of ranks in the grid.
func (g Grid) Ranks() int { return g[0] * g[1] * g[2] }

func (g Grid) at(rank int) [3]int {
	return [3]int{rank / (g[1] * g[2]), rank / g[2] % g[1], rank % g[2]}
}

// Stencil sends from each rank to its neighbours on a grid that is not
// periodic: 26 inside the grid, fewer at its borders.
type Stencil struct {
	Grid     Grid
	Messages uint64    // number of messages to each neighbour
	Bytes    [3]uint64 // bytes of one message across a face, an edge, a corner
}

// calls implements Graph.
func (Stencil) calls() (send, receive string) { return "Isend", "Irecv" }

// Out implements Graph. The neighbours are at most one step away in each
// dimension.
func (s Stencil) Out(rank int) []Link {
	at := s.Grid.at(rank)
	var links []Link
	for dx := -1; dx <= 1; dx++ {
		for dy := -1; dy <= 1; dy++ {
			for dz := -1; dz <= 1; dz++ {
				x, y, z := at[0]+dx, at[1]+dy, at[2]+dz
				kind := dx*dx + dy*dy + dz*dz - 1
				if kind < 0 || x < 0 || y < 0 || z < 0 || x >= s.Grid[0] || y >= s.Grid[1] || z >= s.Grid[2] {
					continue
				}
				links = append(links, Link{Peer: (x*s.Grid[1]+y)*s.Grid[2] + z, Bytes: s.Bytes[kind], Messages: s.Messages, Site: kind})
			}
		}
	}
	return links
}

// In implements Graph. A rank receives from the ranks that it sends to.
func (s Stencil) In(rank int) []Link { return s.Out(rank) }

// Between implements Graph. It uses the distance of the two ranks on the grid.
func (s Stencil) Between(from, to int) Volume {
	a, b := s.Grid.at(from), s.Grid.at(to)
	apart := 0
	for i := range a {
		d := max(a[i]-b[i], b[i]-a[i])
		if d > 1 {
			return Volume{}
		}
		apart += d
	}
	if apart == 0 {
		return Volume{}
	}
	return Volume{s.Bytes[apart-1], 1}.times(s.Messages)
}

// Total implements Graph. It counts the pairs that share a face, an edge, a
// corner.
func (s Stencil) Total() Volume {
	x, y, z := uint64(s.Grid[0]), uint64(s.Grid[1]), uint64(s.Grid[2])
	pairs := [3]uint64{
		2 * ((x-1)*y*z + x*(y-1)*z + x*y*(z-1)),
		4 * ((x-1)*(y-1)*z + (x-1)*y*(z-1) + x*(y-1)*(z-1)),
		8 * (x - 1) * (y - 1) * (z - 1),
	}
	var sum Volume
	for kind, n := range pairs {
		sum.add(Volume{s.Bytes[kind], 1}.times(s.Messages * n))
	}
	return sum
}

// peersOf returns the peers of links in ascending order.
func peersOf(links []Link) []int {
	out := make([]int, len(links))
	for i, l := range links {
		out[i] = l.Peer
	}
	slices.Sort(out)
	return out
}
