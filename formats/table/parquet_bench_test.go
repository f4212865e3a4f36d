package table

import (
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/tests/synth"
)

func BenchmarkWriteParquet(b *testing.B) {
	src := synth.NewStencil(1000)
	for b.Loop() {
		if err := WriteParquet(io.Discard, src); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rowsOf(src))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
