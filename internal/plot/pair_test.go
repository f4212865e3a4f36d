package plot

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// Two heatmaps side by side have the colours of one scale, the right one beside the left
// one.
func TestPair(t *testing.T) {
	of := func(title string, v float64) *Heatmap {
		h := ranks(matrix(2, func(from, to int) float64 { return v }))
		h.Title = title
		return h
	}
	p := &Pair{of("one", 10), of("two", 1000)}
	var b bytes.Buffer
	if err := p.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
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

func TestPairRefused(t *testing.T) {
	good, bad := ranks(matrix(2, skewed)), ranks(matrix(2, skewed))
	bad.Cells[1][1] = -1
	for _, p := range []Pair{{good, bad}, {bad, good}} {
		if err := p.WritePNG(new(bytes.Buffer)); err == nil || !strings.HasPrefix(err.Error(), "draw heatmaps: cell 1, 1 is -1") {
			t.Errorf("got %v", err)
		}
	}
}
