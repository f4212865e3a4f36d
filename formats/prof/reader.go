package prof

import (
	"errors"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Read reads a .prof file of one process, or those of several processes one
// after the other. Sections may be missing, histograms may have any length or
// be missing, and lines may end with CR LF. Lines with the same kind and pair
// are added up.
//
// Invalid lines are skipped: Read then returns the traffic of the other lines
// and a *Problems. After any other error the traffic is nil. name is used in
// error messages only.
func Read(r io.Reader, name string) (*profile.Traffic, error) {
	var c collector
	err := Scan(r, name, Handler{Flow: c.flow, Comm: c.comm, Histograms: true})
	var problems *Problems
	if err != nil && !errors.As(err, &problems) {
		return nil, err
	}
	c.traffic.Flows = addUp(c.traffic.Flows)
	return &c.traffic, err
}

// collector keeps what Scan reads.
type collector struct {
	traffic profile.Traffic
	groups  map[uint64][]int // lists of members, by their hash
}

func (c *collector) flow(f *profile.Flow) {
	kept := *f
	if f.Histogram != nil {
		kept.Histogram = new(*f.Histogram)
	}
	c.traffic.Flows = append(c.traffic.Flows, kept)
}

// comm adds a communicator. Files of many processes repeat the same lists of
// members; each list is kept once.
func (c *collector) comm(b *profile.CommTraffic) {
	kept := *b
	key := hash(b.Members)
	group, ok := c.groups[key]
	if !ok || !slices.Equal(group, b.Members) {
		group = slices.Clone(b.Members)
		if c.groups == nil {
			c.groups = map[uint64][]int{}
		}
		c.groups[key] = group
	}
	kept.Members = group
	c.traffic.Comms = append(c.traffic.Comms, kept)
}

// hash returns the FNV-1a hash of a list of ranks. If two different lists have
// the same hash, both are kept.
func hash(ranks []int) uint64 {
	sum := uint64(14695981039346656037)
	for _, r := range ranks {
		sum = (sum ^ uint64(r)) * 1099511628211
	}
	return sum
}

// addUp sorts the flows and merges those with the same kind and pair.
func addUp(flows []profile.Flow) []profile.Flow {
	profile.SortFlows(flows)
	out := flows[:0]
	for _, f := range flows {
		if n := len(out); n > 0 && samePair(out[n-1], f) {
			merge(&out[n-1], f)
			continue
		}
		out = append(out, f)
	}
	return slices.Clip(out)
}

func samePair(a, b profile.Flow) bool {
	return a.Kind == b.Kind && a.From == b.From && a.To == b.To
}

func merge(sum *profile.Flow, f profile.Flow) {
	sum.Bytes += f.Bytes
	sum.Messages += f.Messages
	switch {
	case sum.Histogram == nil:
		sum.Histogram = f.Histogram
	case f.Histogram != nil:
		for i, n := range f.Histogram {
			sum.Histogram[i] += n
		}
	}
}
