package plot

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Two heatmaps side by side have the colours of one scale, the right one beside the left
// one.
func TestPair(t *testing.T) {
	of := func(title string, v float64) *Heatmap {
		h := ranks(matrix(2, func(from, to int) float64 { return v }))
		h.Title = title
		return h
	}
	p := NewHeatmapPair(*of("one", 10), *of("two", 1000))
	var b bytes.Buffer
	testenv.NoError(t, Write(&b, ".png", p))
	img, err := png.Decode(&b)
	testenv.NoError(t, err)
	scale := Scale{10, 1000}
	least, greatest := 0, 0 // pixels of cells in the left half, and in the right one
	width := img.Bounds().Dx() / 2
	for y := range img.Bounds().Dy() {
		for x := range 2 * width {
			switch c := rgba(img.At(x, y)); {
			case c == scale.Color(10) && x < width:
				least++
			case c == scale.Color(1000) && x >= width:
				greatest++
			}
		}
	}
	if least < 100_000 || greatest < 100_000 {
		t.Errorf("%d pixels of the least value on the left, %d of the greatest on the right", least, greatest)
	}
	b.Reset()
	testenv.NoError(t, Write(&b, ".svg", p))
	text := b.String()
	if n := strings.Count(text, "<svg "); n != 3 || strings.Count(text, "<?xml") != 1 || strings.Count(text, "</svg>") != n {
		t.Errorf("%d documents in\n%.2000s", n, text)
	}
	for _, want := range []string{"<title>one</title>", "<title>two</title>", Hex(scale.Color(10)), Hex(scale.Color(1000))} {
		if !strings.Contains(text, want) {
			t.Errorf("the SVG lacks %s", want)
		}
	}
}

// The table of a PDF has the position of each object, and the image has the pixels of the
// PNG.
func TestPairPDF(t *testing.T) {
	p := NewHeatmapPair(*ranks(matrix(2, skewed)), *ranks(matrix(2, skewed)))
	var doc, picture bytes.Buffer
	testenv.NoError(t, errors.Join(Write(&doc, ".pdf", p), Write(&picture, ".png", p)))
	img, err := png.Decode(&picture)
	testenv.NoError(t, err)
	text := doc.String()
	var table, n int
	if _, err := fmt.Sscanf(text[strings.Index(text, "startxref\n"):], "startxref\n%d\n%%%%EOF", &table); err != nil || !strings.HasPrefix(text[table:], "xref\n0 6\n") {
		t.Fatalf("no table at %d, %v", table, err)
	}
	for i, entry := range strings.Split(text[table:], "\n")[3:8] {
		at, err := strconv.Atoi(entry[:10])
		if len(entry) != 19 || err != nil || !strings.HasPrefix(text[at:], fmt.Sprintf("%d 0 obj\n", i+1)) {
			t.Errorf("object %d is not at %q", i+1, entry)
		}
	}
	_, stream, _ := strings.Cut(text[strings.Index(text, "/Subtype /Image"):], "stream\n")
	z, err := zlib.NewReader(strings.NewReader(stream))
	testenv.NoError(t, err)
	pixels, err := io.ReadAll(z)
	if size := img.Bounds().Size(); err != nil || len(pixels) != 3*size.X*size.Y || !strings.Contains(text, fmt.Sprintf("/Width %d /Height %d ", size.X, size.Y)) {
		t.Fatalf("%d bytes of pixels, %v", len(pixels), err)
	}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if c := rgba(img.At(x, y)); !bytes.Equal(pixels[n:n+3], []byte{c.R, c.G, c.B}) {
				t.Fatalf("pixel %d, %d is %v, want %v", x, y, pixels[n:n+3], c)
			}
			n += 3
		}
	}
}

func TestPairRefused(t *testing.T) {
	good, bad := ranks(matrix(2, skewed)), ranks(matrix(2, skewed))
	bad.Cells[1][1] = -1
	for _, p := range []*HeatmapPair{NewHeatmapPair(*good, *bad), NewHeatmapPair(*bad, *good)} {
		if err := Write(new(bytes.Buffer), ".png", p); err == nil || !strings.HasPrefix(err.Error(), "draw heatmaps: cell 1, 1 is -1") {
			t.Errorf("got %v", err)
		}
	}
}
