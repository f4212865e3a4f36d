package aggregate

import (
	"cmp"
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
		x, y := a.Total(), b.Total()
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Messages, x.Messages), cmp.Compare(a.Call, b.Call))
	})
	return out
}

// Total adds up the messages of all sizes.
func (c *CallSizes) Total() (sum matrix.Volume) {
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
