package e2e

import (
	"strings"
	"testing"
)

// TestLost deletes recordings while the job runs. The report must say that they
// are missing, not that no process called MPI_Init.
func TestLost(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, test := range []struct {
			what, argument string
			recorded       int
			run, report    string // texts that they must contain
		}{
			{"all", "0", 0, "nothing can be shown: the recordings of 2 processes are gone", "holds no recording: the recordings of 2 processes are gone"},
			{"one", "1", 1, "incomplete: the recordings of 1 process are gone", "incomplete: the recordings of 1 process are gone"},
			{"the spool", "spool", 0, "nothing can be shown: the recordings of 2 processes are gone", "holds no recording: the recordings of 2 processes are gone"},
		} {
			j := record(t, []string{"--strict"}, m.launch(2, m.compile(t, "deleted"), test.argument)...)
			if j.code != 3 || len(j.ranks) != test.recorded || !strings.Contains(j.stderr, test.run) {
				t.Errorf("%s: status %d, %d recordings, want 3, %d and %q\n%s", test.what, j.code, len(j.ranks), test.recorded, test.run, j.stderr)
			}
			report, collect := execute(t, nil, mpitrace, "report", "--full", j.dir), execute(t, nil, mpitrace, "collect", j.dir)
			if !strings.Contains(report.stderr, test.report) {
				t.Errorf("%s: the report says\n%s\nwant %q", test.what, report.stderr, test.report)
			}
			for _, text := range []string{j.stderr, report.stderr, collect.stderr} {
				if strings.Contains(text, "no process called") || strings.Contains(text, "not collected") {
					t.Errorf("%s: unexpected output\n%s", test.what, text)
				}
			}
		}
	})
}
