package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherTool preloads another tool's PMPI wrappers, after the library and
// before it. The tool must be called as often as without mpitrace. The library
// must record the calls that reach it, and name those that do not.
func TestOtherTool(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		tool := m.compile(t, "other_tool", "-DTOOL", "-shared", "-fPIC")
		program := m.compile(t, "other_tool")
		check := func(t *testing.T, out output, dir string, barriers []uint64) {
			t.Helper()
			if strings.Count(out.stderr, "tool: 3 barriers, 0 groups\n") != 2 {
				t.Errorf("the tool was not called three times on each rank:\n%s", out.stderr)
			}
			ranks := readRecordings(t, dir)
			checkWhole(t, 2, job{ranks: ranks})
			sent := map[string]volumes{"Send": message(0, 1, 7)}
			if barriers != nil {
				sent["Barrier"] = toOthers(2, func(int, int) int { return 0 }).times(3)
			}
			want{
				sent:     sent,
				received: map[string]volumes{"Recv": message(0, 1, 7)},
				calls:    map[string][]uint64{"Barrier": barriers, "Send": {1, 0}, "Finalize": {1, 1}},
			}.check(t, ranks)
		}
		for order, libraries := range map[string]string{
			"after": m.library(t) + ":" + tool, "before": tool + ":" + m.library(t),
		} {
			t.Run(order, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				out := succeed(t, nil, m.launch(2, preload(libraries, []string{"MPITRACE_DIR=" + dir}, program)...)...)
				hidden := strings.Contains(out.stderr, tool+" comes before mpitrace's library and intercepts 2 MPI functions: calls of these are not recorded")
				if hidden != (order == "before") {
					t.Errorf("unexpected output:\n%s", out.stderr)
				}
				check(t, out, dir, map[string][]uint64{"after": {3, 3}, "before": nil}[order])
				report := succeed(t, nil, mpitrace, "report", "--full", dir).stdout
				named := strings.Contains(report, "calls of MPI_Barrier, MPI_Group_free were not recorded: "+tool+" comes before mpitrace's library and intercepts them (ranks 0-1)")
				if strings.Contains(report, "did not reach MPI_Finalize") || named != hidden {
					t.Errorf("the report is:\n%s", report)
				}
			})
		}
		t.Run("mpitrace run", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			command := append([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(2, program)...)
			check(t, succeed(t, []string{"LD_PRELOAD=" + tool}, command...), dir, []uint64{3, 3})
		})
	})
}
