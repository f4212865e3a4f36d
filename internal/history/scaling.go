package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
)

// Scaling is how a version of a program, with the same arguments, behaves on more
// ranks. The work is assumed to be the same (strong scaling).
type Scaling struct {
	Program   string   `json:"program"`
	Arguments []string `json:"arguments"`
	Version
	Points []Point `json:"points"` // by ranks
	// Work is how the work was divided; empty if the times outside MPI do not tell.
	Work Work `json:"work"`
	// LastThatPays is the index in Points of the largest number of ranks that pays; null if it is
	// not known, see lastThatPays.
	LastThatPays *int `json:"last_that_pays"`
	// OutsideMPI is the growth of the useful time per rank.
	OutsideMPI *Growth  `json:"outside_mpi"`
	Sites      []Growth `json:"callsites"` // the largest exponent first, those that are not certain last
}

// Point is the medians over the runs with one number of ranks. Each efficiency is ideally 1.
type Point struct {
	Ranks                   int     `json:"ranks"`
	Runs                    int     `json:"runs"`
	WallTimeS               float64 `json:"wall_time_s"`
	ParallelEfficiency      float64 `json:"parallel_efficiency"`
	LoadBalance             float64 `json:"load_balance"`
	CommunicationEfficiency float64 `json:"communication_efficiency"`
	// ComputationScaling is the useful time of all ranks at the smallest number of
	// ranks, divided by that at this number.
	ComputationScaling float64 `json:"computation_scaling"`
	GlobalEfficiency   float64 `json:"global_efficiency"` // parallel efficiency × computation scaling
	UsefulNs           float64 `json:"useful_ns"`         // of all ranks

	// Of the wall time; 0 if that of this number of ranks, or of the smallest, is not known.
	SpeedUp     float64 `json:"speed_up"`     // how many times faster than on the smallest number of ranks
	Efficiency  float64 `json:"efficiency"`   // speed-up / how many times as many ranks
	CoreSeconds float64 `json:"core_seconds"` // ranks × wall time
	IdealS      float64 `json:"ideal_s"`      // the wall time with an efficiency of 1
	SharedCores int     `json:"shared_cores"` // number of runs whose ranks shared cores: their times are uncertain
}

// Growth is how the time per rank at a call site grows with the number of ranks: as a power of that
// number. The exponent is -1 if the time is divided among the ranks, 0 if each rank takes as long
// on any number of ranks, and 1 if the time per rank is proportional to their number.
type Growth struct {
	Label    string                 `json:"label"`
	Call     string                 `json:"call,omitempty"` // without MPI_
	Callers  []aggregate.NamedPlace `json:"callers,omitempty"`
	Exponent float64                `json:"exponent"`
	// Error is the standard error of the exponent; null if there are fewer than
	// three numbers of ranks.
	Error  *float64      `json:"exponent_error"`
	Share  float64       `json:"share"` // of ranks × run time, at the largest number of ranks
	Points []GrowthPoint `json:"points"`
}

// LargestError is the standard error from which an exponent is not certain. Exponents tell apart
// what is divided among the ranks (-1), constant (0) and proportional to their number (1): one that
// may be off by 0.5 in either direction fits two of them.
const LargestError = 0.5

// Certain reports whether the exponent means something: its error is known, which needs three
// numbers of ranks, and small.
func (g *Growth) Certain() bool { return g.Error != nil && *g.Error < LargestError }

// GrowthPoint is the median time per rank on a number of ranks.
type GrowthPoint struct {
	Ranks         int     `json:"ranks"`
	TimePerRankNs float64 `json:"time_per_rank_ns"`
}

// scalingOf returns the scaling of each program, version and arguments that ran on
// several numbers of ranks.
func scalingOf(all []Configuration) []Scaling {
	groups := map[configurationKey][]*Configuration{}
	var order []configurationKey
	for i := range all {
		c := &all[i]
		if !c.Timed {
			continue
		}
		key := c.runs[0].key()
		if key.size = 0; c.Programs.Several() { // 3 + 1 ranks scale to 6 + 2, not to 4 + 4
			key.ranks = c.Programs.ranks(c.Programs.unit())
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c)
	}
	out := []Scaling{}
	for _, key := range order {
		group := groups[key]
		if len(group) < 2 {
			continue
		}
		slices.SortFunc(group, func(a, b *Configuration) int { return cmp.Compare(a.Ranks, b.Ranks) })
		of := Scaling{Program: group[0].Program, Arguments: group[0].Arguments, Version: group[0].Version,
			Points: pointsOf(group), OutsideMPI: outsideMPI(group), Sites: growthOf(group)}
		of.judge()
		out = append(out, of)
	}
	return out
}

func pointsOf(group []*Configuration) (out []Point) {
	for _, c := range group {
		p := Point{Ranks: c.Ranks, Runs: len(c.runs), WallTimeS: c.WallTimeS.Median, ParallelEfficiency: c.ParallelEfficiency.Median,
			LoadBalance: c.LoadBalance.Median, CommunicationEfficiency: c.CommunicationEfficiency.Median, UsefulNs: c.of((*PastRun).usefulNs).Median,
			CoreSeconds: float64(c.Ranks) * c.WallTimeS.Median, SharedCores: c.sharedCores()}
		first := p
		if len(out) > 0 {
			first = out[0]
		}
		p.compareWith(&first)
		if p.UsefulNs > 0 {
			p.ComputationScaling = first.UsefulNs / p.UsefulNs
		}
		p.GlobalEfficiency = p.ParallelEfficiency * p.ComputationScaling
		out = append(out, p)
	}
	return out
}

// outsideMPI returns the growth of the useful time; nil if it is not known for at least two numbers
// of ranks.
func outsideMPI(group []*Configuration) *Growth {
	g := &Growth{Label: "outside MPI"}
	for _, c := range group {
		g.add(c, (*PastRun).usefulNs)
	}
	if !g.fit() {
		return nil
	}
	return g
}

// growthOf returns the growth at each call site that took time on two numbers of
// ranks or more.
func growthOf(group []*Configuration) []Growth {
	found, times := sitesOfGroup(group)
	out := []Growth{}
	for key, site := range found {
		g := Growth{Label: site.Name(), Call: site.Call, Callers: site.Callers}
		for _, c := range group {
			g.add(c, func(r *PastRun) float64 { return times[r][key] })
		}
		if g.fit() {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b Growth) int {
		if a.Certain() != b.Certain() {
			return map[bool]int{true: -1, false: 1}[a.Certain()]
		}
		if !a.Certain() {
			a.Exponent, b.Exponent = 0, 0 // which are not compared
		}
		return cmp.Or(cmp.Compare(b.Exponent, a.Exponent), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Call, b.Call))
	})
	return out
}

// sitesOfGroup returns the call sites of all runs by key, and their times in ns in
// each run.
func sitesOfGroup(group []*Configuration) (found map[string]*aggregate.CallSite, times map[*PastRun]map[string]float64) {
	found, times = map[string]*aggregate.CallSite{}, map[*PastRun]map[string]float64{}
	for _, c := range group {
		for _, r := range c.runs {
			times[r] = map[string]float64{}
			for i := range r.sites {
				key := siteKey(&r.sites[i])
				found[key] = &r.sites[i]
				times[r][key] += float64(r.sites[i].OwnNs)
			}
		}
	}
	return found, times
}

// add adds the median time per rank of a configuration, and sets the share of that time.
// Configurations must be added in the order of their numbers of ranks.
func (g *Growth) add(c *Configuration, ns func(*PastRun) float64) {
	g.Share = 0
	time := c.of(ns).Median
	if total := c.of((*PastRun).totalNs).Median; total > 0 {
		g.Share = time / total
	}
	if time > 0 {
		g.Points = append(g.Points, GrowthPoint{c.Ranks, time / float64(c.Ranks)})
	}
}

// fit sets the exponent: the slope of log(time per rank) over log(ranks) by least
// squares. It returns false if there are fewer than two points.
func (g *Growth) fit() bool {
	n := float64(len(g.Points))
	if n < 2 {
		return false
	}
	meanX, meanY := 0.0, 0.0
	for _, p := range g.Points {
		meanX += math.Log(float64(p.Ranks)) / n
		meanY += math.Log(p.TimePerRankNs) / n
	}
	xx, xy, yy := 0.0, 0.0, 0.0
	for _, p := range g.Points {
		x, y := math.Log(float64(p.Ranks))-meanX, math.Log(p.TimePerRankNs)-meanY
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	g.Exponent = xy / xx
	if n > 2 {
		g.Error = new(math.Sqrt(max(yy-g.Exponent*xy, 0) / (n - 2) / xx))
	}
	return true
}
