package plot

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/draw"
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

// pointsPerPixel is the size of a pixel on paper: a CSS pixel is 1/96 inch.
const pointsPerPixel = 72.0 / 96

// pdfOf returns a document of one page, an image, as ISO 32000-1 describes it: five objects,
// and a table with the position of each.
func pdfOf(img image.Image) []byte {
	size := img.Bounds().Size()
	pixels := new(bytes.Buffer)
	z := zlib.NewWriter(pixels)
	z.Write(rgb(img)) // a Buffer returns no errors
	z.Close()
	width, height := float64(size.X)*pointsPerPixel, float64(size.Y)*pointsPerPixel
	draws := fmt.Sprintf("%g 0 0 %g 0 0 cm /Im Do", width, height)
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var starts []int
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %g %g] /Resources << /XObject << /Im 5 0 R >> >> /Contents 4 0 R >>", width, height),
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(draws), draws),
		fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream",
			size.X, size.Y, pixels.Len(), pixels),
	} {
		starts = append(starts, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(starts)+1)
	for _, at := range starts {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(starts)+1, table)
	return out.Bytes()
}

// rgb returns the pixels of an image by row, three bytes each.
func rgb(img image.Image) []byte {
	bounds := img.Bounds()
	whole := image.NewRGBA(bounds)
	draw.Draw(whole, bounds, img, bounds.Min, draw.Src)
	out := make([]byte, 0, 3*bounds.Dx()*bounds.Dy())
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			out = append(out, whole.Pix[y*whole.Stride+4*x:][:3]...)
		}
	}
	return out
}
