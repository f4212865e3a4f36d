package parquetfile

import (
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/formats/facts/factstest"
)

func BenchmarkWrite(b *testing.B) {
	src := factstest.Stencil(1000)
	for b.Loop() {
		if err := Write(io.Discard, src); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(src)*factstest.StencilRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
