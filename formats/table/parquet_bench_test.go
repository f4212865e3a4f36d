package table

import (
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func BenchmarkWriteParquet(b *testing.B) {
	src := synth.NewStencil(1000)
	for b.Loop() {
		testenv.NoError(b, WriteParquet(io.Discard, src))
	}
	b.ReportMetric(float64(rowsOf(src))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
