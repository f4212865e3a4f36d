package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// ranks returns a heatmap of bytes between ranks.
func ranks(cells [][]float64) *Heatmap {
	return &Heatmap{Title: "run: bytes from rank to rank", Quantity: "bytes", Unit: Bytes,
		N: len(cells), PerBin: 1, Cells: cells, AxisName: "rank"}
}

// matrix returns n × n cells with the values of a function.
func matrix(n int, value func(from, to int) float64) [][]float64 {
	cells := make([][]float64, n)
	for i := range cells {
		cells[i] = make([]float64, n)
		for j := range cells[i] {
			cells[i][j] = value(i, j)
		}
	}
	return cells
}

// skewed differs from its transpose, its mirror images and every shifted copy
// of itself, so that a wrong position of a cell is noticed.
func skewed(from, to int) float64 {
	if from == to {
		return 0
	}
	return float64(1 + 3*from + 1000*to)
}

func drawn(t testing.TB, h *Heatmap) image.Image {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, Write(&out, ".png", h))
	img, err := png.Decode(&out)
	testenv.NoError(t, err)
	return img
}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }

func TestBins(t *testing.T) {
	for _, c := range []struct{ n, perBin, bins int }{
		{0, 1, 0}, {1, 1, 1}, {800, 1, 800},
		{801, 2, 401},        // 801 has no divisor that leaves 500
		{1000, 2, 500},       //
		{1600, 2, 800},       //
		{10_000, 16, 625},    // 13 would leave a last bin of 3
		{100_000, 125, 800},  //
		{100_003, 126, 794},  // a prime
		{1 << 20, 2048, 512}, // only one power of two is in the allowed range, 1311 to 2097
	} {
		if perBin, bins := Bins(c.n); perBin != c.perBin || bins != c.bins {
			t.Errorf("%d lines: %d bins of %d, want %d of %d", c.n, bins, perBin, c.bins, c.perBin)
		}
	}
}

func TestBinsHoldAllLines(t *testing.T) {
	for n := 1; n < 20_000; n++ {
		perBin, bins := Bins(n)
		if bins > 800 || bins*perBin < n || (bins-1)*perBin >= n {
			t.Fatalf("%d lines: %d bins of %d", n, bins, perBin)
		}
		if cellSize(bins) < 1 {
			t.Fatalf("%d bins: cells of %d pixels", bins, cellSize(bins))
		}
	}
}

// TestPNG checks the centre of each cell and, where there is no grid, its
// corners. A row is a sender, the first at the top; a column is a receiver, the
// first at the left.
func TestPNG(t *testing.T) {
	for _, n := range []int{1, 2, 4, 7, 64, 65, 100, 101, 333, 800} {
		h := ranks(matrix(n, skewed))
		img, l, s := drawn(t, h), h.layout(sans()), h.Scale()
		if size := img.Bounds().Size(); size.X != l.width || size.Y != l.height {
			t.Fatalf("%d ranks: %v pixels, want %d × %d", n, size, l.width, l.height)
		}
		spots := []int{l.cell / 2}
		if l.cell < gridFrom {
			spots = []int{0, l.cell / 2, l.cell - 1}
		}
		for i := range n {
			for j := range n {
				for _, d := range spots {
					got := rgba(img.At(l.left+j*l.cell+d, l.top+i*l.cell+d))
					if want := s.Color(h.Cells[i][j]); got != want {
						t.Fatalf("%d ranks: cell %d, %d has %v at %d, want %v", n, i, j, got, d, want)
					}
				}
			}
		}
	}
}

// TestRowsGoDown checks the orientation without using the layout. Only rank 0
// sends, to rank 2, so only the upper right quarter of the picture's dark frame
// has that colour.
func TestRowsGoDown(t *testing.T) {
	cells := matrix(3, func(from, to int) float64 { return 0 })
	cells[0][2] = 4096
	h := ranks(cells)
	img := drawn(t, h)
	want := h.Scale().Color(4096)
	var all, upperRight int
	b := img.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() * 3 / 4 { // the colour bar is to the right
			if rgba(img.At(x, y)) == want {
				all++
				if y < b.Dy()/2 && x > b.Dx()/2 {
					upperRight++
				}
			}
		}
	}
	if all < 10_000 || all != upperRight {
		t.Errorf("%d pixels have the cell's colour, %d of them in the upper right; want all of them there", all, upperRight)
	}
}

func TestPNGIsOfText(t *testing.T) {
	img := drawn(t, ranks(matrix(4, skewed)))
	dark := 0
	for y := range 40 { // the title
		for x := range img.Bounds().Dx() {
			if c := rgba(img.At(x, y)); c.R < 0x80 {
				dark++
			}
		}
	}
	if dark < 200 {
		t.Errorf("%d dark pixels in the title", dark)
	}
}

func TestSameBytesEachTime(t *testing.T) {
	for _, n := range []int{5, 150} {
		for _, name := range []string{".png", ".svg", ".pdf"} {
			var first, second bytes.Buffer
			for _, out := range []*bytes.Buffer{&first, &second} {
				testenv.NoError(t, Write(out, name, ranks(matrix(n, skewed))))
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s of %d ranks: two drawings differ", name, n)
			}
		}
	}
}

func TestExtremes(t *testing.T) {
	one := func(v float64) *Heatmap { return ranks([][]float64{{v}}) }
	two := func(v, w float64) *Heatmap { return ranks([][]float64{{0, v}, {w, 0}}) }
	for name, c := range map[string]struct {
		h    *Heatmap
		fact string
	}{
		"no ranks":       {ranks(nil), "0 ranks; nothing was sent"},
		"nothing sent":   {one(0), "1 rank; nothing was sent"},
		"one cell":       {one(math.MaxUint64), "1 rank; 1 of 1 cells in use; each 16 EiB"},
		"all equal":      {two(1536, 1536), "2 ranks; 2 of 4 cells in use; each 1.5 KiB"},
		"64 bits":        {two(1, math.MaxUint64), "2 ranks; 2 of 4 cells in use; least 1 B, greatest 16 EiB"},
		"all of float64": {two(math.SmallestNonzeroFloat64, math.MaxFloat64), "2 ranks; 2 of 4 cells in use; least 5e-324 B, greatest 1.49e+284 YiB"},
		"close together": {two(1e15, 1e15+1), "2 ranks; 2 of 4 cells in use; least 909.494701772928 TiB, greatest 909.494701772929 TiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(c.h.facts(), "; "); got != c.fact {
				t.Errorf("caption %q, want %q", got, c.fact)
			}
			drawn(t, c.h)
			parse(t, c.h)
		})
	}
}

func TestEqualValuesAreMidScale(t *testing.T) {
	s := ranks(matrix(3, func(int, int) float64 { return 7 })).Scale()
	if want := levelAt(0.5).color(); s.Color(7) != want || s.at(0).color() != want || s.at(1).color() != want {
		t.Errorf("got colour %v for 7 on a bar from %v to %v, want %v", s.Color(7), s.at(0).color(), s.at(1).color(), want)
	}
}

func TestRefused(t *testing.T) {
	good := matrix(3, skewed)
	for want, h := range map[string]*Heatmap{
		"draw heatmap: 3 lines in bins of 0":                              {N: 3, Cells: good},
		"draw heatmap: 3 rows of cells where 4 lines in bins of 1 make 4": {N: 4, PerBin: 1, Cells: good},
		"draw heatmap: 2001 cells a side, 2000 at most":                   {N: 2001, PerBin: 1},
		"draw heatmap: 2 labels of 3 lines":                               {N: 3, PerBin: 1, Cells: good, Labels: []string{"a", "b"}},
		"draw heatmap: row 1 has 1 cells of 2":                            {N: 2, PerBin: 1, Cells: [][]float64{{0, 1}, {2}}},
		"draw heatmap: cell 0, 0 is -1":                                   {N: 1, PerBin: 1, Cells: [][]float64{{-1}}},
		"draw heatmap: cell 0, 0 is NaN":                                  {N: 1, PerBin: 1, Cells: [][]float64{{math.NaN()}}},
		"draw heatmap: cell 0, 0 is +Inf":                                 {N: 1, PerBin: 1, Cells: [][]float64{{math.Inf(1)}}},
	} {
		var out bytes.Buffer
		for _, err := range []error{Write(&out, ".png", h), Write(&out, ".svg", h)} {
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if out.Len() != 0 {
			t.Errorf("%d bytes were written although the heatmap was refused", out.Len())
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestErrorsOfTheWriter(t *testing.T) {
	h := ranks(matrix(2, skewed))
	for _, err := range []error{Write(full{}, ".png", h), Write(full{}, ".svg", h), Write(full{}, ".pdf", h)} {
		if err == nil || !strings.HasPrefix(err.Error(), "write heatmap as ") {
			t.Errorf("got %v, want the error of the writer", err)
		}
	}
}

// BenchmarkPNG and BenchmarkSVG draw the largest pictures.
func BenchmarkPNG(b *testing.B) { benchmark(b, ".png") }
func BenchmarkSVG(b *testing.B) { benchmark(b, ".svg") }

func benchmark(b *testing.B, name string) {
	h := ranks(matrix(800, skewed))
	b.ReportAllocs()
	for b.Loop() {
		testenv.NoError(b, Write(io.Discard, name, h))
	}
}

// A border is a dark line in front of the first row and column of a group.
func TestBorders(t *testing.T) {
	h := ranks(matrix(4, func(from, to int) float64 { return 1000 }))
	h.Borders = []int{2}
	l, img := h.layout(sans()), h.raster()
	for cell := 1; cell < 4; cell++ {
		at := cell*l.cell - 1
		for _, p := range [][2]int{{l.left + at, l.top + l.cell/2}, {l.left + l.cell/2, l.top + at}} {
			if r, g, b, _ := img.At(p[0], p[1]).RGBA(); (r|g|b)>>8 < 0x40 != (cell == 2) {
				t.Errorf("cell %d: the pixel at %v is %x %x %x", cell, p, r>>8, g>>8, b>>8)
			}
		}
	}
}
