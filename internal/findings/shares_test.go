package findings_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestShares checks of random jobs that no share exceeds 100 %, in whatever part of the report it
// is, and that no finding saves more than the run time.
func TestShares(t *testing.T) {
	seen := 0
	for seed := range uint64(400) {
		report := findings.ReportOf(summaryOf(t, synth.RandomThreads(seed)), nil)
		seen += checkShares(t, fmt.Sprintf("seed %d", seed), report)
	}
	if seen < 400*20 {
		t.Errorf("only %d shares", seen)
	}
}

// TestSharesOfTraces is TestShares for traced jobs with random delays.
func TestSharesOfTraces(t *testing.T) {
	for seed := range uint64(4) {
		ranks := int(8 + 20*seed)
		for name, job := range map[string]synth.Traced{
			"hub": hub(int(500+1500*seed), seed%2 == 0), "halo": halo(int(50 + 400*seed)),
			"token": &synth.Token{Ranks: ranks, Rounds: int(1 + seed), Work: 1_000_000, Alone: 1_000_000 * 10},
		} {
			traced, err := trace.Analyze(job.Sources(), trace.Options{})
			testenv.NoError(t, err)
			checkShares(t, fmt.Sprintf("%s %d", name, seed), findings.ReportOf(summaryOf(t, synth.Recorded(job)), traced))
		}
	}
}

// isShare reports whether a key of JSON has a share of something, from 0 to 1.
func isShare(key string) bool {
	for _, part := range []string{"share", "efficiency", "load_balance", "without_processor", "no_core"} {
		if strings.Contains(key, part) && !strings.HasSuffix(key, "_error") && !strings.HasSuffix(key, "_s") {
			return true
		}
	}
	return false
}

func checkShares(t *testing.T, name string, report findings.Report) (seen int) {
	t.Helper()
	raw, err := json.Marshal(report)
	testenv.NoError(t, err)
	var parsed any
	testenv.NoError(t, json.Unmarshal(raw, &parsed))
	runS := 0.0
	if p := report.Summary.POP; p != nil {
		runS = p.RuntimeNs / 1e9
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		case map[string]any:
			unfinished := v["state"] != nil && v["state"] != profile.Finalized.String() // its share is not known
			for key, e := range v {
				n, number := e.(float64)
				switch {
				case !number:
					walk(path+"."+key, e)
				case isShare(key):
					if seen++; (n < 0 || n > 1+1e-9) && !unfinished {
						t.Errorf("%s: %s.%s is %g", name, path, key, n)
					}
				case key == "saves_s" && n > runS*(1+1e-9):
					t.Errorf("%s: %s saves %g s of %g s: %v", name, path, n, runS, v)
				}
			}
		}
	}
	walk("", parsed)
	return seen
}
