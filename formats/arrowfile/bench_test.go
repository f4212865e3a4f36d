package arrowfile

import (
	"bytes"
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// benchJob is a job of 256 ranks that each have 500 rows.
func benchJob() (ps []*profile.Profile, rows int) {
	for rank := range 256 {
		p := testProfile("run", rank%4)
		p.Rank = rank
		for len(p.Rows) < 500 {
			r := p.Rows[len(p.Rows)%15]
			r.Callsite += uint64(len(p.Rows)) * 8
			r.Bytes, r.TimeNs = r.Bytes+uint64(rank), r.TimeNs*uint64(len(p.Rows))
			p.Rows = append(p.Rows, r)
		}
		ps, rows = append(ps, p), rows+len(p.Rows)
	}
	return ps, rows
}

func BenchmarkWriteProfile(b *testing.B) {
	ps, rows := benchJob()
	for b.Loop() {
		if err := WriteProfile(io.Discard, ps); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(len(encode(b, ps)))/float64(rows), "B/row")
}

func BenchmarkRead(b *testing.B) {
	ps, rows := benchJob()
	data := encode(b, ps)
	for b.Loop() {
		if _, err := read(bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
