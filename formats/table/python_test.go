package table

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPython opens the fixture's tables with pandas, pyarrow and polars. The
// expected sums are computed by hand from the rows of jobs.Full.
func TestPython(t *testing.T) {
	dir := t.TempDir()
	ps := append(jobs.Full("one"), jobs.Full("two")...)
	ps[5].Rank = -1 // ended early: it has no file of its own
	writeRun(t, dir, ps)
	report := filepath.Join(dir, "report.json")
	text, err := json.Marshal(map[string]any{"jobs": []any{jobReport("one"), jobReport("two")}})
	testenv.NoError(t, err)
	testenv.WriteFile(t, report, text)
	testenv.Pytest(t, []string{"MPITRACE_RUN=" + dir, "MPITRACE_REPORT=" + report}, "test_arrow.py")
}

// TestPythonReadings opens a run with performance variables in pandas, polars and pyarrow.
func TestPythonReadings(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, append(jobs.Readings("one"), jobs.Readings("two")...))
	testenv.Pytest(t, []string{"MPITRACE_RUN=" + dir, "MPITRACE_REPORT=none"}, "test_pvars.py", "test_arrow.py", "-k", "not report")
}

func writeRun(t *testing.T, dir string, ps []*profile.Profile) {
	t.Helper()
	write := func(name string, f func(io.Writer) error) {
		file, err := os.Create(filepath.Join(dir, name))
		testenv.NoError(t, err)
		defer file.Close()
		testenv.NoError(t, f(file))
	}
	write("profile.arrow", func(w io.Writer) error { return WriteProfile(w, profile.List(ps)) })
	write("comms.arrow", func(w io.Writer) error { return WriteComms(w, profile.List(ps)) })
	write("ranks.arrow", func(w io.Writer) error { return WriteRanks(w, profile.List(ps)) })
	if slices.ContainsFunc(ps, func(p *profile.Profile) bool { return len(p.Readings) > 0 }) {
		write("pvars.arrow", func(w io.Writer) error { return WritePvars(w, profile.List(ps)) })
	}
	testenv.Mkdir(t, filepath.Join(dir, "arrow"))
	for _, p := range ps {
		if p.Rank >= 0 {
			write(fmt.Sprintf("arrow/%s.%d.arrow", p.Run, p.Rank), func(w io.Writer) error {
				return WriteProfile(w, profile.List{p})
			})
		}
	}
}

// jobReport returns the totals of a report of jobs.Full.
func jobReport(run string) map[string]any {
	type sums struct {
		Call     string `json:"call,omitempty"`
		Calls    uint64 `json:"calls"`
		Messages uint64 `json:"messages"`
		Bytes    uint64 `json:"bytes"`
		TimeNs   uint64 `json:"time_ns"`
	}
	const big = 1 << 60 // in the last row of each rank
	calls := []sums{
		{"Init", 4, 0, 0, 4000},
		{"Send", 4 * (3 + 5 + 2), 4 * (3 + 2), 4 * (300 + 160), 40_000},
		{"Irecv", 4 * 3, 4 * 3, 4 * 300, 12_000},
		{"Isend", 4, 4, 4 * 40, 4000},
		{"Allreduce", 4 * 10, 4 * 3 * 10, 4 * 3 * 80, 40_000},
		{"Scan", 4, 3 + 2 + 1, 64 * (3 + 2 + 1), 4000},
		{"Neighbor_alltoall", 4 * 2, 2 * 7, 200 * 7, 8000}, // rank 3 has one edge
		{"Alltoallv", 4, 4 * 3, 6000 + 5000 + 4000 + 3000, 4000},
		{"Neighbor_alltoallv", 4, 7, 4 * 24, 4000},
		{"Put", 4, 4, 4 * 512, 4000},
		{"Get", 4, 4, 4 * 256, 4000},
		{"Bcast", 1, 3, 3000 + big, 1000},
		{"Reduce", 3, 3, 3*1000 + 3*big, 3000},
	}
	var total sums
	for _, c := range calls {
		total.Calls += c.Calls
		total.Messages += c.Messages
		total.Bytes += c.Bytes
		total.TimeNs += c.TimeNs
	}
	return map[string]any{"run": run, "totals": total, "calls": calls}
}
