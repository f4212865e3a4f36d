package timeline

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// BenchmarkDraw reads ten million events of four ranks from memory. Half of
// them are messages.
func BenchmarkDraw(b *testing.B) {
	for name, messages := range map[string]bool{"messages": true, "calls": false} {
		b.Run(name, func(b *testing.B) {
			src := exchange(4, 2500)
			for b.Loop() {
				if _, err := Draw(src, Options{Width: 1600, Height: 900, Messages: messages}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*10e6/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// exchange returns ranks that each repeat a thousand events.
func exchange(ranks, times int) []profile.EventSource {
	var src []profile.EventSource
	for r := range ranks {
		p := newProcess(r, ranks)
		for i := range 1000 {
			at := int64(1000 * i)
			switch i % 4 {
			case 0:
				p.send("Isend", r^1, at, 100, 100, 3, uint32(i/4+1))
			case 1:
				p.call("Waitall", profile.P2P, at, 400)
			case 2:
				p.receive("Irecv", r^1, at, 0, 100, 3, uint32(i/4+1))
			default:
				p.call("Allreduce", profile.AllToAll, at, 400)
			}
		}
		src = append(src, endless{p, times})
	}
	return src
}
