package table

import (
	"fmt"
	"math/bits"

	"github.com/mpitrace/mpitrace/profile"
)

// Internal is the value of the columns class, direction and call in rows of
// messages that the MPI library sent on its own behalf. A process has one such
// row for each peer, after its other rows, with messages and bytes. Its number
// of calls is 0: it does not change sums of calls, or sums over another class
// or direction.
const Internal = "internal"

// internalRows returns these rows of a process. Their peers are world ranks.
func internalRows(p *profile.Profile) []profile.Row {
	if p.Physical == nil {
		return nil
	}
	var out []profile.Row
	for i := range p.Physical.Flows {
		f := &p.Physical.Flows[i]
		if f.Kind != profile.Internal {
			continue
		}
		mean := f.Bytes / max(f.Messages, 1)
		out = append(out, profile.Row{Thread: -1, Call: Internal, Comm: -1, Peer: int32(f.To), SizeClass: uint8(bits.Len64(mean)),
			Messages: f.Messages, Bytes: f.Bytes})
	}
	return out
}

// parseKey parses the columns class and direction of a row. For internal rows
// it returns placeholders, since readers skip these rows: the header has their
// contents.
func parseKey(class, direction string) (profile.Class, profile.Direction, error) {
	if class == Internal && direction == Internal {
		return profile.Other, profile.None, nil
	}
	c, ok := profile.ParseClass(class)
	d, ok2 := profile.ParseDirection(direction)
	if !ok || !ok2 {
		return 0, 0, fmt.Errorf("class %q or direction %q is not known", class, direction)
	}
	return c, d, nil
}

// physical is the stored form of a profile.Physical. Its flows follow each
// other. Each consists of its kind, rank, bytes and messages, followed by its
// histogram in the form of appendHistogram.
type physical struct {
	Unknown string  `json:"unknown,omitempty"`
	Flows   *packed `json:"flows,omitempty"`
}

func packPhysical(p *profile.Physical) *physical {
	if p == nil {
		return nil
	}
	var flat []uint64
	for i := range p.Flows {
		f := &p.Flows[i]
		flat = append(flat, uint64(f.Kind), uint64(f.To), f.Bytes, f.Messages)
		flat = appendHistogram(flat, f.Histogram)
	}
	if flat == nil {
		return &physical{Unknown: p.Unknown}
	}
	return &physical{p.Unknown, &packed{len(flat), packVector(flat)}}
}

// appendHistogram appends the columns of a histogram from the first to the last
// one that is not 0, after their number + 1 and the index of the first. A nil
// histogram is 0, so that it differs from an empty one.
func appendHistogram(to []uint64, h *profile.Histogram) []uint64 {
	if h == nil {
		return append(to, 0)
	}
	first, end := 0, len(h)
	for end > 0 && h[end-1] == 0 {
		end--
	}
	for first < end && h[first] == 0 {
		first++
	}
	return append(append(to, 1+uint64(end-first), uint64(first)), h[first:end]...)
}

// unpackPhysical is the inverse of packPhysical, for the process of the given
// rank.
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

// cutHistogram splits a histogram off flat. It is the inverse of
// appendHistogram.
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
