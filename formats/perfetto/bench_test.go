package perfetto

import (
	"testing"

	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// counted counts the bytes written to it.
type counted int64

func (c *counted) Write(p []byte) (int, error) {
	*c += counted(len(p))
	return len(p), nil
}

// BenchmarkWrite writes a job of 16 ranks. Two thirds of the events are slices;
// every third slice has an arrow and changes four counters.
func BenchmarkWrite(b *testing.B) {
	const ranks, steps = 16, 2000
	ps := jobs.Sources(ring(ranks, steps)...)
	for _, test := range []struct {
		name string
		o    Options
	}{{"all", Options{}}, {"10000", Options{MaxEvents: 10000}}} {
		b.Run(test.name, func(b *testing.B) {
			var size counted
			for b.Loop() {
				size = 0
				testenv.NoError(b, Write(&size, ps, test.o))
			}
			events := float64(ranks * steps * 5)
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(size)/events, "B/event")
		})
	}
}
