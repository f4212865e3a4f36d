package aggregate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MeasureName names what changes are sorted by and judged on.
type MeasureName string

const (
	InTime     MeasureName = "time"
	InBytes    MeasureName = "bytes"
	InMessages MeasureName = "messages"
)

// MeasureNames lists them.
var MeasureNames = []MeasureName{InTime, InBytes, InMessages}

// Limits is by how much B may have more than A, in percent of A; a measure that
// is not there is not judged.
type Limits map[MeasureName]float64

// Below these a change of time is noise.
const (
	minTimeShare    = 0.01      // of the time in MPI
	MinTimeChange   = 0.01      // of the time in A: less is not listed
	minTimeIncrease = 1_000_000 // ns: less is not judged
)

// Excess is a measure that grew by more than its limit.
type Excess struct {
	Of     string      `json:"of"` // total, or the name of a call
	Name   MeasureName `json:"measure"`
	Values Measure     `json:"values"` // time is in ns
	Limit  float64     `json:"limit_percent"`
}

// ParseLimits reads "10%", for all measures, "bytes=0%,time=20%", for those
// alone, or both, where those without their own have the first.
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
			return nil, fmt.Errorf("%q is no percentage: give 10%%, or bytes=0%%,time=20%%", number)
		}
		if named && !slices.Contains(MeasureNames, MeasureName(name)) {
			return nil, fmt.Errorf("%q is not measured: time, bytes and messages are", name)
		}
		if _, twice := limits[MeasureName(name)]; twice {
			return nil, fmt.Errorf("%q has two limits for the same", text)
		}
		limits[MeasureName(name)] = limit
	}
	if _, ok := limits[InTime]; ok && ignoreTime {
		return nil, fmt.Errorf("%q has a limit for time, which is to be ignored", text)
	}
	limits.spread(ignoreTime)
	return limits, nil
}

// spread gives the limit without a name to all measures that have none.
func (l Limits) spread(ignoreTime bool) {
	limit, has := l[""]
	delete(l, "")
	for _, name := range MeasureNames {
		if _, own := l[name]; has && !own && !(ignoreTime && name == InTime) {
			l[name] = limit
		}
	}
}

// Judge finds where B has more than the limits allow, in the total and in each
// call. What A has none of may not be there at all. Times of less than 1 % of
// the time in MPI in both jobs are not judged, nor is an increase below 1 ms,
// added up over ranks, or one within the error of estimates.
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
	if d.TimesCompared && d.Matters(c.TimeNs) && c.TimeNs.Size() >= minTimeIncrease && c.TimeChanged() {
		check(InTime, c.TimeNs)
	}
}

func (m Measure) exceeds(percent float64) bool {
	return m.B > m.A && 100*float64(m.B-m.A) > percent*float64(m.A)
}

// matters tells whether a time is a part of the time in MPI worth a look.
func (d *Diff) Matters(ns Measure) bool {
	total := d.Total.TimeNs
	return float64(ns.A) >= minTimeShare*float64(total.A) && ns.A > 0 ||
		float64(ns.B) >= minTimeShare*float64(total.B) && ns.B > 0
}
