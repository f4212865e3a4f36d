package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/formats/tracefile"
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
