package oldarrow

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// physical is the stored form of a profile.Physical. Its flows follow each other. Each consists of
// its kind, rank, bytes and messages, followed by its histogram. The histogram is 0 if there is
// none. Otherwise it is the number of its columns + 1, the index of the first, and the columns from
// the first to the last one that is not 0.
type physical struct {
	Unknown string  `json:"unknown,omitempty"`
	Flows   *packed `json:"flows,omitempty"`
}

// unpackPhysical returns what a process sent, given its rank.
func unpackPhysical(p *physical, rank int) (*profile.Physical, error) {
	if p == nil {
		return nil, nil
	}
	out := &profile.Physical{Unknown: p.Unknown}
	if p.Flows == nil {
		return out, nil
	}
	flat, err := unpackVector(p.Flows.Bytes, p.Flows.N)
	if err != nil {
		return nil, err
	}
	for len(flat) > 0 {
		if len(flat) < 5 {
			return nil, fmt.Errorf("%w: a flow is cut off", errPacked)
		}
		f := profile.Flow{Kind: profile.Kind(flat[0]), From: rank, To: int(flat[1]), Bytes: flat[2], Messages: flat[3]}
		if flat[0] != uint64(profile.External) && flat[0] != uint64(profile.Internal) || flat[1] >= maxRanks {
			return nil, fmt.Errorf("%w: a flow of kind %d to rank %d", errPacked, flat[0], flat[1])
		}
		if f.Histogram, flat, err = cutHistogram(flat[4:]); err != nil {
			return nil, err
		}
		out.Flows = append(out.Flows, f)
	}
	return out, nil
}

// cutHistogram splits a histogram off flat.
func cutHistogram(flat []uint64) (h *profile.Histogram, rest []uint64, err error) {
	n := flat[0]
	if n == 0 {
		return nil, flat[1:], nil
	}
	h = new(profile.Histogram)
	if n > uint64(len(h))+1 || uint64(len(flat)) < 1+n || flat[1] > uint64(len(h))-(n-1) {
		return nil, nil, fmt.Errorf("%w: a histogram of %d columns", errPacked, n)
	}
	copy(h[flat[1]:], flat[2:1+n])
	return h, flat[1+n:], nil
}
