package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"path/filepath"
	"strings"
)

// Picture is a Heatmap, a HeatmapPair or a Timeline.
type Picture interface {
	kind() string // for errors
	check() error
	raster() image.Image
	vector() ([]byte, error)
}

// encoders return the content of a file, by the extension of its name. A PDF has
// the pixels of the PNG on one page.
var encoders = map[string]func(Picture) ([]byte, error){
	".png": encodePNG,
	".svg": Picture.vector,
	".pdf": func(p Picture) ([]byte, error) { return pdfOf(p.raster()), nil },
}

func encodePNG(p Picture) ([]byte, error) {
	var out bytes.Buffer
	err := png.Encode(&out, p.raster())
	return out.Bytes(), err
}

// Write draws a picture in the format of a file's name: .png, .svg or .pdf.
func Write(w io.Writer, name string, p Picture) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("draw %s: %w", p.kind(), err)
	}
	extension := strings.ToLower(filepath.Ext(name))
	content, err := encoders[extension](p)
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil {
		return fmt.Errorf("write %s as %s: %w", p.kind(), strings.ToUpper(extension[1:]), err)
	}
	return nil
}

// CheckName returns an error if a file's name is not that of a picture.
func CheckName(name string) error {
	if encoders[strings.ToLower(filepath.Ext(name))] == nil {
		return fmt.Errorf("%s: a picture's name ends in .png, .svg or .pdf", name)
	}
	return nil
}
