package aggregate

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// SizeCount is the messages of one size class.
type SizeCount struct {
	SizeClass uint8  `json:"size_class"`
	Least     uint64 `json:"least_bytes"`    // that a message of the class has
	Most      uint64 `json:"greatest_bytes"` // that it may have
	matrix.Volume
}

// CallSizes are the sizes of the messages that one MPI function sent, wrote or
// read; of a collective, those of its logical volume. Irregular collectives count
// by the mean size of a call's messages.
type CallSizes struct {
	Call  string      `json:"call"` // without MPI_
	Class string      `json:"class"`
	Sizes []SizeCount `json:"sizes"` // that there were, the smallest first
}

// sizeSums are the messages on the way to CallSizes: by call, and by size class.
type sizeSums map[string]*sizesOfCall

type sizesOfCall struct {
	class profile.Class
	sizes [profile.NumSizeClasses]matrix.Volume
}

func (s *sizeSums) add(p *profile.Profile) {
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Messages > 0 && r.Direction != profile.Recv && r.SizeClass < profile.NumSizeClasses {
			s.of(r.Call, r.Class).sizes[r.SizeClass].AddRow(r)
		}
	}
}

func (s *sizeSums) of(call string, class profile.Class) *sizesOfCall {
	if *s == nil {
		*s = sizeSums{}
	}
	if (*s)[call] == nil {
		(*s)[call] = &sizesOfCall{class: class}
	}
	return (*s)[call]
}

func (s *sizeSums) merge(o *sizeSums) {
	for call, theirs := range *o {
		ours := s.of(call, theirs.class)
		for k := range theirs.sizes {
			ours.sizes[k].Add(theirs.sizes[k])
		}
	}
}

// calls are those that sent most bytes first.
func (s *sizeSums) calls() []CallSizes {
	out := []CallSizes{}
	for call, of := range *s {
		c := CallSizes{Call: call, Class: of.class.String()}
		for k, v := range of.sizes {
			if v != (matrix.Volume{}) {
				least, most := sizesIn(k)
				c.Sizes = append(c.Sizes, SizeCount{uint8(k), least, most, v})
			}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b CallSizes) int {
		x, y := a.total(), b.total()
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Messages, x.Messages), cmp.Compare(a.Call, b.Call))
	})
	return out
}

func (c *CallSizes) total() (sum matrix.Volume) {
	for _, s := range c.Sizes {
		sum.Add(s.Volume)
	}
	return sum
}

// sizesIn are the sizes of a size class.
func sizesIn(class int) (least, most uint64) {
	if class == 0 {
		return 0, 0
	}
	return 1 << (class - 1), 1<<class - 1
}

// sizeBands are the columns of the table of message sizes: the first size class
// that is no longer in each.
var sizeBands = []struct {
	head  string
	below uint8
}{{"0 B", 1}, {"< 64 B", 7}, {"< 1 KiB", 11}, {"< 8 KiB", 14}, {"< 64 KiB", 17}, {"< 1 MiB", 21}, {"< 16 MiB", 25}, {">= 16 MiB", profile.NumSizeClasses}}

// sizesText writes how many messages of which sizes each call sent, in the bands
// that there are any of.
func (s *Summary) sizesText(w io.Writer, o TextOptions) {
	calls := s.MessageSizes
	if o.Sites > 0 {
		calls = calls[:min(len(calls), o.Sites)]
	}
	if len(calls) == 0 || o.Sites == 0 {
		return
	}
	counts := make([][]uint64, len(calls))
	used := make([]bool, len(sizeBands))
	for i := range calls {
		counts[i] = calls[i].bands()
		for k, n := range counts[i] {
			used[k] = used[k] || n > 0
		}
	}
	t := make(table, len(calls)+1)
	t[0] = []string{"messages by size"}
	for k, band := range sizeBands {
		if used[k] {
			t[0] = append(t[0], band.head)
		}
	}
	t[0] = append(t[0], "mean size", "largest")
	for i := range calls {
		t[i+1] = calls[i].line(o, counts[i], used)
	}
	t, _ = o.fit(t, 0, "mean size")
	fmt.Fprintln(w)
	t.write(w)
	if more := len(s.MessageSizes) - len(calls); more > 0 {
		fmt.Fprintf(w, "and %s (mpitrace report --top all)\n", CountOf(uint64(more), "more call"))
	}
}

// bands are the messages of the sizes of each column.
func (c *CallSizes) bands() []uint64 {
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

func (c *CallSizes) line(o TextOptions, counts []uint64, used []bool) []string {
	line := []string{o.clean(c.Call)}
	for k, n := range counts {
		switch {
		case used[k] && n == 0:
			line = append(line, o.none())
		case used[k]:
			line = append(line, count(n))
		}
	}
	sum := c.total()
	mean := uint64(0)
	if sum.Messages > 0 {
		mean = (sum.Bytes + sum.Messages/2) / sum.Messages
	}
	largest := c.Sizes[len(c.Sizes)-1]
	text := "0 B"
	if largest.Most > 0 {
		text = "< " + bytesText(largest.Most+1)
	}
	return append(line, bytesText(mean), text)
}
