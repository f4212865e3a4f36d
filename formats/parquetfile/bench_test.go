package parquetfile

import (
	"io"
	"testing"

	"github.com/mpitrace/mpitrace/formats/facts/factstest"
	"github.com/mpitrace/mpitrace/profile"
)

func BenchmarkWrite(b *testing.B) {
	src := factstest.Stencil(1000)
	for b.Loop() {
		if err := Write(io.Discard, src); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(src)*factstest.StencilRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkRead(b *testing.B) {
	src := factstest.Stencil(1000)
	var ps []*profile.Profile
	if err := src.Each(func(p *profile.Profile) error { ps = append(ps, p); return nil }); err != nil {
		b.Fatal(err)
	}
	data := encode(b, ps)
	for b.Loop() {
		if _, err := readBytes(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(src)*factstest.StencilRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(len(data))/float64(src), "B/rank")
}
