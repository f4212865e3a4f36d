package plot

import (
	"bytes"
	"fmt"
	"image"
	"io"
)

// HeatmapPair is two heatmaps side by side, with the same colours for the same values.
type HeatmapPair struct{ Left, Right *Heatmap }

// WritePNG draws the heatmaps as one PNG.
func (p *HeatmapPair) WritePNG(w io.Writer) error { return writePNG(w, "heatmaps", p.alike()) }

// WriteSVG draws the heatmaps as one SVG.
func (p *HeatmapPair) WriteSVG(w io.Writer) error { return writeSVG(w, "heatmaps", p.alike()) }

// WritePDF draws the heatmaps on one page of a PDF, as an image.
func (p *HeatmapPair) WritePDF(w io.Writer) error { return writePDF(w, "heatmaps", p.alike()) }

// alike returns the pair with the scale of both.
func (p *HeatmapPair) alike() *HeatmapPair {
	a, b := p.Left.Scale(), p.Right.Scale()
	both := Scale{min(a.Min, b.Min), max(a.Max, b.Max)}
	left, right := *p.Left, *p.Right
	left.Ends, right.Ends = &both, &both
	return &HeatmapPair{&left, &right}
}

func (p *HeatmapPair) check() error {
	if err := p.Left.check(); err != nil {
		return err
	}
	return p.Right.check()
}

func (p *HeatmapPair) raster() image.Image {
	left, right := p.Left.raster(), p.Right.raster()
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
	left, right := p.Left.layout(f), p.Right.layout(f)
	vectorHead(&out, left.width+right.width, max(left.height, right.height), p.Left.title()+" / "+p.Right.title())
	at := 0
	for _, h := range []*Heatmap{p.Left, p.Right} {
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
