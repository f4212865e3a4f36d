package patterns

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// linksOf returns the matrix of a graph of many ranks, from its links.
func linksOf(ranks int, graphs ...synth.Graph) *matrix.Matrix {
	m := new(matrix.Matrix)
	for from := range ranks {
		for _, g := range graphs {
			for _, l := range g.Out(from) {
				m.Add(matrix.Pair{From: from, To: l.Peer}, matrix.Volume{Bytes: l.Bytes * l.Messages, Messages: l.Messages})
			}
		}
	}
	return m
}

// BenchmarkOf finds the patterns of large jobs: a stencil with 26 neighbours, the same
// with random messages, a power law without any pattern, and a dense matrix.
func BenchmarkOf(b *testing.B) {
	const many = 100_000
	stencil := synth.NewStencil(many).Graph
	hubs := synth.Cart{Exchange: one, Grid: []int{many}, Periodic: no(1), Offsets: [][]int{{-3}, {1}, {-70}, {700}, {9000}}}
	for _, job := range []struct {
		name   string
		ranks  int
		graphs []synth.Graph
	}{
		{"stencil", many, []synth.Graph{stencil}},
		{"stencil and random", many, []synth.Graph{stencil, synth.NewRandomGraph(many, 8, 1)}},
		{"random", many, []synth.Graph{synth.NewRandomGraph(many, 26, 1)}},
		{"irregular offsets", many, []synth.Graph{hubs}},
		{"dense", 4096, []synth.Graph{synth.Groups{Exchange: one, Ranks: 4096, Size: 4096, Stride: 1}}},
		{"dense and stencil", 4096, []synth.Graph{synth.Groups{Exchange: one, Ranks: 4096, Size: 4096, Stride: 1}, synth.NewStencil(4096).Graph}},
	} {
		b.Run(job.name, func(b *testing.B) {
			m := linksOf(job.ranks, job.graphs...)
			var p Part
			for b.Loop() {
				p = Of(m, job.ranks)
			}
			for _, c := range p.Components {
				b.Logf("%s: %.3f", c.Text, c.Share)
			}
			b.ReportMetric(float64(m.Len())*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
