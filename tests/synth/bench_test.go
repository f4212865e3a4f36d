package synth

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
)

// middle returns the profile of a rank in the middle of a stencil of 100,000
// ranks, which has 26 neighbours.
func middle() *profile.Profile { return NewStencil(100_000).Profile(51_020) }

func rate(b *testing.B, p *profile.Profile) {
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(b.N)/seconds, "recordings/s")
	b.ReportMetric(float64(b.N*len(p.Rows))/seconds, "rows/s")
}

func BenchmarkProfile(b *testing.B) {
	j := NewStencil(100_000)
	for b.Loop() {
		j.Profile(51_020)
	}
	rate(b, middle())
}

func BenchmarkWriteRecording(b *testing.B) {
	p, dir := middle(), b.TempDir()
	for n := 0; b.Loop(); n++ { // each writes its own file, as each rank of a job does
		recordingtest.Record(b, filepath.Join(dir, fmt.Sprintf("%d.rec", n)), p)
	}
	rate(b, p)
}

func BenchmarkReadRecording(b *testing.B) {
	p, path := middle(), filepath.Join(b.TempDir(), "r.rec")
	recordingtest.Record(b, path, p)
	for b.Loop() {
		if _, err := recording.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
	rate(b, p)
}
