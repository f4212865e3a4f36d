package aggregate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MeasureName names a quantity by which changes are sorted and judged.
type MeasureName string

const (
	InTime     MeasureName = "time"
	InBytes    MeasureName = "bytes"
	InMessages MeasureName = "messages"
)

// MeasureNames lists the measures that can have a limit.
var MeasureNames = []MeasureName{InTime, InBytes, InMessages}

// Limits holds by how many percent of A each measure may be larger in B. A
// measure without an entry is not judged.
type Limits map[MeasureName]float64

// Changes of time below these thresholds are considered noise.
const (
	minTimeShare    = 0.01      // share of the time in MPI below which a time is ignored, see matters
	minTimeChange   = 0.01      // smallest change that is listed, as a share of the time in A
	minTimeIncrease = 1_000_000 // smallest increase that is judged, in ns
)

// Excess is a measure that grew by more than its limit.
type Excess struct {
	Of     string      `json:"of"` // "total" or the name of a call
	Name   MeasureName `json:"measure"`
	Values Measure     `json:"values"` // time in ns
	Limit  float64     `json:"limit_percent"`
}

// ParseLimits parses the limits of a command line: "10%" for all measures,
// "bytes=0%,time=20%" for the named measures only, or both, where the limit
// without a name applies to the measures that are not named.
func ParseLimits(text string, ignoreTime bool) (Limits, error) {
	limits := Limits{}
	for part := range strings.SplitSeq(text, ",") {
		name, number, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, number = "", name
		}
		value, percent := strings.CutSuffix(number, "%")
		limit, err := strconv.ParseFloat(value, 64)
		if err != nil || !percent || !(limit >= 0 && limit < math.Inf(1)) {
			return nil, fmt.Errorf("%q is not a percentage: give 10%%, or bytes=0%%,time=20%%", number)
		}
		if named && !slices.Contains(MeasureNames, MeasureName(name)) {
			return nil, fmt.Errorf("%q is not measured: time, bytes and messages are", name)
		}
		if _, twice := limits[MeasureName(name)]; twice {
			return nil, fmt.Errorf("%q has two limits for the same measure", text)
		}
		limits[MeasureName(name)] = limit
	}
	if _, ok := limits[InTime]; ok && ignoreTime {
		return nil, fmt.Errorf("%q has a limit for time, which is to be ignored", text)
	}
	limits.spread(ignoreTime)
	return limits, nil
}

// spread applies the limit without a name to all measures that have none of
// their own.
func (l Limits) spread(ignoreTime bool) {
	limit, has := l[""]
	delete(l, "")
	for _, name := range MeasureNames {
		if _, own := l[name]; has && !own && !(ignoreTime && name == InTime) {
			l[name] = limit
		}
	}
}

// Judge sets d.Exceeded to the measures, in the total and in each call, that
// are larger in B than the limits allow. If a measure is 0 in A, any increase
// exceeds its limit. A time is not judged if it is less than 1 % of the time in
// MPI in both jobs, if it increased by less than 1 ms (added up over ranks), or
// if the increase is within the error of estimated times.
func (d *Diff) Judge(limits Limits) {
	d.Exceeded = []Excess{}
	d.judge(limits, "total", &d.Total)
	for i := range d.Calls {
		d.judge(limits, d.Calls[i].Call, &d.Calls[i].Changes)
	}
}

func (d *Diff) judge(limits Limits, of string, c *Changes) {
	check := func(name MeasureName, m Measure) {
		limit, judged := limits[name]
		if judged && m.exceeds(limit) {
			d.Exceeded = append(d.Exceeded, Excess{of, name, m, limit})
		}
	}
	check(InBytes, c.Bytes)
	check(InMessages, c.Messages)
	if d.TimesCompared && c.TimeNs.matters(d.Total.TimeNs) && c.TimeNs.Size() >= minTimeIncrease && c.TimeChanged() {
		check(InTime, c.TimeNs)
	}
}

func (m Measure) exceeds(percent float64) bool {
	return m.B > m.A && 100*float64(m.B-m.A) > percent*float64(m.A)
}

// matters reports whether a time is at least 1 % of the time in MPI, in A or in
// B.
func (m Measure) matters(inMPI Measure) bool {
	return float64(m.A) >= minTimeShare*float64(inMPI.A) && m.A > 0 ||
		float64(m.B) >= minTimeShare*float64(inMPI.B) && m.B > 0
}

// WorthTime reports whether a change of time is listed and sorted by: the time matters, and the
// change is larger than noise.
func (d *Diff) WorthTime(c *Changes) bool { return c.worthTime(d.Total.TimeNs) }

func (c *Changes) worthTime(inMPI Measure) bool {
	share, ok := c.TimeNs.Relative()
	return c.TimeNs.matters(inMPI) && c.TimeChanged() && (!ok || math.Abs(share) >= minTimeChange)
}
