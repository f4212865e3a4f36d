package aggregate

import (
	"github.com/mpitrace/mpitrace/profile"
)

// gauges are what one process has read of a variable, on objects of one label.
type gauges struct {
	key                 pvarKey
	object, description string
	elements            int
	readings, notFinite uint64
	whole               gauge
	slices              map[string]*gauge
}

// gauge is values of one process on the way to what PvarValues says of them.
type gauge struct {
	n          int // values
	low, high  float64
	total      float64
	area, time float64 // under the lines between readings, over so many ns
	text       string
	differ     bool
}

// see enters a value.
func (g *gauge) see(v float64) {
	if g.n == 0 {
		g.low, g.high = v, v
	}
	g.low, g.high = min(g.low, v), max(g.high, v)
	g.total = finite(g.total + v)
	g.n++
}

// between enters the time between two readings.
func (g *gauge) between(a, b float64, ns int64) {
	g.area += (a/2 + b/2) * float64(ns)
	g.time += float64(ns)
}

func (g *gauge) say(text string) {
	if g.n == 0 {
		g.text = text
	}
	g.differ = g.differ || text != g.text
	g.n++
}

// values are the least, the mean and the most.
func (g *gauge) values(class profile.PvarClass) (low, mean, high float64) {
	switch {
	case class.Accumulates():
		return g.total, g.total, g.total
	case class == profile.PvarHighWatermark:
		return g.high, g.high, g.high
	case class == profile.PvarLowWatermark:
		return g.low, g.low, g.low
	}
	mean = g.total / float64(g.n)
	if g.time > 0 {
		mean = g.area / g.time
	}
	if !(g.low <= mean && mean <= g.high) { // by rounding, or as doubles have an end
		mean = g.low/2 + g.high/2
	}
	return g.low, mean, g.high
}

// followed tells the classes of which all readings count, not only the last.
func followed(c profile.PvarClass) bool {
	return c == profile.PvarState || c == profile.PvarLevel || c == profile.PvarSize || c == profile.PvarPercentage
}

// amounts tells the classes of which the elements of an array are added up: the
// messages that wait of each sender are messages that wait.
func amounts(c profile.PvarClass) bool { return c == profile.PvarLevel || c == profile.PvarSize }

// pvarSeries is the readings of one handle.
type pvarSeries struct {
	*gauges
	kind   profile.PvarType
	latest []element
	text   string
	slice  string
	in     *gauge // of the slice; nil before the first reading
}

// element is the latest value of an element that is a number.
type element struct {
	raw   uint64
	v     float64
	at    int64 // Unix ns
	known bool
}

// gaugesOf goes through the readings of a process.
func gaugesOf(p *profile.Profile) []*gauges {
	if len(p.Readings) == 0 {
		return nil
	}
	type objectKey struct {
		pvarKey
		object string
	}
	var out []*gauges
	byKey := map[objectKey]*gauges{}
	series := make([]pvarSeries, len(p.PvarHandles))
	for i, h := range p.PvarHandles {
		v := &p.Pvars[h.Pvar]
		k := objectKey{pvarKey{shared(v.Name), v.Class, v.Type == profile.PvarText, v.Bound}, labelOf(p, h.Comm)}
		if byKey[k] == nil {
			byKey[k] = &gauges{key: k.pvarKey, object: k.object, description: v.Description, slices: map[string]*gauge{}}
			out = append(out, byKey[k])
		}
		series[i] = pvarSeries{gauges: byKey[k], kind: v.Type}
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
		if s := &series[i]; s.in != nil {
			s.last(s.in)
			s.last(&s.whole)
		}
	}
	return out
}

// begin goes on to another slice.
func (s *pvarSeries) begin(slice string) {
	if s.in != nil {
		s.last(s.in)
	}
	if s.slices[slice] == nil {
		s.slices[slice] = new(gauge)
	}
	s.slice, s.in = slice, s.slices[slice]
}

func (s *pvarSeries) read(r *profile.Reading, slice string) {
	if s.in == nil || slice != s.slice {
		s.begin(slice)
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
		case amounts(s.key.class):
			sum = element{v: finite(sum.v + v), at: r.At, known: true}
		default:
			s.follow(i, element{raw, v, r.At, true})
		}
	}
	if sum.known {
		s.follow(0, sum)
	}
}

// follow enters what depends on more than the last reading. A slice begins with
// what the one before it ended with.
func (s *pvarSeries) follow(i int, now element) {
	for len(s.latest) <= i {
		s.latest = append(s.latest, element{})
	}
	was := s.latest[i]
	s.latest[i] = now
	if s.key.class.Accumulates() {
		s.in.see(finite(s.kind.Increase(was.raw, now.raw))) // from 0
	}
	if !followed(s.key.class) {
		return
	}
	if was.known {
		s.in.see(was.v)
		s.in.between(was.v, now.v, now.at-was.at)
		s.whole.between(was.v, now.v, now.at-was.at)
	}
	s.in.see(now.v)
	s.whole.see(now.v)
}

// last enters the last reading of a slice, or of all.
func (s *pvarSeries) last(g *gauge) {
	if s.key.text {
		g.say(s.text)
		return
	}
	if followed(s.key.class) || s.key.class.Accumulates() && g != &s.whole {
		return
	}
	for _, e := range s.latest {
		if e.known {
			g.see(e.v)
		}
	}
}
