package aggregate

import (
	"bytes"
	"slices"
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

// The report says which modules have no names, and where only lines are missing.
func TestNamelessSites(t *testing.T) {
	for _, test := range []struct {
		name    string
		symbols profile.Symbols
		lib     bool // calls from it are listed
		want    string
	}{
		{"no symbols in one module", sitesOfRank(0).Symbols, true, "call sites without names: lib.so has no symbols (do not strip; compile with -g)\n"},
		{"no symbols in any", nil, true, "call sites without names: app, lib.so have no symbols (do not strip; compile with -g)\n"},
		{"functions without lines", profile.Symbols{{Path: "/opt/app", BuildID: "beef", Offset: 0x10}: {Function: "swap"},
			{Path: "/opt/app", BuildID: "beef", Offset: 0x20}: {Function: "swap"}, {Path: "/opt/app", BuildID: "beef", Offset: 0x30}: {Function: "swap"}}, false,
			"no line numbers: the program has no debug information (compile with -g)\n"},
		{"lines", sitesOfRank(0).Symbols, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := sitesOfRank(0)
			p.Symbols = test.symbols
			if !test.lib {
				p.Rows = slices.DeleteFunc(p.Rows, func(r profile.Row) bool { return r.Callsite > p.Modules[0].End })
			}
			var b bytes.Buffer
			if err := New([]*profile.Profile{p}).Summary().Text(&b, TextOptions{Sites: -1}); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(b.String(), "\ncall sites by time")
			got, _, _ = strings.Cut(got, "\n\n")
			lines := strings.SplitAfter(got+"\n", "\n")
			if last := lines[len(lines)-2]; test.want != "" && last != test.want || test.want == "" && strings.HasSuffix(last, "-g)\n") {
				t.Errorf("got %q, want %q", last, test.want)
			}
		})
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

// TestWidth: in 80 and in 100 columns no table is wider, and no two rows look
// alike; where there is no terminal nothing is cut.
func TestWidth(t *testing.T) {
	const module = "/usr/lib/liblammps.so.0"
	names := []string{"LAMMPS_NS::GridComm::forward_comm", "LAMMPS_NS::CommBrick::forward_comm", "LAMMPS_NS::CommBrick::reverse_comm",
		"LAMMPS_NS::FixNeighHistory::pre_exchange_newton"}
	var ps []*profile.Profile
	for rank := range 2 {
		p := sitesOfRank(rank)
		p.Modules = append(p.Modules, profile.Module{Path: module, Start: 0x7000, End: 0x9000, Bias: 0x7000})
		for i, name := range append(names, names...) {
			offset := uint64(0x10 * (i + 1))
			p.Symbols[profile.Place{Path: module, Offset: offset}] = profile.Symbol{Function: name, Into: 0x100 + offset}
			p.Rows = append(p.Rows, profile.Row{Call: "Sendrecv_replace", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: int32(1 - rank),
				SizeClass: uint8(10 * i % 30), Comm: -1, Callsite: 0x7000 + offset, Calls: 1234567, Messages: 1234567, Bytes: 98765432, TimeNs: 1e9, MaxNs: 1e6})
		}
		p.FinalizeStart, p.InitEnd, p.End = 9e9, 1e9, 1e10
		ps = append(ps, p)
	}
	s := New(ps).Summary()
	for _, width := range []int{80, 100, 0} {
		var b strings.Builder
		if err := s.Text(&b, TextOptions{Width: width, Sites: -1}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(b.String(), "\n\n") // tables begin
		tables, _, _ := strings.Cut(rest, "\nconservation")
		var sites []string
		for line := range strings.Lines(tables) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); width > 0 && n > width && !strings.HasPrefix(line, "top pairs") {
				t.Errorf("%d characters, more than %d: %s", n, width, line)
			}
			if strings.Contains(line, "(liblammps.so.0)") {
				label, _, _ := strings.Cut(line, ")")
				sites = append(sites, label)
			}
		}
		slices.Sort(sites)
		if distinct := slices.Compact(slices.Clone(sites)); len(sites) != 8 || len(distinct) != 8 {
			t.Errorf("in %d columns 8 call sites look as %d:\n%s", width, len(distinct), tables)
		}
		if full := strings.Count(tables, "LAMMPS_NS::"); width == 0 && full != 8 {
			t.Errorf("%d of 8 names are whole:\n%s", full, tables)
		}
		for _, class := range []string{"Grid", "Comm", "FixN"} {
			if !strings.Contains(tables, class) {
				t.Errorf("in %d columns class %s is gone:\n%s", width, class, tables)
			}
		}
		if said := strings.Contains(b.String(), "left out to fit"); said != (width > 0) {
			t.Errorf("in %d columns, left out: %v", width, said)
		}
	}
}

// TestTop: the tables of calls and of call sites have as many lines as are wanted.
func TestTop(t *testing.T) {
	s := New(fixture()).Summary()
	for top, want := range map[int]int{0: 0, 1: 1, 3: 3, -1: 10} { // Send, Recv, Allreduce, Barrier, Bcast, Get, Irecv, Isend, Put, Scatterv
		var b strings.Builder
		if err := s.Text(&b, TextOptions{Sites: top}); err != nil {
			t.Fatal(err)
		}
		_, calls, _ := strings.Cut(b.String(), "\ncall  ")
		calls, _, _ = strings.Cut(calls, "\n\n")
		got := strings.Count(calls, "\n")
		if strings.Contains(calls, "more call") {
			got--
		}
		if top != 0 && got != want || top == 0 && calls != "" {
			t.Errorf("--top %d: %d calls, want %d:\n%s", top, got, want, calls)
		}
	}
}
