package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// writeTraces writes the traces of a job into a run directory and returns its
// path.
func writeTraces(t *testing.T, job synth.Traced) string {
	t.Helper()
	dir := rundir.Dir(t.TempDir())
	for _, src := range job.Sources() {
		file, err := os.Create(dir.TraceFile(src.Trace().Rank))
		testenv.NoError(t, err)
		testenv.NoError(t, tracefile.Write(file, src))
		testenv.NoError(t, file.Close())
	}
	return string(dir)
}

func TestAnalyze(t *testing.T) {
	const steps = 20
	h := synth.NewHalo(9, steps)
	h.Steady = true
	h.Late = []synth.Late{{Rank: 4, Step: 5, By: 50 * time.Millisecond}}
	dir := writeTraces(t, h)

	got := call("analyze", "--json", "--interval", "1s", dir)
	var found trace.Result
	if err := json.Unmarshal([]byte(got.stdout), &found); err != nil || got.code != 0 {
		t.Fatalf("status %d, %v, stderr %q", got.code, err, got.stderr)
	}
	late, _ := h.Waits()
	sum := 0.0
	for _, w := range found.WaitStates {
		if w.Pattern == trace.LateSender {
			sum += w.Time
		}
	}
	if diff := sum - late.Seconds(); diff > 1e-9 || diff < -1e-9 {
		t.Errorf("late senders: %g s, want %g", sum, late.Seconds())
	}
	if m := found.Matching; m.Matched != h.Volume().Messages || m.Collectives.Complete != steps {
		t.Errorf("%+v, want %d messages and %d collectives", m, h.Volume().Messages, steps)
	}
	// The run is shorter than one interval. Each rank sends to its four
	// neighbours.
	if f := found.Frames; f == nil || len(f.Frames) != 1 || len(f.Frames[0].Pairs) != 9*4 || f.Frames[0].Pairs[0].Messages != steps {
		t.Errorf("frames %+v", f)
	}

	got = call("analyze", "--top", "1", dir)
	if got.code != 0 || !strings.Contains(got.stdout, "late-sender") || !strings.Contains(got.stdout, "matched: 720 of 720 messages, 20 of 20 collectives") {
		t.Errorf("status %d, stdout %s, stderr %s", got.code, got.stdout, got.stderr)
	}
}

// TestAnalyzeWaits requires that --waits writes a table in addition to the
// printed text, and overwrites it only with --force.
func TestAnalyzeWaits(t *testing.T) {
	dir, file := writeTraces(t, synth.NewHalo(9, 20)), filepath.Join(t.TempDir(), "waits.arrow")
	plain := call("analyze", dir)
	got := call("analyze", "--waits", file, dir)
	if got.code != 0 || got.stdout != plain.stdout {
		t.Fatalf("status %d, stdout %s, stderr %q", got.code, got.stdout, got.stderr)
	}
	waits, err := os.ReadFile(file)
	if err != nil || !table.Is(waits) {
		t.Errorf("error %v; %d bytes are not an Arrow file", err, len(waits))
	}
	if got := call("analyze", "--waits", file, dir); got.code != 2 || !strings.Contains(got.stderr, "exists") {
		t.Errorf("status %d, stderr %q", got.code, got.stderr)
	}
	if got := call("analyze", "--waits", file, "--force", dir); got.code != 0 {
		t.Errorf("status %d, stderr %q", got.code, got.stderr)
	}
}

// TestAnalyzeCauses requires that the table of --causes has the costs of --json, and that these add up to
// the waits.
func TestAnalyzeCauses(t *testing.T) {
	const steps = 20
	h := synth.NewHalo(9, steps)
	h.Steady = true
	h.Late = []synth.Late{{Rank: 4, Step: 5, By: 50 * time.Millisecond}}
	dir, file := writeTraces(t, h), filepath.Join(t.TempDir(), "causes.csv")
	got := call("analyze", "--json", "--causes", file, dir)
	var found trace.Result
	if err := json.Unmarshal([]byte(got.stdout), &found); err != nil || got.code != 0 || len(found.Causes) == 0 {
		t.Fatalf("status %d, %v, stderr %q", got.code, err, got.stderr)
	}
	raw, err := os.ReadFile(file)
	testenv.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	testenv.NoError(t, err)
	costs, waited := map[string]int64{}, 0.0
	for _, row := range rows[1:] {
		ns, err := strconv.ParseInt(row[4], 10, 64)
		testenv.NoError(t, err)
		costs[row[0]+" "+row[1]] += ns
	}
	sum := int64(0)
	for i, c := range found.Causes {
		if key := fmt.Sprint(i+1, " ", c.Class); costs[key] != c.CostNs {
			t.Errorf("%s: %d ns, want %d", key, costs[key], c.CostNs)
		}
		for _, s := range c.Seen {
			if s.Pattern != causes.EndedEarly {
				sum += s.CostNs
			}
		}
	}
	for _, p := range found.Patterns {
		waited += p.Time
	}
	if len(costs) != len(found.Causes) || sum != int64(math.Round(1e9*waited)) {
		t.Errorf("%d causes of %d; %d ns of %g s", len(costs), len(found.Causes), sum, waited)
	}
	if got := call("analyze", "--causes", filepath.Join(t.TempDir(), "causes.txt"), dir); got.code != 2 || !strings.Contains(got.stderr, ".arrow, .parquet, .csv, .jsonl") {
		t.Errorf("status %d, stderr %q", got.code, got.stderr)
	}
}
