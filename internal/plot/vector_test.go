package plot

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// document holds the elements of an SVG that the tests check.
type document struct {
	XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	Title   string   `xml:"title"`
	Cells   []struct {
		X      int    `xml:"x,attr"`
		Y      int    `xml:"y,attr"`
		Width  int    `xml:"width,attr"`
		Height int    `xml:"height,attr"`
		Fill   string `xml:"fill,attr"`
		Title  string `xml:"title"`
	} `xml:"g>rect"`
	Images []struct {
		X     int    `xml:"x,attr"`
		Y     int    `xml:"y,attr"`
		Width int    `xml:"width,attr"`
		Href  string `xml:"http://www.w3.org/1999/xlink href,attr"`
	} `xml:"image"`
	Texts []string `xml:"text"`
}

func parse(t *testing.T, h *Heatmap) document {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, Write(&out, ".svg", h))
	var d document
	if err := xml.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return d
}

func TestSVG(t *testing.T) {
	h := ranks([][]float64{{0, 512, 0}, {0, 0, 1536}, {1 << 20, 0, 0}})
	h.Note = func(from, to int) string { return fmt.Sprintf("%d messages", 10*from+to) }
	d, l, s := parse(t, h), h.layout(sans()), h.Scale()
	if len(d.Cells) != 3 || len(d.Images) != 0 {
		t.Fatalf("%d cells and %d images, want 3 and none", len(d.Cells), len(d.Images))
	}
	for i, want := range []struct {
		from, to int
		title    string
	}{
		{0, 1, "rank 0 → rank 1: 512 B, 1 messages"},
		{1, 2, "rank 1 → rank 2: 1.5 KiB, 12 messages"},
		{2, 0, "rank 2 → rank 0: 1 MiB, 20 messages"},
	} {
		c := d.Cells[i]
		if c.Title != want.title || c.Fill != Hex(s.Color(h.Cells[want.from][want.to])) {
			t.Errorf("cell %d: %q in %s, want %q in %s", i, c.Title, c.Fill, want.title, Hex(s.Color(h.Cells[want.from][want.to])))
		}
		if c.X != l.left+want.to*l.cell || c.Y != l.top+want.from*l.cell || c.Width != l.cell || c.Height != l.cell {
			t.Errorf("cell %d, %d is %d × %d at %d, %d", want.from, want.to, c.Width, c.Height, c.X, c.Y)
		}
	}
	for _, text := range []string{"run: bytes from rank to rank", "sending rank", "receiving rank", "0", "1", "2",
		"bytes, log scale", "1 KiB", "1 MiB", "none", "3 ranks; 3 of 9 cells in use; least 512 B, greatest 1 MiB"} {
		if !slices.Contains(d.Texts, text) {
			t.Errorf("no text %q in %q", text, d.Texts)
		}
	}
}

// TestSVGOfManyCells requires that many cells become one image, whose pixels
// have the colours of the cells.
func TestSVGOfManyCells(t *testing.T) {
	if n := len(parse(t, ranks(matrix(100, skewed))).Cells); n != 9900 {
		t.Errorf("%d cells of 100 ranks, want 9900", n)
	}
	h := ranks(matrix(101, skewed))
	d, l, s := parse(t, h), h.layout(sans()), h.Scale()
	if len(d.Cells) != 0 || len(d.Images) != 1 {
		t.Fatalf("%d cells and %d images, want one image", len(d.Cells), len(d.Images))
	}
	image := d.Images[0]
	if image.X != l.left || image.Y != l.top || image.Width != 101*l.cell {
		t.Errorf("image of %d pixels at %d, %d", image.Width, image.X, image.Y)
	}
	data, is := strings.CutPrefix(image.Href, "data:image/png;base64,")
	if !is {
		t.Fatalf("image at %.40q", image.Href)
	}
	img, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	testenv.NoError(t, err)
	for i, row := range h.Cells {
		for j, v := range row {
			if got := rgba(img.At(j*l.cell, i*l.cell)); got != s.Color(v) {
				t.Fatalf("cell %d, %d has %v, want %v", i, j, got, s.Color(v))
			}
		}
	}
}

func TestSVGOfHostileNames(t *testing.T) {
	h := ranks([][]float64{{0, 1}, {1, 0}})
	h.Title = "a<b>&\"c\x00\xff"
	h.Labels = []string{"</svg>\x1b[31m", "n\no"}
	d := parse(t, h)
	if want := "a<b>&\"c\uFFFD\uFFFD"; d.Title != want || d.Texts[0] != want {
		t.Errorf("title %q and %q, want %q", d.Title, d.Texts[0], want)
	}
	if want := "</svg>\uFFFD[31m → n\uFFFDo: 1 B"; d.Cells[0].Title != want {
		t.Errorf("tooltip %q, want %q", d.Cells[0].Title, want)
	}
}

func TestTooltips(t *testing.T) {
	cells := [][]float64{{0, 1500}, {0, 0}}
	for want, h := range map[string]*Heatmap{
		"ranks 0–2 → ranks 3–4: 1,500 messages":   {Quantity: "messages", N: 5, PerBin: 3, AxisName: "rank"},
		"ranks 0–1 → rank 2: 1.46 KiB":            {Quantity: "bytes", Unit: Bytes, N: 3, PerBin: 2, AxisName: "rank"},
		"block 0 → block 1: 1.46 KiB per message": {Quantity: "bytes per message", Unit: Bytes, N: 2, PerBin: 1, AxisName: "block of 8 ranks"},
		"n1 → n2: 1.46 KiB":                       {Quantity: "bytes", Unit: Bytes, N: 2, PerBin: 1, AxisName: "node", Labels: []string{"n1", "n2"}},
		"n1 … n2 → n3: 1.46 KiB":                  {Quantity: "bytes", Unit: Bytes, N: 3, PerBin: 2, AxisName: "node", Labels: []string{"n1", "n2", "n3"}},
	} {
		h.Cells = cells
		if got := h.tooltip(0, 1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
