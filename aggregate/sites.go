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
	Site
	Call  string `json:"call"` // without MPI_
	Class string `json:"class"`
	Totals
	Sent     matrix.Volume `json:"sent"`     // sends and remote writes
	Received matrix.Volume `json:"received"` // receives and remote reads
	PerRank  RankSpread    `json:"time_per_rank"`
	SiteUsage
}

// Site is a call site, with its callers if stacks were recorded.
type Site struct {
	Program string `json:"program,omitempty"` // name of the JobProgram that called; empty if the job has only one
	NamedPlace
	Callers []NamedPlace `json:"callers,omitempty"` // innermost first; empty if stacks were not recorded
}

// NamedPlace is a place in the program, with its names as far as they are known.
type NamedPlace struct {
	Function string `json:"function"` // empty if not known
	File     string `json:"file"`     // source file, empty if not known
	Line     int    `json:"line"`     // 0 if not known
	Module   string `json:"module"`   // program or library
	BuildID  string `json:"build_id"`
	Offset   uint64 `json:"offset"` // address in the module; the lowest if there are several
	Label    string `json:"label"`  // text for people
}

// SharedFunction is a function that many places call, and that calls MPI for them.
type SharedFunction struct {
	Function string  `json:"function"`
	Callers  int     `json:"callers"` // places in the program that call it directly
	Share    float64 `json:"share"`   // of the time in MPI, without Init and Finalize
	Wrapper  bool    `json:"wrapper"` // whether --stack auto takes it for a wrapper of MPI, see profile.Wrappers
}

// LargestFunction returns the call site with the most time in the function that has most of the time in MPI,
// and what is known of the function; nil if it has at most half, or if callers were recorded.
func LargestFunction(sites []CallSite) (*CallSite, SharedFunction) {
	type sums struct {
		ns    uint64
		calls map[string]bool
		first *CallSite // call sites are sorted by time
	}
	of, all := map[[3]string]*sums{}, uint64(0)
	for i := range sites {
		c := &sites[i]
		if len(c.Callers) > 0 {
			return nil, SharedFunction{}
		}
		key := [3]string{c.Module, c.File, c.Function}
		if of[key] == nil {
			of[key] = &sums{calls: map[string]bool{}, first: c}
		}
		of[key].calls[c.Call] = true
		if !profile.SetsUp(c.Call) {
			of[key].ns += c.TimeNs
			all += c.TimeNs
		}
	}
	for key, sum := range of {
		if key[2] == "" || key[2] == "main" || 2*sum.ns <= all {
			continue
		}
		inFile, single := 0, true // functions in its source file; whether each calls only one MPI function
		for other, its := range of {
			if other[0] == key[0] && other[1] == key[1] {
				inFile++
				single = single && len(its.calls) == 1 && other[2] != "main"
			}
		}
		named := len(sum.calls) == 1 && profile.NamedFor(key[2], sum.first.Call)
		return sum.first, SharedFunction{Function: key[2], Share: float64(sum.ns) / float64(all), Wrapper: named || inFile > 1 && single}
	}
	return nil, SharedFunction{}
}

// UnnamedFile is a program or library in which call sites have no names.
type UnnamedFile struct {
	Module   string `json:"module"` // its path
	Reason   string `json:"reason"`
	Stripped bool   `json:"stripped"`          // whether it is unchanged, but has no symbols
	Package  string `json:"package,omitempty"` // Debian's package with its debug file, if it is known
}

// RankSpread holds how the time at a call site differs between the ranks that
// called there. The time of a rank is the part of its own time, see
// Totals.OwnNs.
type RankSpread struct {
	Ranks   int     `json:"ranks"` // number of ranks that called
	MeanNs  float64 `json:"mean_ns"`
	MinNs   uint64  `json:"min_ns"`
	MinRank int     `json:"min_rank"`
	MaxNs   uint64  `json:"max_ns"`
	MaxRank int     `json:"max_rank"`
}

func (s *RankSpread) add(rank int, ns uint64) {
	s.merge(&RankSpread{Ranks: 1, MinNs: ns, MinRank: rank, MaxNs: ns, MaxRank: rank})
}

// merge adds o. Of ranks with equal times it keeps the lowest. It does not
// compute MeanNs, which sites computes from the sum of all ranks.
func (s *RankSpread) merge(o *RankSpread) {
	if s.Ranks == 0 || o.MinNs < s.MinNs || o.MinNs == s.MinNs && o.MinRank < s.MinRank {
		s.MinNs, s.MinRank = o.MinNs, o.MinRank
	}
	if s.Ranks == 0 || o.MaxNs > s.MaxNs || o.MaxNs == s.MaxNs && o.MaxRank < s.MaxRank {
		s.MaxNs, s.MaxRank = o.MaxNs, o.MaxRank
	}
	s.Ranks += o.Ranks
}

// Name returns the label of the call site, with its program if the job has several.
func (s *Site) Name() string {
	if s.Program == "" {
		return s.Label
	}
	return s.Label + " of " + s.Program
}

// String returns the labels of the call site and of its callers; empty for nil.
func (s *Site) String() string {
	if s == nil {
		return ""
	}
	label := s.Label
	for i := range s.Callers {
		label += profile.Callers + s.Callers[i].Label
	}
	return label
}

// siteOf returns the call site of a stack, labelled "unknown" if the stack is
// empty.
func siteOf(frames []profile.Frame) Site {
	if len(frames) == 0 {
		return Site{NamedPlace: NamedPlace{Label: "unknown"}}
	}
	s := Site{NamedPlace: placeOf(frames[0])}
	for _, f := range frames[1:] {
		s.Callers = append(s.Callers, placeOf(f))
	}
	return s
}

func placeOf(f profile.Frame) NamedPlace {
	return NamedPlace{f.Function, f.Source, f.Line, f.Path, f.BuildID, f.Offset, f.String()}
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

// siteSums collects the call sites of a job.
type siteSums struct {
	sumsBy[siteKey, CallSite, *CallSite]
	names map[profile.Frame]*siteName // of sites without callers; ranks load files at different addresses

	// Memory for one process at a time.
	here    []siteOfProcess
	program programKey
	byKey   map[siteKey]int  // index in here
	byCall  map[siteCall]int // likewise
	labels  []string         // of the communicators
}

type siteKey struct {
	source, call string
	program      programKey
}

// siteCall identifies a call site and MPI function in one profile.
type siteCall struct {
	site uint64
	call string
}

// siteName is a call site, with its sourceKey.
type siteName struct {
	source string
	Site
}

func newSiteSums() siteSums {
	return siteSums{names: map[profile.Frame]*siteName{}, byKey: map[siteKey]int{}, byCall: map[siteCall]int{}}
}

// nameOf returns the name of a call site of a process; nil if it is not known.
func (s *siteSums) nameOf(p *profile.Profile, site uint64) *siteName {
	if site&profile.StackSite != 0 || site == 0 {
		frames := p.Frames(site)
		if len(frames) == 0 {
			return nil
		}
		return &siteName{sourceKey(frames), siteOf(frames)}
	}
	frame := p.Frame(site)
	name := s.names[frame]
	if name == nil {
		frames := []profile.Frame{frame}
		name = &siteName{sourceKey(frames), siteOf(frames)}
		s.names[frame] = name
	}
	return name
}

// add adds the rows of a process. Calls in the overflow row have no call site.
func (s *siteSums) add(p *profile.Profile) {
	waits := s.addCalls(p)
	for key, i := range s.byKey {
		own := &s.here[i]
		own.PerRank.add(p.Rank, own.OwnNs)
		own.SiteUsage.ofRank(own.Calls, own.peers, waits)
		if c := s.known[key]; c != nil {
			c.merge(&own.CallSite)
			continue
		}
		first := own.CallSite
		first.Sizes = slices.Clone(first.Sizes) // the memory of here is used again
		s.sumsBy.add(key, &first)
	}
}

// siteOfProcess holds the calls of one process at a call site.
type siteOfProcess struct {
	CallSite
	traits profile.Traits
	peers  []int32 // world ranks to which it sent messages, some several times
}

// addCalls puts the sums of a process by call site into s.here. It returns how many calls of the
// process wait for other processes, as Recv and Barrier do.
func (s *siteSums) addCalls(p *profile.Profile) (waits uint64) {
	s.here = s.here[:0]
	clear(s.byKey)
	clear(s.byCall)
	s.labels, s.program = s.labels[:0], programKeyOf(p)
	ownShare := p.Times().OwnShare()
	for i := range p.Comms {
		s.labels = append(s.labels, p.Comms[i].Label())
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		c := s.of(p, siteCall{r.Callsite, r.Call}, r.Class)
		c.add(p, r, s.labels, ownShare)
		if waitsForOthers(c.traits) {
			waits += r.Calls
		}
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		s.of(p, siteCall{v.Callsite, v.Call}, v.Class).SiteUsage.addVector(p, v)
	}
	return waits
}

// of returns the sums of a call site in s.here. The next call of `of` may move them.
func (s *siteSums) of(p *profile.Profile, at siteCall, class profile.Class) *siteOfProcess {
	if i, known := s.byCall[at]; known {
		return &s.here[i]
	}
	name := s.nameOf(p, at.site)
	if name == nil { // in here, but not in byKey
		i := s.extend()
		s.byCall[at] = i
		s.here[i].traits = profile.TraitsOf(at.call)
		return &s.here[i]
	}
	key := siteKey{name.source, at.call, s.program}
	i, known := s.byKey[key]
	if !known {
		i = s.extend()
		s.byKey[key] = i
		c := &s.here[i]
		c.traits = profile.TraitsOf(at.call)
		c.Site, c.Call, c.Class = name.Site, at.call, class.String()
	}
	s.byCall[at] = i
	c := &s.here[i]
	c.Offset = min(c.Offset, name.Offset)
	return c
}

// extend adds an empty element to here, and returns its index.
func (s *siteSums) extend() int {
	n := len(s.here)
	s.here = slices.Grow(s.here, 1)[:n+1]
	was := &s.here[n]
	*was = siteOfProcess{CallSite: CallSite{SiteUsage: SiteUsage{Sizes: was.Sizes[:0]}}, peers: was.peers[:0]}
	return n
}

// waitsForOthers reports whether a call may wait for other processes to send or to
// arrive. A send may wait too, but only until its own message has left.
func waitsForOthers(t profile.Traits) bool {
	return t.Any(profile.TraitBlocks) && (!t.Any(profile.TraitSends) || t.Any(profile.TraitReceives))
}

func (c *siteOfProcess) add(p *profile.Profile, r *profile.Row, labels []string, ownShare float64) {
	c.Totals.add(r, ownShare)
	switch r.Direction {
	case profile.Send, profile.Write:
		c.Sent.AddRow(r)
	case profile.Recv, profile.Read:
		c.Received.AddRow(r)
	}
	c.SiteUsage.add(p, r, labels)
	if r.Direction == profile.Send && r.Class == profile.P2P && r.Messages > 0 {
		c.peers = append(c.peers, int32(p.WorldRank(r.Comm, r.Peer)))
	}
}

// sites returns the call sites, those with the most time first.
func (s *siteSums) sites(programs *programSums) []CallSite {
	unifySites(&s.sumsBy, programs)
	out := make([]CallSite, 0, len(s.known))
	for key, c := range s.known {
		site := *c
		site.Program = programs.nameOf(key.program)
		site.PerRank.MeanNs = float64(c.OwnNs) / float64(c.PerRank.Ranks)
		out = append(out, site)
	}
	SortSites(out, ByTime)
	return out
}

func (c *CallSite) merge(o *CallSite) {
	c.Offset = min(c.Offset, o.Offset)
	c.plus(o.Totals)
	c.Sent.Add(o.Sent)
	c.Received.Add(o.Received)
	c.PerRank.merge(&o.PerRank)
	c.SiteUsage.merge(&o.SiteUsage)
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
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Call, b.Call),
			cmp.Compare(a.Program, b.Program))
	})
}
