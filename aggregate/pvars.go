package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// PvarSummary summarizes the readings of one performance variable of the MPI library
// over all ranks. A variable that is bound to objects has one PvarSummary per object.
// Communicators with the same label are one object.
type PvarSummary struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Class       string `json:"class"`
	Binding     string `json:"binding"`          // kind of object: none, communicator or window
	Object      string `json:"object,omitempty"` // label of the communicator, or of the communicator of the window's group
	Others      bool   `json:"others,omitempty"` // whether this is the sum of all objects that have no entry of their own
	Elements    int    `json:"elements"`         // largest number of elements of a reading; 1 for a text
	Readings    uint64 `json:"readings"`
	NotFinite   uint64 `json:"not_finite,omitempty"` // number of values that were left out because they are infinite or not a number
	PvarValues
	Slices []PvarSlice `json:"slices"` // in the order of their start
}

// PvarValues summarizes the values of the ranks that have any; for Others, of
// each rank and object. How the value of a rank is computed depends on the
// class:
//
//	counter, aggregate, timer       last reading; in a slice, the increase
//	level, size, percentage, state  all readings: minimum, maximum, and mean over
//	                                time, with linear change between readings; in
//	                                a slice, its readings and the one before it
//	high- and low-watermark         last reading; of several, the highest or lowest
//	generic                         last reading
//
// The elements of an array are added up for counters, aggregates, timers,
// levels and sizes. For other classes each element is a value.
//
// Sum is set only for counters, aggregates and timers. Mean is not set for
// states and generic variables, which need not be quantities. A text variable
// has no numbers; Text is set if all ranks have the same text.
type PvarValues struct {
	Ranks   int      `json:"ranks"`
	Sum     *float64 `json:"sum"`
	Mean    *float64 `json:"mean"`
	Min     *float64 `json:"min"`
	MinRank int      `json:"min_rank"`
	Max     *float64 `json:"max"`
	MaxRank int      `json:"max_rank"`
	Text    *string  `json:"text"`
}

// PvarSlice holds the values in one slice.
type PvarSlice struct {
	Slice string `json:"slice"`
	PvarValues
}

// pvarKey identifies a variable across processes.
type pvarKey struct {
	name  string
	class profile.PvarClass
	text  bool
	bound profile.PvarBinding
}

// pvarSums collects the performance variables of a job.
type pvarSums struct {
	sumsBy[pvarKey, pvarSum, *pvarSum]
}

type pvarSum struct {
	description string
	objects     byObject[pvarObject, *pvarObject]
}

func (s *pvarSum) merge(o *pvarSum) {
	s.description = min(s.description, o.description) // independent of the order of processes
	s.objects.merge(&o.objects)
}

// pvarObject holds the values of a variable for one object.
type pvarObject struct {
	elements            int
	readings, notFinite uint64
	whole               pvarSpread
	slices              sumsBy[string, pvarSpread, *pvarSpread]
}

// pvarSpread summarizes values over ranks.
type pvarSpread struct {
	ranks             int
	low, high         float64
	lowRank, highRank int
	mean              exactSum // sum of the ranks' means
	text              string
	differ            bool // the texts of the ranks differ
}

// add adds the readings of a process.
func (s *pvarSums) add(p *profile.Profile) {
	for _, part := range pvarStatsOf(p) {
		if part.readings == 0 {
			continue
		}
		s.sumsBy.add(part.key, &pvarSum{description: shared(part.description)})
		o := s.known[part.key].objects.of(shared(part.object))
		o.elements = max(o.elements, part.elements)
		o.readings += part.readings
		o.notFinite += part.notFinite
		o.whole.add(p.Rank, part.key, &part.whole)
		for name, g := range part.slices {
			o.slices.of(shared(name)).add(p.Rank, part.key, g)
		}
	}
}

func (o *pvarObject) merge(from *pvarObject) {
	o.elements = max(o.elements, from.elements)
	o.readings += from.readings
	o.notFinite += from.notFinite
	o.whole.merge(&from.whole)
	o.slices.merge(&from.slices)
}

// add adds the values of a rank, if it has any.
func (s *pvarSpread) add(rank int, k pvarKey, g *stats) {
	if g.n == 0 {
		return
	}
	one := pvarSpread{ranks: 1, lowRank: rank, highRank: rank, text: shared(g.text), differ: g.differ}
	if !k.text {
		var mean float64
		one.low, mean, one.high = g.values(k.class)
		one.mean.add(mean)
	}
	s.merge(&one)
}

// merge adds the values of o. Of ranks with equal extremes it keeps the lowest.
func (s *pvarSpread) merge(o *pvarSpread) {
	if o.ranks == 0 {
		return
	}
	first := s.ranks == 0
	if first || o.low < s.low || o.low == s.low && o.lowRank < s.lowRank {
		s.low, s.lowRank = o.low, o.lowRank
	}
	if first || o.high > s.high || o.high == s.high && o.highRank < s.highRank {
		s.high, s.highRank = o.high, o.highRank
	}
	if first {
		s.text = o.text
	}
	s.differ = s.differ || o.differ || s.text != o.text
	s.ranks += o.ranks
	s.mean.merge(&o.mean)
}

func (s *pvarSpread) result(k pvarKey) PvarValues {
	out := PvarValues{Ranks: s.ranks}
	switch {
	case s.ranks == 0:
		return out
	case k.text && !s.differ:
		out.Text = &s.text
		return out
	case k.text:
		return out
	}
	out.Min, out.MinRank, out.Max, out.MaxRank = &s.low, s.lowRank, &s.high, s.highRank
	sum := s.mean.value()
	if k.class.Accumulates() {
		out.Sum = &sum
	}
	if k.class != profile.PvarState && k.class != profile.PvarGeneric {
		out.Mean = new(sum / float64(s.ranks))
	}
	return out
}

// variables returns all variables by name and object, with slices in the order
// in which they first began.
func (s *pvarSums) variables(began *sliceSums) []PvarSummary {
	out := []PvarSummary{}
	for k, sum := range s.known {
		sum.objects.each(func(label string, others bool, o *pvarObject) {
			v := o.variable(k, sum.description, began)
			v.Object, v.Others = label, others
			out = append(out, v)
		})
	}
	slices.SortFunc(out, func(a, b PvarSummary) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Binding, b.Binding),
			compareBools(a.Others, b.Others), compareObjects(a.Object, b.Object), compareBools(a.Min == nil, b.Min == nil))
	})
	return out
}

func (o *pvarObject) variable(k pvarKey, description string, began *sliceSums) PvarSummary {
	v := PvarSummary{Name: k.name, Description: description, Class: k.class.String(), Binding: k.bound.String(), Elements: o.elements,
		Readings: o.readings, NotFinite: o.notFinite, PvarValues: o.whole.result(k), Slices: []PvarSlice{}}
	for name, spread := range o.slices.known {
		if spread.ranks > 0 {
			v.Slices = append(v.Slices, PvarSlice{name, spread.result(k)})
		}
	}
	start := func(s PvarSlice) int64 {
		if sum := began.known[s.Slice]; sum != nil {
			return sum.start
		}
		return 0
	}
	slices.SortFunc(v.Slices, func(a, b PvarSlice) int {
		return cmp.Or(cmp.Compare(start(a), start(b)), cmp.Compare(a.Slice, b.Slice))
	})
	return v
}

// sliceLabel returns the name of a slice, or its number if it has no name.
func sliceLabel(names map[uint32]string, index uint32) string {
	if name, ok := names[index]; ok {
		return name
	}
	return fmt.Sprintf("slice %d", index)
}

// exactSum adds up doubles without rounding. A sum that is rounded after each
// addition would depend on the order of the processes.
type exactSum struct{ f *big.Float }

// exactBits is a precision in bits that holds any sum of 2^64 doubles. A double
// has its bits within 2098 positions, from the lowest bit of the smallest to
// the highest bit of the largest.
const exactBits = 2098 + 64

func (s *exactSum) add(v float64) { s.plus(new(big.Float).SetFloat64(v)) }

func (s *exactSum) merge(o *exactSum) {
	if o.f != nil {
		s.plus(o.f)
	}
}

func (s *exactSum) plus(f *big.Float) {
	if s.f == nil {
		s.f = new(big.Float).SetPrec(exactBits)
	}
	s.f.Add(s.f, f)
}

// value returns the sum, rounded once.
func (s *exactSum) value() float64 {
	if s.f == nil {
		return 0
	}
	v, _ := s.f.Float64()
	return finite(v)
}

// finite limits v to the range of finite doubles, because JSON has no infinity.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }
