package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
)

// HeatmapPair is two heatmaps side by side.
type HeatmapPair struct{ left, right *Heatmap }

// NewHeatmapPair returns a pair that has the same colours for the same values.
func NewHeatmapPair(left, right Heatmap) *HeatmapPair {
	a, b := left.Scale(), right.Scale()
	both := Scale{min(a.Min, b.Min), max(a.Max, b.Max)}
	left.Ends, right.Ends = &both, &both
	return &HeatmapPair{&left, &right}
}

func (p *HeatmapPair) kind() string { return "heatmaps" }

func (p *HeatmapPair) check() error { return cmp.Or(p.left.check(), p.right.check()) }

func (p *HeatmapPair) raster() image.Image {
	left, right := p.left.raster(), p.right.raster()
	a, b := left.Bounds().Size(), right.Bounds().Size()
	c := newCanvas(a.X+b.X, max(a.Y, b.Y))
	paste(c.Image(), left, 0, 0)
	paste(c.Image(), right, a.X, 0)
	return c.Image()
}

// vector puts the documents of both heatmaps into one.
func (p *HeatmapPair) vector() ([]byte, error) {
	var out bytes.Buffer
	f := sans()
	left, right := p.left.layout(f), p.right.layout(f)
	vectorHead(&out, left.width+right.width, max(left.height, right.height), p.left.title()+" / "+p.right.title())
	at := 0
	for _, h := range []*Heatmap{p.left, p.right} {
		doc, err := h.vector()
		if err != nil {
			return nil, err
		}
		_, doc, _ = bytes.Cut(doc, []byte("\n")) // without the XML declaration
		fmt.Fprintf(&out, "<g transform=\"translate(%d 0)\">\n%s</g>\n", at, doc)
		at = left.width
	}
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes(), nil
}
