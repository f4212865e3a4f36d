package aggregate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The error of a sum is the root of the sum of the squares, in any order.
func TestErrorsAddUp(t *testing.T) {
	s := New(sampledFixture()).Summary()
	if s.MPITimeErrorS != 0.010 || s.Totals.TimeVariance.StandardError() != 10*ms || s.Timing != "sampled" {
		t.Errorf("%s: error of %g s in MPI, of %g ns in all", s.Timing, s.MPITimeErrorS, s.Totals.TimeVariance.StandardError())
	}
	for _, c := range s.Calls {
		want := map[string]float64{"Send": 6 * ms, "Recv": 8 * ms}[c.Call]
		if got := c.TimeVariance.StandardError(); got != want {
			t.Errorf("%s: error of %g ns, want %g", c.Call, got, want)
		}
	}
	for _, r := range s.Ranks {
		if r.MPITimeErrorS != 0.005 {
			t.Errorf("rank %d: error of %g s, want 5 ms", r.Rank, r.MPITimeErrorS)
		}
	}
	halves := NewJob(Options{})
	for _, half := range [][]*profile.Profile{sampledFixture()[2:], sampledFixture()[:2]} {
		halves.Merge(New(half))
	}
	testenv.Equal(t, s.Calls, halves.Summary().Calls)
	var back Summary
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil || !strings.Contains(string(raw), `"time_error_ns":6000000`) || back.Totals != s.Totals {
		t.Errorf("%v: %+v, want %+v", err, back.Totals, s.Totals)
	}
}

// times collects the values of all keys that hold times of calls.
func times(v any, out map[string][]any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			times(e, out)
		}
	case map[string]any:
		for key, e := range v {
			if ofCalls[key] {
				out[key] = append(out[key], e)
			}
			times(e, out)
		}
	}
}

// Times that were not measured are null. All other values are there, in the
// same order.
func TestUntimedJSON(t *testing.T) {
	j := New(untimedFixture())
	rank, err := j.RankSummary(1)
	testenv.NoError(t, err)
	diff := Compare(comparedOf(t, fixture()), comparedOf(t, untimedFixture()), DiffOptions{Pairs: -1})
	for name, v := range map[string]any{"summary": j.Summary(), "rank": rank, "diff": diff} {
		raw, err := json.Marshal(v)
		testenv.NoError(t, err)
		var parsed any
		testenv.NoError(t, json.Unmarshal(raw, &parsed))
		found := map[string][]any{}
		times(parsed, found)
		for key, values := range found {
			if slices.ContainsFunc(values, func(v any) bool { return v != nil }) {
				t.Errorf("%s: %s is %v", name, key, values)
			}
		}
		if found["time_ns"] == nil {
			t.Errorf("%s: no key time_ns in %s", name, raw)
		}
		if strings.Contains(string(raw), "mpi_time_ns") {
			t.Errorf("%s: a balance of times that were not taken", name)
		}
	}
	timed, _ := json.Marshal(New(fixture()).Summary())
	untimed, _ := json.Marshal(j.Summary())
	if was, is := keysOf(t, timed), keysOf(t, untimed); !slices.Equal(was, is) {
		t.Errorf("keys %q, with times %q", is, was)
	}
}

// keysOf returns the keys of an object in their order.
func keysOf(t *testing.T, raw []byte) []string {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(raw))
	if _, err := in.Token(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for in.More() {
		key, err := in.Token()
		testenv.NoError(t, err)
		var value json.RawMessage
		testenv.NoError(t, in.Decode(&value))
		out = append(out, key.(string))
	}
	return out
}

func TestWithoutTimes(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"time_ns","time_ns":5,"z":[{"min_ns":1,"b":1.50},[],{}],"mpi_share":{"mean":1}}`: `{"a":"time_ns","time_ns":null,"z":[{"min_ns":null,"b":1.50},[],{}],"mpi_share":null}`,
		`{"\"time_ns\":3":"\"time_ns\":3,","c":null,"d":18446744073709551615}`:                 `{"\"time_ns\":3":"\"time_ns\":3,","c":null,"d":18446744073709551615}`,
		`7`: `7`,
	} {
		if got := string(withoutTimes([]byte(in), ofCalls)); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

// Ranks that were recorded with different settings are reported as such. Their
// times and receives are not taken for 0.
func TestMixedSettings(t *testing.T) {
	ps := append(fixture()[:3], untimedFixture()[3])
	j, err := Of(profile.List(ps), Options{MustAgree: []RecordedSetting{{Name: "timing"}, {Name: "receives"}}})
	testenv.NoError(t, err)
	s := j.Summary()
	if s.Timing != "mixed" || s.Receives != "mixed" {
		t.Errorf("timing %s, receives %s", s.Timing, s.Receives)
	}
	for _, want := range []string{
		"not all ranks were recorded with the same --timing: exact (ranks 0-2), off (rank 3)",
		"not all ranks were recorded with the same --receives: off (rank 3), on (ranks 0-2)",
	} {
		if !slices.Contains(s.Problems, want) {
			t.Errorf("no %q in %q", want, s.Problems)
		}
	}
	if b := s.Balances[0]; b.Quantity != "mpi_time_ns" || b.Min != 400*ms || b.Max != 600*ms {
		t.Errorf("balance of the ranks that were timed: %+v", b)
	}
	if s.MPIShare.MinRank != 0 || s.MPIShare.MaxRank != 2 {
		t.Errorf("share of MPI: %+v", s.MPIShare)
	}
	for _, c := range s.Calls {
		if c.Call == "Send" && (c.MinNs != 1 || c.TimeNs != 600*ms) {
			t.Errorf("Send: %+v", c)
		}
	}
}

// Blocking receives are known even if nonblocking ones are not followed.
func TestUnfollowedConservation(t *testing.T) {
	c := New(untimedFixture()).Summary().Conservation
	if c.Verdict != PartlyKnown || c.Pairs != 2 || c.Unequal != 0 || len(c.NotCompared) != 1 {
		t.Fatalf("%+v", c)
	}
	want := NotCompared{"nonblocking receives were not followed (--receives off)", "ranks 2-3", 4}
	if c.NotCompared[0] != want {
		t.Errorf("got %+v, want %+v", c.NotCompared[0], want)
	}
}

// Estimates differ if their difference is more than two standard errors.
func TestDiffOfEstimates(t *testing.T) {
	later := func(call string, more uint64) *ComparedJob {
		ps := sampledFixture()
		for i := range ps[0].Rows {
			if r := &ps[0].Rows[i]; r.Call == call {
				r.TimeNs += more
			}
		}
		return comparedOf(t, ps)
	}
	// Send has an error of 6 ms in each job, and of 8.485 ms in the difference.
	for more, want := range map[uint64]bool{0: false, 16_970_000: false, 16_971_000: true} {
		d := Compare(comparedOf(t, sampledFixture()), later("Send", more), DiffOptions{})
		if got := slices.ContainsFunc(d.Calls, func(c CallChange) bool { return c.Call == "Send" }); got != want || len(d.Calls) > 1 {
			t.Errorf("%d ns more: %+v", more, d.Calls)
		}
	}
}
