package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// PairDetail holds the messages of one pair that agree in everything but their number
// and bytes.
type PairDetail struct {
	matrix.Pair
	Call      string
	Site      string // label of the call site with its callers; empty if not known
	Slice     string
	SizeClass uint8
	matrix.Volume
}

// pairDetails collects the point-to-point and one-sided messages of a job by pair, call,
// call site, slice and size. It gives up beyond a number of pairs.
type pairDetails struct {
	most  int // pairs; 0 collects nothing
	pairs map[matrix.Pair]map[detailKey]matrix.Volume
}

type detailKey struct {
	call, site, slice string
	sizeClass         uint8
}

func (d *pairDetails) add(p *profile.Profile) {
	if d.most == 0 {
		return
	}
	sliceNames := map[uint32]string{}
	for _, s := range p.Slices {
		sliceNames[s.Index] = s.Name
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Messages == 0 || r.Class != profile.P2P && r.Class != profile.OneSided || r.Direction == profile.Recv {
			continue
		}
		key := detailKey{r.Call, siteText(p.Frames(r.Callsite)), sliceNames[r.Slice], r.SizeClass}
		p.RowFlows(r, func(f profile.Flow) { d.addFlow(f, key) })
	}
}

// siteText returns the labels of a call site and of its callers.
func siteText(frames []profile.Frame) string {
	if len(frames) == 0 {
		return ""
	}
	at := siteOf(frames)
	return at.String()
}

func (d *pairDetails) addFlow(f profile.Flow, key detailKey) {
	pair := matrix.FlowPair(f)
	if d.most == 0 || pair.From < 0 || pair.To < 0 {
		return
	}
	if d.pairs == nil {
		d.pairs = map[matrix.Pair]map[detailKey]matrix.Volume{}
	}
	if d.pairs[pair] == nil {
		d.pairs[pair] = map[detailKey]matrix.Volume{}
	}
	if len(d.pairs) > d.most {
		*d = pairDetails{}
		return
	}
	sum := d.pairs[pair][key]
	sum.Add(matrix.Volume{Bytes: f.Bytes, Messages: f.Messages})
	d.pairs[pair][key] = sum
}

// PairDetails returns what each pair of ranks sent, by pair, the most bytes first; nil
// if there are more pairs than Options.PairDetails.
func (j *Job) PairDetails() []PairDetail {
	if j.details.most == 0 {
		return nil
	}
	out := []PairDetail{}
	for pair, rows := range j.details.pairs {
		for k, v := range rows {
			out = append(out, PairDetail{pair, k.call, k.site, k.slice, k.sizeClass, v})
		}
	}
	slices.SortFunc(out, func(a, b PairDetail) int {
		return cmp.Or(a.Pair.Compare(b.Pair), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Call, b.Call),
			cmp.Compare(a.Site, b.Site), cmp.Compare(a.Slice, b.Slice), cmp.Compare(a.SizeClass, b.SizeClass))
	})
	return out
}
