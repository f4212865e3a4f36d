package aggregate

import (
	"fmt"
	"slices"
	"strings"
)

// Span is the ranks from First to Last, both included.
type Span struct{ First, Last int }

// Spans is a set of ranks as disjoint spans in ascending order, which takes no
// room for the many ranks of a large job that something is true of.
type Spans []Span

// spansOf takes ranks in ascending order.
func spansOf(ranks []int) Spans {
	var out Spans
	for _, r := range ranks {
		if n := len(out); n > 0 && r <= out[n-1].Last+1 {
			out[n-1].Last = r
			continue
		}
		out = append(out, Span{r, r})
	}
	return out
}

// gaps is what ranks, ascending, leave out of 0 to n-1.
func gaps(ranks []int, n int) Spans {
	var out Spans
	next := 0
	for _, r := range append(ranks[:len(ranks):len(ranks)], n) {
		if r > next {
			out = append(out, Span{next, r - 1})
		}
		next = r + 1
	}
	return out
}

// Len is the number of ranks.
func (s Spans) Len() int {
	n := 0
	for _, span := range s {
		n += span.Last - span.First + 1
	}
	return n
}

// Has tells whether a rank is among them.
func (s Spans) Has(rank int) bool {
	return slices.ContainsFunc(s, func(span Span) bool { return span.First <= rank && rank <= span.Last })
}

// String reads "rank 3" or "ranks 0-2, 5", the first dozen of spans.
func (s Spans) String() string {
	const most = 12
	word := "ranks "
	if s.Len() == 1 {
		word = "rank "
	}
	parts := make([]string, 0, most+1)
	for i, span := range s {
		if i == most {
			parts = append(parts, fmt.Sprintf("... (%d in all)", s.Len()))
			break
		}
		if span.First == span.Last {
			parts = append(parts, fmt.Sprint(span.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", span.First, span.Last))
		}
	}
	return word + strings.Join(parts, ", ")
}
