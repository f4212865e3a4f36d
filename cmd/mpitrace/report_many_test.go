package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestReportOfMany reports on more processes than are merged without being asked. The sums of
// their pairs do not fit into the budget of memory.
func TestReportOfMany(t *testing.T) {
	testenv.At(t, testenv.Quick)
	const ranks = source.MostMerged + 240
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1) // which the report changes
	defer debug.SetGCPercent(percent)
	defer debug.SetMemoryLimit(limit)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	dir := runs.New(t)
	job := synth.NewStencil(ranks)
	job.PerNode = 128
	testenv.NoError(t, container.WriteAll(dir.Recordings(), job, nil))
	out := call("report", "--full", string(dir))
	if out.code != 0 {
		t.Fatalf("%+v", out)
	}
	total := job.TotalP2P()
	for _, want := range []string{fmt.Sprintf("stencil on %d of %d ranks, 80 hosts", ranks, ranks),
		fmt.Sprintf("with %s point-to-point messages", text.Count(total.Messages)), "complete: finalized, nothing lost"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("no %q in\n%s", want, out.stdout)
		}
	}
	if !strings.Contains(out.stderr, "mpitrace merge "+string(dir)) {
		t.Errorf("stderr: %s", out.stderr)
	}
	left, _ := os.ReadDir(temporary)
	inDir, _ := os.ReadDir(string(dir))
	if len(left) > 0 || len(inDir) != 1 {
		t.Errorf("left over: %v, %v", left, inDir)
	}
	var parsed struct {
		Jobs []struct {
			Ranks []struct{ Rank int }
		}
	}
	out = call("report", "--json", string(dir))
	if err := json.Unmarshal([]byte(out.stdout), &parsed); err != nil || len(parsed.Jobs) != 1 || len(parsed.Jobs[0].Ranks) != ranks || parsed.Jobs[0].Ranks[ranks-1].Rank != ranks-1 {
		t.Errorf("%v, %d jobs", err, len(parsed.Jobs))
	}
}

// TestRanksInJSON compares the JSON whose ranks are inserted one by one with what the encoder
// makes of all at once.
func TestRanksInJSON(t *testing.T) {
	dir := runs.New(t)
	for i, ranks := range []int{1, 5} { // two jobs
		job := synth.NewRing(ranks)
		job.Name, job.PerNode = fmt.Sprintf("job%d \"ranks\": null", i), 5
		testenv.NoError(t, container.Write(filepath.Join(dir.Recordings(), fmt.Sprint(i, ".node")), job, 0, ranks, func(p *profile.Profile) { p.Start += int64(i) * 1e9 }))
	}
	out := call("report", "--json", string(dir))
	var all any
	if err := json.Unmarshal([]byte(out.stdout), &all); err != nil {
		t.Fatalf("%v: %+v", err, out)
	}
	encoded := json.NewDecoder(strings.NewReader(out.stdout))
	encoded.UseNumber()
	var raw json.RawMessage
	testenv.NoError(t, encoded.Decode(&raw))
	var want bytes.Buffer
	testenv.NoError(t, json.Indent(&want, raw, "", "  "))
	if strings.TrimSpace(out.stdout) != want.String() {
		t.Errorf("not indented as all other JSON:\n%s", out.stdout)
	}
	jobs := all.(map[string]any)["jobs"].([]any)
	for i, ranks := range []int{1, 5} {
		if got := jobs[i].(map[string]any)["ranks"].([]any); len(got) != ranks {
			t.Errorf("job %d: %d ranks", i, len(got))
		}
	}
}
