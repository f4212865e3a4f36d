package prof

import (
	"errors"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Read reads a .prof file, one process's or those of several one after the
// other. Sections may be missing, histograms may have any length or be left
// out, and lines may end as on Windows. Lines that say the same pair twice are
// added up.
//
// Lines that make no sense are skipped: Read then returns the traffic of all
// others and a *Problems. After any other error there is no traffic. The name
// is only for the messages.
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

// collector keeps what is read.
type collector struct {
	traffic profile.Traffic
	groups  map[uint64][]int // members of blocks, by their hash
}

func (c *collector) flow(f *profile.Flow) {
	kept := *f
	if f.Histogram != nil {
		h := *f.Histogram
		kept.Histogram = &h
	}
	c.traffic.Flows = append(c.traffic.Flows, kept)
}

// comm keeps a block. The files of many processes name the same members again
// and again; they are kept once.
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

// hash is FNV-1a by rank. Equal hashes of different lists cost memory only.
func hash(ranks []int) uint64 {
	sum := uint64(14695981039346656037)
	for _, r := range ranks {
		sum = (sum ^ uint64(r)) * 1099511628211
	}
	return sum
}

// addUp sorts flows and makes one of those with the same kind and pair.
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
