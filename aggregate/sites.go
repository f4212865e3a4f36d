package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// CallSite holds the sums of one MPI function called from one place in the
// source, over all ranks. Ranks load files at different addresses, and one line
// may be compiled to several calls (unrolled loops, copies of inlined
// functions). These are still one call site.
type CallSite struct {
	Place
	Callers []Place `json:"callers,omitempty"` // innermost first; empty if stacks were not recorded
	Call    string  `json:"call"`              // without MPI_
	Class   string  `json:"class"`
	Totals
	Sent     matrix.Volume `json:"sent"`     // sends and remote writes
	Received matrix.Volume `json:"received"` // receives and remote reads
	PerRank  Spread        `json:"time_per_rank"`
}

// Place is a place in the program, with its names as far as they are known.
type Place struct {
	Function string `json:"function"` // empty if not known
	File     string `json:"file"`     // source file, empty if not known
	Line     int    `json:"line"`     // 0 if not known
	Module   string `json:"module"`   // program or library
	BuildID  string `json:"build_id"`
	Offset   uint64 `json:"offset"` // address in the module; the lowest if there are several
	Label    string `json:"label"`  // text for people
}

// Spread holds how the time at a call site differs between the ranks that
// called there.
type Spread struct {
	Ranks   int     `json:"ranks"` // number of ranks that called
	MeanNs  float64 `json:"mean_ns"`
	MinNs   uint64  `json:"min_ns"`
	MinRank int     `json:"min_rank"`
	MaxNs   uint64  `json:"max_ns"`
	MaxRank int     `json:"max_rank"`
}

func (s *Spread) add(rank int, ns uint64) {
	s.merge(&Spread{Ranks: 1, MinNs: ns, MinRank: rank, MaxNs: ns, MaxRank: rank})
}

// merge adds o. Of ranks with equal times it keeps the lowest. It does not
// compute MeanNs, which sites computes from the sum of all ranks.
func (s *Spread) merge(o *Spread) {
	if s.Ranks == 0 || o.MinNs < s.MinNs || o.MinNs == s.MinNs && o.MinRank < s.MinRank {
		s.MinNs, s.MinRank = o.MinNs, o.MinRank
	}
	if s.Ranks == 0 || o.MaxNs > s.MaxNs || o.MaxNs == s.MaxNs && o.MaxRank < s.MaxRank {
		s.MaxNs, s.MaxRank = o.MaxNs, o.MaxRank
	}
	s.Ranks += o.Ranks
}

// String returns the labels of the call site and of its callers.
func (c *CallSite) String() string { return labelsOf(c.Place, c.Callers) }

func labelsOf(at Place, callers []Place) string {
	text := at.Label
	for i := range callers {
		text += " < " + callers[i].Label
	}
	return text
}

func placeOf(f profile.Frame) Place {
	return Place{f.Function, f.Source, f.Line, f.Path, f.BuildID, f.Offset, f.String()}
}

// sourceKey returns a key that is equal for stacks of the same places in the
// source.
func sourceKey(frames []profile.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		module := cmp.Or(f.BuildID, f.Path) // a file may have different paths on different nodes
		if f.Line > 0 {
			fmt.Fprintf(&b, "%s\x00%s\x00%s\x00%d\n", module, f.Function, f.Source, f.Line)
		} else {
			fmt.Fprintf(&b, "%s\x00%x\n", module, f.Offset)
		}
	}
	return b.String()
}

// siteCall identifies a call site and MPI function in one profile.
type siteCall struct {
	site uint64
	call string
}

// siteSums collects the call sites of a job.
type siteSums map[siteKey]*CallSite

type siteKey struct{ source, call string }

// add adds the rows of a process. Calls in the overflow row have no call site.
func (s siteSums) add(p *profile.Profile) {
	times := map[*CallSite]uint64{}
	for at, part := range callsAt(p) {
		frames := p.Frames(at.site)
		if len(frames) == 0 {
			continue
		}
		k := siteKey{sourceKey(frames), at.call}
		c := s[k]
		if c == nil {
			place := siteOf(frames)
			c = &CallSite{Place: place.Place, Callers: place.Callers, Call: part.Call, Class: part.Class}
			s[k] = c
		}
		c.add(part, frames[0].Offset)
		times[c] += part.TimeNs
	}
	for c, ns := range times {
		c.PerRank.add(p.Rank, ns)
	}
}

// sites returns the call sites, those with the most time first.
func (s siteSums) sites() []CallSite {
	out := make([]CallSite, 0, len(s))
	for _, c := range s {
		site := *c
		site.PerRank.MeanNs = float64(c.TimeNs) / float64(c.PerRank.Ranks)
		out = append(out, site)
	}
	SortSites(out, ByTime)
	return out
}

// callsAt returns the sums of a profile's rows by address and call.
func callsAt(p *profile.Profile) map[siteCall]*CallTotals {
	out := map[siteCall]*CallTotals{}
	for i := range p.Rows {
		r := &p.Rows[i]
		at := siteCall{r.Callsite, r.Call}
		c := out[at]
		if c == nil {
			c = &CallTotals{Call: r.Call, Class: r.Class.String()}
			out[at] = c
		}
		c.add(r)
	}
	return out
}

func (c *CallSite) add(part *CallTotals, offset uint64) {
	c.Offset = min(c.Offset, offset)
	c.plus(part.Totals)
	c.Sent.Add(part.Sent)
	c.Received.Add(part.Received)
}

func (c *CallSite) merge(o *CallSite) {
	c.Offset = min(c.Offset, o.Offset)
	c.plus(o.Totals)
	c.Sent.Add(o.Sent)
	c.Received.Add(o.Received)
	c.PerRank.merge(&o.PerRank)
}

// Moved returns what was sent, or what was received if nothing was sent. Sent
// and received are not added up, because both sides of a collective call at the
// same place.
func (c *CallSite) Moved() matrix.Volume {
	if c.Sent != (matrix.Volume{}) {
		return c.Sent
	}
	return c.Received
}

// SiteOrder is the quantity by which call sites are sorted, largest first.
type SiteOrder string

const (
	ByTime  SiteOrder = "time"
	ByBytes SiteOrder = "bytes"
	ByCalls SiteOrder = "calls"
)

// SortSites sorts call sites in place. Equal ones are sorted by time, then by
// location.
func SortSites(sites []CallSite, by SiteOrder) {
	weight := func(c *CallSite) uint64 {
		switch by {
		case ByBytes:
			return c.Moved().Bytes
		case ByCalls:
			return c.Calls
		}
		return c.TimeNs
	}
	slices.SortFunc(sites, func(a, b CallSite) int {
		return cmp.Or(cmp.Compare(weight(&b), weight(&a)), cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Call, b.Call))
	})
}
