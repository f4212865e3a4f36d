package trace

import (
	"testing"

	"github.com/mpitrace/mpitrace/internal/causes"

	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
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

// BenchmarkSavings replays the same jobs with as many changes as one replay tries.
func BenchmarkSavings(b *testing.B) {
	for _, shape := range synth.TraceShapes {
		b.Run(shape, func(b *testing.B) {
			job, err := synth.NamedTrace(shape, 64, 16, 2_000_000)
			testenv.NoError(b, err)
			r := replayed(b, job.Sources())
			list := make([]causes.Cause, maxChanges)
			for i := range list {
				list[i] = causes.Cause{Class: causes.Varying, Share: 1, Burst: &causes.Burst{
					Before: causes.Stop{Call: "Allreduce", Callsite: "main app.c:60"}, After: causes.Stop{Call: "Irecv", Callsite: "exchange app.c:40"}}}
			}
			for b.Loop() {
				testenv.NoError(b, r.savings(list))
			}
			b.ReportMetric(float64(job.Events())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
