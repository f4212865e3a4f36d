package profile

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// RankSet is a set of ranks: disjoint ranges in ascending order, none of them
// adjacent to the next. Its size depends on the number of ranges, not of ranks,
// so a set of nearly all ranks of a large job is small. Nil is the empty set.
type RankSet []RankRange

// RankRange is the ranks from First to Last, both included.
type RankRange struct{ First, Last int }

// ParseRankSet reads ranks and ranges of ranks in any order, separated by commas:
// "0-15,64". Ranks are below 2^31. The empty text is an error.
func ParseRankSet(text string) (RankSet, error) {
	var ranges RankSet
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 31)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(to, 10, 31)
		}
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%q: numbers must be below 2^31", part)
		}
		if err != nil || last < first {
			return nil, fmt.Errorf("%q is neither a number nor a range such as 0-15; separate them by commas: 0-15,64", part)
		}
		ranges = append(ranges, RankRange{int(first), int(last)})
	}
	slices.SortFunc(ranges, RankRange.compare)
	return ranges.joined(), nil
}

func (r RankRange) compare(o RankRange) int {
	return cmp.Or(cmp.Compare(r.First, o.First), cmp.Compare(r.Last, o.Last))
}

// joined returns the set of ranges that are in order but may overlap. It reuses
// the memory of s.
func (s RankSet) joined() RankSet {
	out := s[:0]
	for _, r := range s {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// RankSetOf returns the set of some ranks, which may come in any order and more
// than once.
func RankSetOf(ranks ...int) RankSet {
	if !slices.IsSorted(ranks) {
		ranks = slices.Sorted(slices.Values(ranks))
	}
	var s RankSet
	for _, r := range ranks {
		if n := len(s); n > 0 && r <= s[n-1].Last+1 {
			s[n-1].Last = r
			continue
		}
		s = append(s, RankRange{r, r})
	}
	return s
}

// Complement returns the ranks from 0 to n-1 that are not in s. All ranks of s
// must be below n.
func (s RankSet) Complement(n int) RankSet {
	var out RankSet
	next := 0
	for _, r := range s {
		if r.First > next {
			out = append(out, RankRange{next, r.First - 1})
		}
		next = r.Last + 1
	}
	if next < n {
		out = append(out, RankRange{next, n - 1})
	}
	return out
}

// Len returns the number of ranks.
func (s RankSet) Len() int {
	n := 0
	for _, r := range s {
		n += r.Last - r.First + 1
	}
	return n
}

// All iterates over the ranks in ascending order.
func (s RankSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, r := range s {
			for rank := r.First; rank <= r.Last; rank++ {
				if !yield(rank) {
					return
				}
			}
		}
	}
}

// Contains reports whether a rank is in the set.
func (s RankSet) Contains(rank int) bool {
	after, found := slices.BinarySearchFunc(s, rank, func(r RankRange, rank int) int { return cmp.Compare(r.First, rank) })
	return found || after > 0 && rank <= s[after-1].Last
}

// Compare orders sets by the lowest rank in which they differ.
func (s RankSet) Compare(o RankSet) int { return slices.CompareFunc(s, o, RankRange.compare) }

// MarshalText returns the form that ParseRankSet reads. For the empty set it
// returns an empty text.
func (s RankSet) MarshalText() ([]byte, error) {
	b := []byte{}
	for i, r := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(r.First), 10)
		if r.Last > r.First {
			b = strconv.AppendInt(append(b, '-'), int64(r.Last), 10)
		}
	}
	return b, nil
}

// UnmarshalText parses the form that MarshalText returns.
func (s *RankSet) UnmarshalText(text []byte) (err error) {
	*s = nil
	if len(text) > 0 {
		*s, err = ParseRankSet(string(text))
	}
	return err
}

// String returns a text for messages: "rank 3" or "ranks 0-2, 5". It lists at
// most 12 ranges, followed by the number of ranks if there are more.
func (s RankSet) String() string {
	const most = 12
	word := "ranks "
	if s.Len() == 1 {
		word = "rank "
	}
	parts := make([]string, 0, most+1)
	for i, r := range s {
		if i == most {
			parts = append(parts, fmt.Sprintf("... (%d in all)", s.Len()))
			break
		}
		if r.First == r.Last {
			parts = append(parts, strconv.Itoa(r.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
	}
	return word + strings.Join(parts, ", ")
}

// NoRecording says which ranks of a job of size ranks have no recording.
func NoRecording(missing RankSet, size int) string {
	return fmt.Sprintf("no recording of %s, of %d in all", missing, size)
}
