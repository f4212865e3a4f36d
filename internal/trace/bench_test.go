package trace

import (
	"testing"

	"github.com/mpitrace/mpitrace/tests/synth"
)

// BenchmarkAnalyze analyses a halo exchange of 64 ranks. The events are
// generated while they are read.
func BenchmarkAnalyze(b *testing.B) {
	for _, shape := range synth.TraceShapes {
		b.Run(shape, func(b *testing.B) {
			job, err := synth.NamedTrace(shape, 64, 16, 2_000_000)
			if err != nil {
				b.Fatal(err)
			}
			sources := job.Sources()
			sources[0].Trace() // goes through the job
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(sources, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(job.Events())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
