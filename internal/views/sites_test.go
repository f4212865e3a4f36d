package views_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

// The report names the modules without symbols, and tells where only line
// numbers are missing.
func TestNamelessSites(t *testing.T) {
	const none = ": it has no symbols: do not strip it, and compile with -g\n"
	app, lib := "call sites in app have no names", "call sites in lib.so have no names"
	for _, test := range []struct {
		name    string
		symbols profile.Symbols
		unnamed []aggregate.UnnamedFile
		lib     bool // whether calls from lib.so are listed
		want    string
	}{
		{"no symbols in one module", jobs.SitesOfRank(0).Symbols, nil, true, lib + none},
		{"no symbols in any", nil, nil, true, app + none + lib + none},
		{"changed, and stripped", nil, []aggregate.UnnamedFile{{Module: "/opt/app", Reason: "the file has changed"},
			{Module: "/opt/lib.so", Reason: "it is stripped", Stripped: true, Package: "lib-dbgsym"}}, true,
			app + ": the file has changed\n" + lib + ": it is stripped: install lib-dbgsym, or name the directory of its debug file: mpitrace report --debug-dir DIR\n"},
		{"functions without lines", profile.Symbols{{Path: "/opt/app", BuildID: "beef", Offset: 0x10}: {Function: "swap"},
			{Path: "/opt/app", BuildID: "beef", Offset: 0x20}: {Function: "swap"}, {Path: "/opt/app", BuildID: "beef", Offset: 0x30}: {Function: "swap"}}, nil, false,
			"no line numbers: the program has no debug information (compile with -g, or name the directory of its debug file: --debug-dir DIR)\n"},
		{"lines", jobs.SitesOfRank(0).Symbols, nil, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := jobs.SitesOfRank(0)
			p.Symbols = test.symbols
			if !test.lib {
				p.Rows = slices.DeleteFunc(p.Rows, func(r profile.Row) bool { return r.Callsite > p.Modules[0].End })
			}
			var b bytes.Buffer
			s := aggregate.New([]*profile.Profile{p}).Summary()
			s.UnnamedFiles = test.unnamed
			if err := Summary(&b, s, Options{Top: -1}); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(b.String(), "\ncall sites by time")
			got, _, _ = strings.Cut(got, "\n\n")
			if !strings.HasSuffix(got+"\n", "\n"+test.want) || test.want == "" && strings.Contains(got, "-g") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestTop checks that the tables of calls and of call sites have the requested
// number of lines.
func TestTop(t *testing.T) {
	s := aggregate.New(jobs.Fixture()).Summary()
	for top, want := range map[int]int{0: 0, 1: 1, 3: 3, -1: 10} { // Send, Recv, Allreduce, Barrier, Bcast, Get, Irecv, Isend, Put, Scatterv
		var b strings.Builder
		if err := Summary(&b, s, Options{Top: top}); err != nil {
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

// TestWidth checks that at 80 and at 100 columns no table is wider and no two
// rows are equal, and that nothing is cut if the width is not limited.
func TestWidth(t *testing.T) {
	const module = "/usr/lib/liblammps.so.0"
	names := []string{"LAMMPS_NS::GridComm::forward_comm", "LAMMPS_NS::CommBrick::forward_comm", "LAMMPS_NS::CommBrick::reverse_comm",
		"LAMMPS_NS::FixNeighHistory::pre_exchange_newton"}
	var ps []*profile.Profile
	for rank := range 2 {
		p := jobs.SitesOfRank(rank)
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
	s := aggregate.New(ps).Summary()
	for _, width := range []int{80, 100, 0} {
		var b strings.Builder
		if err := Summary(&b, s, Options{Width: width, Top: -1}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(b.String(), "\ncall ") // the first table begins
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
