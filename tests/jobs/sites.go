package jobs

import "github.com/mpitrace/mpitrace/profile"

// Moved returns SitesOfRank with all source lines shifted down by a number of
// lines.
func Moved(rank, lines int) *profile.Profile {
	p := SitesOfRank(rank)
	for at, s := range p.Symbols {
		s.Line += lines
		p.Symbols[at] = s
	}
	return p
}

// SitesOfRank returns a process that has loaded the program at an address of
// its own. It has two call sites in one source line, one in another line, one
// in a library without symbols, and one that is unknown.
func SitesOfRank(rank int) *profile.Profile {
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
