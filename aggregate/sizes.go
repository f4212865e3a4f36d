package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// SizeCount holds the messages of one size class.
type SizeCount struct {
	SizeClass uint8  `json:"size_class"`
	Least     uint64 `json:"least_bytes"`    // smallest size in the class
	Most      uint64 `json:"greatest_bytes"` // largest size in the class
	Calls     uint64 `json:"calls"`
	matrix.Volume
}

// CallSizes holds the sizes of the messages that one MPI function sent, wrote
// or read; for a collective, the sizes in its logical volume. Each call of an
// irregular collective counts with the mean size of its messages.
type CallSizes struct {
	Call  string      `json:"call"` // without MPI_
	Class string      `json:"class"`
	Sizes []SizeCount `json:"sizes"` // classes that have messages, smallest first
}

// sizeSums collects the messages of a job by call and size class.
type sizeSums struct {
	sumsBy[string, sizesOfCall, *sizesOfCall]
}

type sizesOfCall struct {
	class profile.Class
	sizes [profile.NumSizeClasses]sizeSum
}

func (s *sizesOfCall) merge(o *sizesOfCall) {
	for k := range o.sizes {
		s.sizes[k].calls += o.sizes[k].calls
		s.sizes[k].Add(o.sizes[k].Volume)
	}
}

// sizeSum holds the sums of one size class.
type sizeSum struct {
	calls uint64
	matrix.Volume
}

func (s *sizeSums) add(p *profile.Profile) {
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Messages > 0 && r.Direction != profile.Recv && r.SizeClass < profile.NumSizeClasses {
			of := s.of(r.Call)
			of.class = r.Class
			sum := &of.sizes[r.SizeClass]
			sum.calls += r.Calls
			sum.AddRow(r)
		}
	}
}

// calls returns the sizes by call, the call that sent the most bytes first.
func (s *sizeSums) calls() []CallSizes {
	out := []CallSizes{}
	for call, of := range s.known {
		c := CallSizes{Call: call, Class: of.class.String()}
		for k, v := range of.sizes {
			if v != (sizeSum{}) {
				least, most := sizesIn(k)
				c.Sizes = append(c.Sizes, SizeCount{uint8(k), least, most, v.calls, v.Volume})
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

// Total returns the sum over all sizes.
func (c *CallSizes) Total() (sum matrix.Volume) {
	for _, s := range c.Sizes {
		sum.Add(s.Volume)
	}
	return sum
}

// sizesIn returns the smallest and the largest size of a size class, in bytes.
func sizesIn(class int) (least, most uint64) {
	if class == 0 {
		return 0, 0
	}
	return 1 << (class - 1), 1<<class - 1
}
