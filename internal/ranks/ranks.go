// Package ranks reads lists of ranks as people write them: 0-15,64.
package ranks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// List is ranges of ranks, in order. An empty one has all.
type List []Range

// Range is from the first rank to the last, both in it.
type Range struct{ First, Last int }

// Parse reads ranks and ranges, with commas between them: 0-15,64. An empty text
// is an empty list.
func Parse(text string) (List, error) {
	if text == "" {
		return nil, nil
	}
	var l List
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		r := Range{number(first), number(last)}
		if r.First < 0 || r.Last < r.First {
			return nil, fmt.Errorf("%q: ranks are written as 0-15,64", text)
		}
		l = append(l, r)
	}
	slices.SortFunc(l, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	return l, nil
}

// number is -1 for what is none.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// Has tells whether a rank is in the list.
func (l List) Has(rank int) bool {
	return len(l) == 0 || slices.ContainsFunc(l, func(r Range) bool { return r.First <= rank && rank <= r.Last })
}
