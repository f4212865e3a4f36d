package aggregate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Span is the ranks from First to Last, both included.
type Span struct{ First, Last int }

// Spans is a set of ranks as disjoint spans in ascending order, which takes no
// room for the many ranks of a large job that something is true of.
type Spans []Span

// ParseSpans reads a set of numbers from 0: "0-3,8". An error calls one of them
// by its name, as "rank".
func ParseSpans(text, name string) (Spans, error) {
	var out Spans
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 31)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(to, 10, 31)
		}
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%q: a %s is below 2^31", part, name)
		}
		if err != nil || last < first {
			return nil, fmt.Errorf("%q is neither a number nor a range as in 0-3,8", part)
		}
		out = append(out, Span{int(first), int(last)})
	}
	slices.SortFunc(out, func(a, b Span) int { return cmp.Compare(a.First, b.First) })
	disjoint := out[:1]
	for _, s := range out[1:] {
		if end := &disjoint[len(disjoint)-1].Last; s.First <= *end+1 {
			*end = max(*end, s.Last)
			continue
		}
		disjoint = append(disjoint, s)
	}
	return disjoint, nil
}

// MarshalText gives what ParseSpans reads; nothing for no ranks.
func (s Spans) MarshalText() ([]byte, error) {
	b := []byte{}
	for i, span := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(span.First), 10)
		if span.Last > span.First {
			b = strconv.AppendInt(append(b, '-'), int64(span.Last), 10)
		}
	}
	return b, nil
}

// UnmarshalText is the inverse.
func (s *Spans) UnmarshalText(text []byte) (err error) {
	*s = nil
	if len(text) > 0 {
		*s, err = ParseSpans(string(text), "rank")
	}
	return err
}

// SpansOf takes ranks in any order.
func SpansOf(ranks []int) Spans {
	ranks = slices.Clone(ranks)
	slices.Sort(ranks)
	return spansOf(slices.Compact(ranks))
}

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
	after, found := slices.BinarySearchFunc(s, rank, func(span Span, r int) int { return cmp.Compare(span.First, r) })
	return found || after > 0 && rank <= s[after-1].Last
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
