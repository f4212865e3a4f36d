package findings_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/causes"
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
			s := summaryOf(t, synth.Recorded(job))
			findings.UseTrace(s, traced)
			checkShares(t, fmt.Sprintf("%s %d", name, seed), findings.ReportOf(s, traced))
			for random := range uint64(20) {
				traced.Causes = randomCauses(100*seed+random, traced)
				r := findings.ReportOf(s, traced)
				r.Analysis = nil // which is not checked here, but what is found in it
				checkShares(t, fmt.Sprintf("%s %d, causes %d", name, seed, random), r)
			}
		}
	}
}

// randomCauses returns causes of all kinds that together cost at most all time of the job. What the replay
// says that they save may be wrong.
func randomCauses(seed uint64, of *trace.Result) (list []causes.Cause) {
	r := rand.New(rand.NewPCG(seed, 1))
	all := of.Runtime * float64(of.Ranks) * 1e9
	left := 1.0
	for range 1 + r.IntN(8) {
		c := causes.Cause{Class: causes.Class(r.IntN(int(causes.InCall) + 1)), Share: left * r.Float64(), Alone: r.IntN(2) == 0, Pairs: 1 + r.IntN(9), BoundS: of.Runtime * 3 * r.Float64()}
		left -= c.Share
		c.CostNs = int64(c.Share * all)
		stop := causes.Stop{Call: "Recv", Callsite: fmt.Sprintf("f app.c:%d", r.IntN(3))}
		if c.Class == causes.InCall {
			c.Call = &stop
		} else if c.Class != causes.Unknown {
			c.Burst = &causes.Burst{Before: stop, After: causes.Stop{Call: "Send"}}
		}
		rank := r.IntN(of.Ranks)
		c.Named, c.Ranks = profile.RankSetOf(rank), []causes.RankCost{{Rank: rank, CostNs: c.CostNs}}
		pattern := trace.Pattern(1 + r.IntN(int(trace.WaitForProgress)))
		c.Seen = []causes.Seen{{Stop: stop, Pattern: pattern.String(), Ranks: profile.RankSetOf(r.IntN(of.Ranks)), CostNs: c.CostNs}}
		if r.IntN(2) == 0 {
			s := of.Runtime * (3*r.Float64() - 1)
			c.SavesS = &s
		}
		if r.IntN(3) == 0 {
			c.From, c.To = "ocean", "atmos"
		}
		list = append(list, c)
	}
	return list
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
