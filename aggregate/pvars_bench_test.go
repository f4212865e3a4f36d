package aggregate

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// BenchmarkPvars adds up a process with 100 readings of 33 variables of 8
// elements each.
func BenchmarkPvars(b *testing.B) {
	p := fixtureRank(0)
	const variables, times, elements = 33, 100, 8
	for i := range variables {
		p.Pvars = append(p.Pvars, profile.Pvar{Name: string(rune('a' + i)), Class: profile.PvarClass(1 + i%10), Type: profile.PvarUnsigned})
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: i, Comm: -1, Count: elements})
	}
	for k := range times {
		for i := range variables {
			p.Readings = append(p.Readings, profile.Reading{Handle: i, Slice: uint32(k / 10), At: start + int64(k)*ms, Values: make([]uint64, elements)})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		s := pvarSums{}
		s.add(p)
	}
	b.ReportMetric(float64(len(p.Readings)*elements*b.N)/b.Elapsed().Seconds(), "values/s")
}
