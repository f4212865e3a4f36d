package aggregate

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/profile"
)

// sitesOfRank is a process with the program at an address of its own: two calls
// of one line, one of another, and one from a library without names.
func sitesOfRank(rank int) *profile.Profile {
	base := uint64(rank+1) << 32
	row := func(site, calls, bytes, ns uint64) profile.Row {
		return profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Comm: -1, Callsite: site,
			Calls: calls, Messages: calls, Bytes: bytes, TimeNs: ns}
	}
	place := func(offset uint64) profile.Place {
		return profile.Place{Path: "/opt/app", BuildID: "beef", Offset: offset}
	}
	line := func(n int) profile.Symbol { return profile.Symbol{Function: "swap", Source: "/src/halo.c", Line: n} }
	return &profile.Profile{Rank: rank, Size: 2, State: profile.Finalized,
		Modules: []profile.Module{
			{Path: "/opt/app", BuildID: "beef", Start: base, End: base + 0x1000, Bias: base},
			{Path: "/opt/lib.so", Start: base + 0x2000, End: base + 0x3000, Bias: base + 0x2000},
		},
		Symbols: profile.Symbols{place(0x10): line(7), place(0x20): line(7), place(0x30): line(9)},
		Rows: []profile.Row{row(base+0x10, 1, 10, 100), row(base+0x20, 2, 20, uint64(300*rank)),
			row(base+0x30, 4, 4000, 50), row(base+0x2040, 8, 0, 10), row(0, 16, 1, 1)},
	}
}

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
	want := []facts{ // what was folded has no site
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

func TestShorten(t *testing.T) {
	o := TextOptions{}
	for label, want := range map[string]string{
		"swap halo.c:7": "swap halo.c:7",
		"grid::halo::Exchange::swap_borders halo.cpp:118": "swap_borders halo.cpp:118",
		"send+0x4b (a-very-long-library.so.40)":           "send+0x4b (a-very-long-li…",
		"exchange_borders_with_all halo.cpp:118":          "exchange_bor… halo.cpp:118",
		"f " + strings.Repeat("x", 40) + ".c:1":           "…" + strings.Repeat("x", 21) + ".c:1",
	} {
		if got := o.shorten(label, 26); got != want || utf8.RuneCountInString(got) > 26 {
			t.Errorf("%s: got %s, want %s", label, got, want)
		}
	}
}
