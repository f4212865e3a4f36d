package plot

import (
	"bufio"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
)

// Limits of a timeline's sides, in pixels: less cannot be read, more is nothing
// that a screen shows.
const (
	MinTimelineWidth, MaxTimelineWidth   = 480, 8192
	MinTimelineHeight, MaxTimelineHeight = 300, 8192
)

// Timeline is what a number of lines did over time, to draw: a lane for each,
// or for some of them together.
type Timeline struct {
	Title         string
	Width, Height int // pixels; fewer lanes than fill the height make it lower

	From, To float64 // seconds: the ends of the time axis
	TimeName string  // what the seconds count from

	AxisName string   // what a line is: "rank"
	Labels   []string // the names of all lines, from the top
	PerLane  int      // lines of a lane, 1 where each has its own; the last may have fewer
	Lanes    []Lane

	Ground  Class // of what is no other class
	Classes []Class

	// Links are drawn while they do not hide the lanes, the first first.
	Links      []Link
	AllLinks   int    // how many there are, of which Links are the most telling
	LinkName   string // what a link is: "message"
	LinkChoice string // which of too many come first: "those that took longest"

	Caption []string // parts that stay on a line
}

// Class is what a line may do, and how that is drawn.
type Class struct {
	Name  string
	Color color.RGBA
}

// Lane is what some lines did, in columns of one pixel (see Columns).
type Lane struct {
	Begin, End float64 // seconds: when there was anybody to do anything
	// Shares is how much of a column's time went to a class: element
	// column*len(Classes) + class. All of a column are at most 1, but for rounding.
	Shares []float32
}

// Link goes from one lane at a time to another, or the same, at another time.
// Times outside of the axis are fine.
type Link struct {
	From, To   int     // lanes
	Start, End float64 // seconds
}

// LanesIn is how many lanes there is room for in a timeline of that height.
func LanesIn(height int) int { return max(height-roomForTexts, 1) }

// Columns is how many columns the lanes have: as many pixels as the labels
// leave of the width.
func (t *Timeline) Columns() int {
	f := sans()
	return t.Width - t.lanesLeft(f) - lanesRight
}

// WritePNG draws the timeline.
func (t *Timeline) WritePNG(w io.Writer) error {
	if err := t.check(); err != nil {
		return fmt.Errorf("draw timeline: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := png.Encode(out, t.raster()); err != nil {
		return fmt.Errorf("write timeline as PNG: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write timeline as PNG: %w", err)
	}
	return nil
}

// WriteSVG draws the timeline with text as text and, while these are not too
// many, areas of one colour as paths; else the lanes are an embedded image.
func (t *Timeline) WriteSVG(w io.Writer) error {
	if err := t.check(); err != nil {
		return fmt.Errorf("draw timeline: %w", err)
	}
	doc, err := t.vector()
	if err != nil {
		return fmt.Errorf("draw timeline as SVG: %w", err)
	}
	if _, err := w.Write(doc); err != nil {
		return fmt.Errorf("write timeline as SVG: %w", err)
	}
	return nil
}

// CheckTimelineSize refuses sides in pixels that a timeline cannot have.
func CheckTimelineSize(width, height int) error {
	switch {
	case width < MinTimelineWidth || width > MaxTimelineWidth:
		return fmt.Errorf("%d pixels wide: it can be %d to %d", width, MinTimelineWidth, MaxTimelineWidth)
	case height < MinTimelineHeight || height > MaxTimelineHeight:
		return fmt.Errorf("%d pixels high: it can be %d to %d", height, MinTimelineHeight, MaxTimelineHeight)
	}
	return nil
}

// check refuses what cannot be drawn truly.
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
			if !(share >= 0 && share <= 1) { // NaN, too
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
