package plot

import (
	"bufio"
	"fmt"
	"image"
	"image/png"
	"io"
)

// picture is a heatmap or a timeline.
type picture interface {
	check() error
	raster() image.Image
	vector() ([]byte, error)
}

// writePNG writes a picture as PNG. Errors begin with its kind.
func writePNG(w io.Writer, kind string, p picture) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("draw %s: %w", kind, err)
	}
	out := bufio.NewWriter(w)
	err := png.Encode(out, p.raster())
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write %s as PNG: %w", kind, err)
	}
	return nil
}

// writeSVG writes a picture as SVG. Errors begin with its kind.
func writeSVG(w io.Writer, kind string, p picture) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("draw %s: %w", kind, err)
	}
	doc, err := p.vector()
	if err != nil {
		return fmt.Errorf("draw %s as SVG: %w", kind, err)
	}
	if _, err := w.Write(doc); err != nil {
		return fmt.Errorf("write %s as SVG: %w", kind, err)
	}
	return nil
}
