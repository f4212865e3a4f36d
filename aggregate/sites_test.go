package aggregate

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

func TestCallSites(t *testing.T) {
	s := New([]*profile.Profile{sitesOfRank(1), sitesOfRank(0)}).Summary()
	type facts struct {
		label       string
		calls       uint64
		bytes       uint64
		offset      uint64
		min, max    uint64
		least, most int
	}
	want := []facts{ // folded calls have no call site
		{"swap halo.c:7", 6, 60, 0x10, 100, 400, 0, 1},
		{"swap halo.c:9", 8, 8000, 0x30, 50, 50, 0, 0},
		{"lib.so+0x40", 16, 0, 0x40, 10, 10, 0, 0},
	}
	if len(s.CallSites) != len(want) {
		t.Fatalf("%d call sites, want %d: %v", len(s.CallSites), len(want), s.CallSites)
	}
	for i, c := range s.CallSites {
		r := c.PerRank
		if got := (facts{c.String(), c.Calls, c.Bytes, c.Offset, r.MinNs, r.MaxNs, r.MinRank, r.MaxRank}); got != want[i] {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
	SortSites(s.CallSites, ByBytes)
	if first := s.CallSites[0].String(); first != "swap halo.c:9" {
		t.Errorf("by bytes %s comes first", first)
	}
	SortSites(s.CallSites, ByCalls)
	if first := s.CallSites[0].String(); first != "lib.so+0x40" {
		t.Errorf("by calls %s comes first", first)
	}
}
