package tracefile

import (
	"bytes"
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// BenchmarkWriteParquet exports the events of one process.
func BenchmarkWriteParquet(b *testing.B) {
	for _, stream := range streams {
		b.Run(stream.name, func(b *testing.B) {
			l := stream.make(1, benchEvents)
			for b.Loop() {
				if err := WriteParquet(io.Discard, []profile.EventSource{l}); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(l.events.Len())
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			var out bytes.Buffer
			if err := WriteParquet(&out, []profile.EventSource{l}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(out.Len())/n, "B/event")
		})
	}
}
