package aggregate

import (
	"github.com/mpitrace/mpitrace/profile"
)

// pvarStats summarizes the readings of a performance variable by one process, over
// all objects with the same label.
type pvarStats struct {
	key                 pvarKey
	object, description string
	elements            int
	readings, notFinite uint64
	whole               stats
	slices              map[string]*stats
}

// stats summarizes the values of one process. PvarValues is computed from the
// stats of all processes.
type stats struct {
	n          int // number of values
	low, high  float64
	total      float64
	area, time float64 // integral of the values over the time between readings, and that time in ns
	text       string
	differ     bool
}

// add adds a number.
func (s *stats) add(v float64) {
	if s.n == 0 {
		s.low, s.high = v, v
	}
	s.low, s.high = min(s.low, v), max(s.high, v)
	s.total = finite(s.total + v)
	s.n++
}

// addInterval adds the time between two readings a and b. The value is taken to
// change linearly between them.
func (s *stats) addInterval(a, b float64, ns int64) {
	s.area += (a/2 + b/2) * float64(ns)
	s.time += float64(ns)
}

// addText adds a value of a text variable.
func (s *stats) addText(text string) {
	if s.n == 0 {
		s.text = text
	}
	s.differ = s.differ || text != s.text
	s.n++
}

// values returns the least value, the mean and the largest value, as PvarValues
// defines them for the class.
func (s *stats) values(class profile.PvarClass) (low, mean, high float64) {
	switch {
	case class.Accumulates():
		return s.total, s.total, s.total
	case class == profile.PvarHighWatermark:
		return s.high, s.high, s.high
	case class == profile.PvarLowWatermark:
		return s.low, s.low, s.low
	}
	mean = s.total / float64(s.n)
	if s.time > 0 {
		mean = s.area / s.time
	}
	if !(s.low <= mean && mean <= s.high) { // due to rounding or overflow
		mean = s.low/2 + s.high/2
	}
	return s.low, mean, s.high
}

// countsAllReadings reports whether all readings of a class are used, not only
// the last one.
func countsAllReadings(c profile.PvarClass) bool {
	return c == profile.PvarState || c == profile.PvarLevel || c == profile.PvarSize || c == profile.PvarPercentage
}

// addsElements reports whether the elements of an array are added up. Those of
// levels and sizes are amounts, such as the number of messages that wait from
// each sender.
func addsElements(c profile.PvarClass) bool { return c == profile.PvarLevel || c == profile.PvarSize }

// pvarSeries follows the readings of one handle.
type pvarSeries struct {
	*pvarStats
	kind    profile.PvarType
	latest  []element
	text    string
	slice   string
	current *stats // stats of the current slice; nil before the first reading
}

// element is the latest value of an array element.
type element struct {
	raw   uint64
	v     float64
	at    int64 // Unix ns
	known bool
}

// pvarStatsOf summarizes the readings of a process.
func pvarStatsOf(p *profile.Profile) []*pvarStats {
	if len(p.Readings) == 0 {
		return nil
	}
	type objectKey struct {
		pvarKey
		object string
	}
	var out []*pvarStats
	byKey := map[objectKey]*pvarStats{}
	series := make([]pvarSeries, len(p.PvarHandles))
	for i, h := range p.PvarHandles {
		v := &p.Pvars[h.Pvar]
		k := objectKey{pvarKey{shared(v.Name), v.Class, v.Type == profile.PvarText, v.Bound}, labelOf(p, h.Comm)}
		if byKey[k] == nil {
			byKey[k] = &pvarStats{key: k.pvarKey, object: k.object, description: v.Description, slices: map[string]*stats{}}
			out = append(out, byKey[k])
		}
		series[i] = pvarSeries{pvarStats: byKey[k], kind: v.Type}
	}
	names := make(map[uint32]string, len(p.Slices))
	for _, s := range p.Slices {
		names[s.Index] = s.Name
	}
	for i := range p.Readings {
		r := &p.Readings[i]
		series[r.Handle].read(r, sliceLabel(names, r.Slice))
	}
	for i := range series {
		if s := &series[i]; s.current != nil {
			s.addLast(s.current)
			s.addLast(&s.whole)
		}
	}
	return out
}

// startSlice ends the current slice and starts another.
func (s *pvarSeries) startSlice(slice string) {
	if s.current != nil {
		s.addLast(s.current)
	}
	if s.slices[slice] == nil {
		s.slices[slice] = new(stats)
	}
	s.slice, s.current = slice, s.slices[slice]
}

func (s *pvarSeries) read(r *profile.Reading, slice string) {
	if s.current == nil || slice != s.slice {
		s.startSlice(slice)
	}
	s.readings++
	if s.key.text {
		s.elements, s.text = 1, r.Text()
		return
	}
	s.elements = max(s.elements, len(r.Values))
	var sum element
	for i, raw := range r.Values {
		v, ok := s.kind.Finite(raw)
		switch {
		case !ok:
			s.notFinite++
		case addsElements(s.key.class):
			sum = element{v: finite(sum.v + v), at: r.At, known: true}
		default:
			s.follow(i, element{raw, v, r.At, true})
		}
	}
	if sum.known {
		s.follow(0, sum)
	}
}

// follow adds a value of element i, for classes where more than the last
// reading is used. The first value of a slice is the last value of the slice
// before it.
func (s *pvarSeries) follow(i int, now element) {
	for len(s.latest) <= i {
		s.latest = append(s.latest, element{})
	}
	was := s.latest[i]
	s.latest[i] = now
	if s.key.class.Accumulates() {
		s.current.add(finite(s.kind.Increase(was.raw, now.raw))) // the first increase is from 0
	}
	if !countsAllReadings(s.key.class) {
		return
	}
	if was.known {
		s.current.add(was.v)
		s.current.addInterval(was.v, now.v, now.at-was.at)
		s.whole.addInterval(was.v, now.v, now.at-was.at)
	}
	s.current.add(now.v)
	s.whole.add(now.v)
}

// addLast adds the last reading of a slice, or of all slices, for classes where
// only the last reading is used.
func (s *pvarSeries) addLast(g *stats) {
	if s.key.text {
		g.addText(s.text)
		return
	}
	if countsAllReadings(s.key.class) || s.key.class.Accumulates() && g != &s.whole {
		return
	}
	for _, e := range s.latest {
		if e.known {
			g.add(e.v)
		}
	}
}
