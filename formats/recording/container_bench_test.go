package recording_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// ranksOfNode is the number of ranks of a node in the benchmarks.
const ranksOfNode = 128

// recordingsOfNode returns the recordings of the first node of a stencil job, by
// rank.
func recordingsOfNode(b testing.TB) (raws [][]byte) {
	j := synth.NewStencil(1 << 15)
	j.PerNode = ranksOfNode
	for rank := range ranksOfNode {
		raw, err := recordingtest.Append(nil, j.Profile(rank))
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	return raws
}

// pack returns the recordings in a packed container.
func pack(b testing.TB, raws [][]byte) []byte {
	var out bytes.Buffer
	w := recording.NewContainerWriter(&out, nil)
	testenv.NoError(b, w.Learn(len(raws), func(i int) []byte { return raws[i] }))
	for rank, raw := range raws {
		testenv.NoError(b, w.Add(fmt.Sprintf("node-%d-1.rec", rank+1), bytes.NewReader(raw), int64(len(raw))))
	}
	testenv.NoError(b, w.Close())
	return out.Bytes()
}

func containerOfNode(b testing.TB) string {
	path := filepath.Join(b.TempDir(), "job"+recording.ContainerSuffix)
	testenv.WriteFile(b, path, pack(b, recordingsOfNode(b)))
	return path
}

// BenchmarkContainerHeads opens a packed container and reads the heads of its
// recordings, which are in the index.
func BenchmarkContainerHeads(b *testing.B) {
	path := containerOfNode(b)
	for b.Loop() {
		c, err := recording.OpenContainer(path)
		if err != nil || len(c.Heads()) != ranksOfNode {
			b.Fatal(err)
		}
		c.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ranksOfNode, "ns/rank")
}

// BenchmarkContainerRead reads the recordings of a packed container.
func BenchmarkContainerRead(b *testing.B) {
	c, err := recording.OpenContainer(containerOfNode(b))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	rows := 0
	for i := 0; b.Loop(); i++ {
		p, err := recording.ReadFile(filepath.Join(c.Path(), c.Heads()[i%ranksOfNode].Name))
		if err != nil || len(p.Problems) > 0 {
			b.Fatal(err)
		}
		rows += len(p.Rows)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkContainerWrite packs the recordings of a node.
func BenchmarkContainerWrite(b *testing.B) {
	raws := recordingsOfNode(b)
	size := 0
	for b.Loop() {
		size = len(pack(b, raws))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ranksOfNode, "ns/rank")
	b.ReportMetric(float64(size)/ranksOfNode, "B/rank")
}

// TestReadingAllocates checks how much memory a recording in a packed container takes to read,
// beyond buffers that are used again. A report of a million ranks pays for each byte with its
// garbage collection.
func TestReadingAllocates(t *testing.T) {
	const rounds, most = 8, 14 << 10
	path := containerOfNode(t)
	read := func() {
		for rank := range ranksOfNode {
			p, err := recording.ReadFile(filepath.Join(path, fmt.Sprintf("node-%d-1.rec", rank+1)))
			if err != nil {
				t.Fatal(err)
			}
			recording.Release(p)
		}
	}
	read() // fills the buffers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		read()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / (rounds * ranksOfNode); each > most {
		t.Errorf("%d bytes a recording, at most %d expected", each, most)
	}
}
