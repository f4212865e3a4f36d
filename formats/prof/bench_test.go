package prof

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// stencil returns the lines of the ranks of a 3-D stencil with 26 neighbours,
// all of one kind: E lines have histograms.
func stencil(b *testing.B, kind profile.Kind) []byte {
	b.Helper()
	const side = 32
	var t profile.Traffic
	for from := range side * side * side / 8 {
		for k := range 26 {
			f := profile.Flow{Kind: kind, From: from, To: from + 1 + k*side, Bytes: uint64(8192 * (k + 1) * 100), Messages: 100}
			if kind == profile.External {
				f.Histogram = new(profile.Histogram)
				f.Histogram[14+k/8] = 100
			}
			t.Flows = append(t.Flows, f)
		}
	}
	var text bytes.Buffer
	testenv.NoError(b, Write(&text, &t))
	return text.Bytes()
}

// BenchmarkScan measures how fast lines with and without histograms are read
// and added up.
func BenchmarkScan(b *testing.B) {
	for _, c := range []struct {
		name       string
		kind       profile.Kind
		histograms bool
	}{
		{"histograms wanted", profile.External, true},
		{"histograms checked", profile.External, false},
		{"no histograms", profile.Collective, false},
	} {
		text := stencil(b, c.kind)
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			var sum profile.Flow
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				err := Scan(bytes.NewReader(text), "x.prof", Handler{Histograms: c.histograms, Flow: func(f *profile.Flow) {
					sum.Bytes += f.Bytes
					sum.Messages += f.Messages
				}})
				testenv.NoError(b, err)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for name, kind := range map[string]profile.Kind{"histograms": profile.External, "no-histograms": profile.Collective} {
		text := stencil(b, kind)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(text), "x.prof"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
