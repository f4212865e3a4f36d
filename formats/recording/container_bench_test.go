package recording

import (
	"bytes"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// ranksOfNode is the number of ranks of a node in the benchmarks.
const ranksOfNode = 128

// nodeOf returns the processes of the first node of a stencil job.
func nodeOf(b *testing.B) (ps []*profile.Profile) {
	j := synth.NewStencil(1 << 15)
	j.PerNode = ranksOfNode
	for rank := range ranksOfNode {
		ps = append(ps, j.Profile(rank))
	}
	return ps
}

// BenchmarkContainerHeads opens a packed container and reads the heads of its
// recordings, which are in the index.
func BenchmarkContainerHeads(b *testing.B) {
	path := writeContainer(b, inMemory(b, nodeOf(b)...))
	for b.Loop() {
		c, err := OpenContainer(path)
		if err != nil || len(c.Heads()) != ranksOfNode {
			b.Fatal(err)
		}
		c.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ranksOfNode, "ns/rank")
}

// BenchmarkContainerRead reads the recordings of a packed container.
func BenchmarkContainerRead(b *testing.B) {
	path := writeContainer(b, inMemory(b, nodeOf(b)...))
	c := opening(b, path)
	rows := 0
	for i := 0; b.Loop(); i++ {
		p, err := c.Read(i % ranksOfNode)
		if err != nil || len(p.Problems) > 0 {
			b.Fatal(err)
		}
		rows += len(p.Rows)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkContainerWrite packs the recordings of a node.
func BenchmarkContainerWrite(b *testing.B) {
	var raws [][]byte
	ps := nodeOf(b)
	for _, p := range ps {
		raws = append(raws, imageBytes(b, p))
	}
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		w := NewContainerWriter(&out)
		for i, p := range ps {
			if err := w.AddBytes(named(p), raws[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ranksOfNode, "ns/rank")
	b.ReportMetric(float64(out.Len())/ranksOfNode, "B/rank")
}
