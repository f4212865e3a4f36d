package aggregate

import (
	"runtime"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// BenchmarkConservation compares 120,000 of 400 million pairs, of a job of
// 20,000 ranks that exchange with six neighbours each, at most a thousand ranks
// away.
func BenchmarkConservation(b *testing.B) {
	const n = 20_000
	ps := make([]*profile.Profile, n)
	for r := range ps {
		ps[r] = &profile.Profile{Rank: r, Size: n, State: profile.Finalized,
			Comms: []profile.Comm{{ID: "1", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: n}}}}
		for _, d := range []int{1, -1, 30, -30, 1000, -1000} {
			peer := int32((r + d + n) % n)
			for _, way := range []profile.Direction{profile.Send, profile.Recv} {
				ps[r].Rows = append(ps[r].Rows, profile.Row{Class: profile.P2P, Direction: way, Peer: peer, Messages: 10, Bytes: 80})
			}
		}
	}
	j := New(ps)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rounds := 0
	for b.Loop() {
		if c := j.Conservation(AllRanks); c.Verdict != Conserved || c.Pairs != 6*n {
			b.Fatalf("got %+v", c)
		}
		rounds++
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(rounds)/(6*n), "B/pair")
}
