package report

import (
	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// sizeBands holds the columns of the table of message sizes. A band ends before
// the size class `below`.
var sizeBands = []struct {
	head  string
	below uint8
}{{"0 B", 1}, {"< 64 B", 7}, {"< 1 KiB", 11}, {"< 8 KiB", 14}, {"< 64 KiB", 17}, {"< 1 MiB", 21}, {"< 16 MiB", 25}, {">= 16 MiB", profile.NumSizeClasses}}

// sizesText prints, for each MPI function, how many messages of each size it
// sent. Bands without messages are left out.
func (s *summaryText) sizesText() {
	calls, more := top(s.MessageSizes, s.Top)
	if len(calls) == 0 {
		return
	}
	counts := make([][]uint64, len(calls))
	used := make([]bool, len(sizeBands))
	for i := range calls {
		counts[i] = bands(&calls[i])
		for k, n := range counts[i] {
			used[k] = used[k] || n > 0
		}
	}
	heads := []string{"messages by size"}
	for k, band := range sizeBands {
		if used[k] {
			heads = append(heads, band.head)
		}
	}
	t := text.NewTable(append(heads, "mean size", "largest")...)
	for i := range calls {
		t.Add(s.sizesLine(&calls[i], counts[i], used)...)
	}
	s.fit(t, "mean size")
	s.table(t, more, "call", topAll)
}

// bands returns the number of messages in each band.
func bands(c *aggregate.CallSizes) []uint64 {
	out := make([]uint64, len(sizeBands))
	for _, s := range c.Sizes {
		k := 0
		for s.SizeClass >= sizeBands[k].below {
			k++
		}
		out[k] += s.Messages
	}
	return out
}

func (o *printer) sizesLine(c *aggregate.CallSizes, counts []uint64, used []bool) []string {
	line := []string{o.clean(c.Call)}
	for k, n := range counts {
		switch {
		case used[k] && n == 0:
			line = append(line, o.none())
		case used[k]:
			line = append(line, text.Count(n))
		}
	}
	sum := c.Total()
	mean := uint64(0)
	if sum.Messages > 0 {
		mean = (sum.Bytes + sum.Messages/2) / sum.Messages
	}
	largest := c.Sizes[len(c.Sizes)-1]
	words := "0 B"
	if largest.Most > 0 {
		words = "< " + text.Bytes(largest.Most+1)
	}
	return append(line, text.Bytes(mean), words)
}
