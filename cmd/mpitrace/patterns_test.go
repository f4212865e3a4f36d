package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestReportPatterns reads the patterns of a synthetic butterfly in the text and in the
// JSON of a report. Those of one rank have none.
func TestReportPatterns(t *testing.T) {
	const ranks = 24 // stages 1, 2 and 4
	job, err := synth.Named("butterfly", ranks)
	testenv.NoError(t, err)
	dir := rundir.Dir(t.TempDir())
	testenv.Mkdir(t, dir.Recordings())
	for r := range ranks {
		recordingtest.Record(t, filepath.Join(dir.Recordings(), fmt.Sprintf("b-%d.rec", r)), job.Profile(r))
	}
	const want = "\npatterns: point-to-point and one-sided\n  butterfly: ranks r and r xor 1, 2 and 4: 100.0 % of bytes\n\n"
	if got := call("report", "--full", string(dir)); got.code != 0 || !strings.Contains(got.stdout, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
	if got := call("report", "--rank", "3", string(dir)); got.code != 0 || strings.Contains(got.stdout, "patterns:") {
		t.Errorf("one rank: got %+v", got)
	}
	var report struct {
		Jobs []struct{ Patterns patterns.Decomposition }
	}
	got := call("report", "--json", string(dir))
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || len(report.Jobs) != 1 {
		t.Fatalf("%v in %+v", err, got)
	}
	total := matrix.Volume(job.TotalP2P())
	direct := patterns.Part{Total: total, Components: []patterns.Component{{Kind: patterns.Butterfly, Stages: []int{1, 2, 4}, Volume: total, Share: 1}}}
	testenv.Equal(t, direct, report.Jobs[0].Patterns.Direct, cmpopts.IgnoreFields(patterns.Component{}, "Text"))
}
