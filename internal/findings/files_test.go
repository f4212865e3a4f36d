package findings

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// accessing returns a summary of two ranks that spend a share of 10 s each in calls on files, at one
// call site for each call.
func accessing(share float64, calls ...aggregate.CallSite) *aggregate.Summary {
	s := dividedInto(parts{aggregate.FileIO: share})
	s.CallSites = calls
	for i := range s.Ranks {
		s.Ranks[i].Activities[profile.InFileIO] = 1
	}
	return s
}

// fileSite returns the calls of some ranks at one place, which move bytes.
func fileSite(call string, ranks int, calls, bytes uint64, seconds float64) aggregate.CallSite {
	return aggregate.CallSite{Site: aggregate.Site{NamedPlace: aggregate.NamedPlace{Label: "out app.c:5"}}, Call: call, Class: profile.IO.String(),
		Totals: aggregate.Totals{Calls: calls, OwnNs: uint64(1e9 * seconds)}, Sent: matrix.Volume{Bytes: bytes}, PerRank: aggregate.RankSpread{Ranks: ranks}}
}

// TestFileAccess checks what is said of calls on files, and what to try.
func TestFileAccess(t *testing.T) {
	for _, test := range []struct {
		name  string
		share float64
		sites []aggregate.CallSite
		text  string // empty for no finding
		try   string
	}{
		{"nearly", 0.049, []aggregate.CallSite{fileSite("File_open", 2, 20, 0, 0.98)}, "", ""},
		{"opened in each step", 0.3, []aggregate.CallSite{fileSite("File_open", 2, 20, 0, 4), fileSite("File_write_at_all", 2, 20, 20<<20, 2)},
			"MPI-IO: open and close 20.0 %, writing 10.0 %. Most time is in File_open at out app.c:5. 20 calls move 20.0 MiB, 1.00 MiB each, at 20.0 MiB/s together; 2 of 2 ranks make them, collectively.",
			"Open the file once, before the loop, and close it at the end."},
		{"opened once", 0.1, []aggregate.CallSite{fileSite("File_open", 2, 2, 0, 2)}, "MPI-IO: open and close 10.0 %. Most time is in File_open at out app.c:5.",
			"Open fewer files, or let fewer ranks open them."},
		{"small, each on its own", 0.1, []aggregate.CallSite{fileSite("File_write_at", 2, 2000, 2000<<10, 1), fileSite("File_read_all", 2, 1, 1<<20, 0.5), fileSite("File_sync", 2, 2, 0, 0.5)},
			"MPI-IO: reading 2.5 %, writing 5.0 %, other calls 2.5 %. Most time is in File_write_at at out app.c:5. 2,001 calls move 2.95 MiB, 1.51 KiB each, at 3.94 MiB/s together; 2 of 2 ranks make them, each on its own.",
			"Read and write larger pieces, or use the collective calls (File_write_at_all), which can join small ones."},
		{"small, collectively", 0.1, []aggregate.CallSite{fileSite("File_write_ordered", 2, 2000, 2000<<10, 2)},
			"MPI-IO: writing 10.0 %. Most time is in File_write_ordered at out app.c:5. 2,000 calls move 1.95 MiB, 1.00 KiB each, at 1.95 MiB/s together; 2 of 2 ranks make them, collectively.",
			"Read and write larger pieces, less often."},
		{"one rank", 0.1, []aggregate.CallSite{fileSite("File_write", 1, 20, 20<<20, 2)},
			"MPI-IO: writing 10.0 %. Most time is in File_write at out app.c:5. 20 calls move 20.0 MiB, 1.00 MiB each, at 10.0 MiB/s together; 1 of 2 ranks makes them, each on its own.",
			"Let more ranks take part, with a collective call."},
		{"in two parts", 0.1, []aggregate.CallSite{fileSite("File_write_all_begin", 2, 20, 20<<20, 0.5), fileSite("File_write_all_end", 2, 20, 0, 1.5)},
			"MPI-IO: writing 10.0 %. Most time is in File_write_all_end at out app.c:5. 20 calls move 20.0 MiB, 1.00 MiB each, at 20.0 MiB/s together; 2 of 2 ranks make them, collectively.",
			"Try fewer or more ranks that access the file (the hint cb_nodes), or access it less often."},
	} {
		f := fileAccess(&facts{accessing(test.share, test.sites...), nil})
		switch {
		case f == nil && test.text != "":
			t.Errorf("%s: no finding", test.name)
		case f != nil && (f.Text != test.text || f.Try != test.try):
			t.Errorf("%s: got\n%s %s, want\n%s %s", test.name, f.Text, f.Try, test.text, test.try)
		}
	}
}
