package table

import (
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
)

func BenchmarkWriteParquet(b *testing.B) {
	src := tabletest.Stencil(1000)
	for b.Loop() {
		if err := WriteParquet(io.Discard, src); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(src)*tabletest.StencilRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
