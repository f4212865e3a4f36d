package plot

import (
	"errors"
	"fmt"
	"image/color"
)

// Limits of the width and the height of a timeline, in pixels. A smaller
// picture cannot be read, and no screen shows a larger one.
const (
	MinTimelineWidth, MaxTimelineWidth   = 480, 8192
	MinTimelineHeight, MaxTimelineHeight = 300, 8192
)

// Timeline is a picture of what lines (ranks) did over time. Each lane shows
// one line, or several if there are too many. In SVG, areas of one colour are
// paths if they are few enough; otherwise the lanes are an embedded image.
type Timeline struct {
	Title         string
	Width, Height int // in pixels; a picture with few lanes is lower than Height

	From, To float64 // ends of the time axis, in seconds
	TimeName string  // what time 0 is

	AxisName string   // the name of one line: "rank"
	Labels   []string // names of all lines, from top to bottom
	PerLane  int      // lines per lane; the last lane may have fewer
	Lanes    []Lane

	Ground  LegendEntry // the class of time that belongs to no other class
	Classes []LegendEntry

	// Links are drawn in this order until they would hide the lanes.
	Links      []Link
	AllLinks   int    // number of all links; Links holds the most important of them
	LinkName   string // the name of one link: "message"
	LinkChoice string // how Links were selected: "the longest"

	Caption []string // parts that are not broken over lines
}

// LegendEntry is a kind of activity, with its colour and its name in the legend.
type LegendEntry struct {
	Name  string
	Color color.RGBA
}

// Lane is the activity of one or several lines, in columns of one pixel. See
// Columns.
type Lane struct {
	Begin, End float64 // seconds: when the first of its lines started, and when the last ended
	// Shares[column*len(Classes)+class] is the share of a column's time that
	// belongs to a class. The shares of one column add up to at most 1, apart
	// from rounding.
	Shares []float32
}

// Link connects a lane at one time with a lane at another time. Times may lie
// outside the axis.
type Link struct {
	From, To   int     // indices of lanes
	Start, End float64 // seconds
}

// LanesIn returns how many lanes fit into a timeline of that height.
func LanesIn(height int) int { return max(height-roomForTexts, 1) }

// Columns returns the number of columns of a lane: the width in pixels without
// the labels.
func (t *Timeline) Columns() int {
	f := sans()
	return t.Width - t.lanesLeft(f) - lanesRight
}

func (t *Timeline) kind() string { return "timeline" }

// CheckTimelineSize returns an error if a timeline cannot have this width or
// height, in pixels.
func CheckTimelineSize(width, height int) error {
	switch {
	case width < MinTimelineWidth || width > MaxTimelineWidth:
		return fmt.Errorf("%d pixels wide: it can be %d to %d", width, MinTimelineWidth, MaxTimelineWidth)
	case height < MinTimelineHeight || height > MaxTimelineHeight:
		return fmt.Errorf("%d pixels high: it can be %d to %d", height, MinTimelineHeight, MaxTimelineHeight)
	}
	return nil
}

// check returns an error if the sizes do not agree or a share is not between 0
// and 1.
func (t *Timeline) check() error {
	if err := CheckTimelineSize(t.Width, t.Height); err != nil {
		return err
	}
	switch {
	case !(t.From < t.To):
		return fmt.Errorf("from %g s to %g s", t.From, t.To)
	case len(t.Classes) > maxClasses:
		return fmt.Errorf("%d classes, %d at most", len(t.Classes), maxClasses)
	case len(t.Labels) == 0 || t.PerLane < 1:
		return fmt.Errorf("%d lines in lanes of %d", len(t.Labels), t.PerLane)
	case len(t.Lanes) != ceilDiv(len(t.Labels), t.PerLane):
		return fmt.Errorf("%d lanes where %d lines in lanes of %d make %d", len(t.Lanes), len(t.Labels), t.PerLane, ceilDiv(len(t.Labels), t.PerLane))
	case len(t.Lanes) > LanesIn(t.Height):
		return fmt.Errorf("%d lanes, %d pixels have room for %d", len(t.Lanes), t.Height, LanesIn(t.Height))
	}
	return errors.Join(t.checkLanes(), t.checkLinks())
}

func (t *Timeline) checkLanes() error {
	want := t.Columns() * len(t.Classes)
	for i, lane := range t.Lanes {
		if len(lane.Shares) != want {
			return fmt.Errorf("lane %d has %d shares of %d", i, len(lane.Shares), want)
		}
		for j, share := range lane.Shares {
			if !(share >= 0 && share <= 1) { // also true for NaN
				return fmt.Errorf("share %d of lane %d is %g", j, i, share)
			}
		}
	}
	return nil
}

func (t *Timeline) checkLinks() error {
	if len(t.Links) > t.AllLinks {
		return fmt.Errorf("%d links of %d", len(t.Links), t.AllLinks)
	}
	for i, link := range t.Links {
		if min(link.From, link.To) < 0 || max(link.From, link.To) >= len(t.Lanes) {
			return fmt.Errorf("link %d goes from lane %d to %d of %d", i, link.From, link.To, len(t.Lanes))
		}
	}
	return nil
}
