package aggregate

import (
	"maps"
	"slices"
	"testing"
)

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]Limits{
		"10%":                    {InTime: 10, InBytes: 10, InMessages: 10},
		"0%":                     {InTime: 0, InBytes: 0, InMessages: 0},
		"bytes=0%,time=20%":      {InTime: 20, InBytes: 0},
		"time=0.5%, messages=3%": {InTime: 0.5, InMessages: 3},
		"0%,time=20%":            {InTime: 20, InBytes: 0, InMessages: 0},
		"time=20%,0%":            {InTime: 20, InBytes: 0, InMessages: 0},
	} {
		if got, err := ParseLimits(text, false); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := ParseLimits("10%", true); err != nil || !maps.Equal(got, Limits{InBytes: 10, InMessages: 10}) {
		t.Errorf("without time: got %v, %v", got, err)
	}
	for _, text := range []string{"", "%", "x", "10", "bytes=0,time=20%", "-1%", "inf", "nan", "10%%", "bytes", "bytes=", "calls=1%", "=1%", "1%,2%", "bytes=1%,bytes=2%", "10%,"} {
		if got, err := ParseLimits(text, false); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	if got, err := ParseLimits("time=1%", true); err == nil {
		t.Errorf("a limit for time that is ignored: %v", got)
	}
}

func TestJudge(t *testing.T) {
	change := func(bytes, messages, ns Measure) Changes {
		return Changes{StatusChanged, Transfers{bytes, messages}, Measure{}, ns, 0, ns}
	}
	none := Measure{5, 5}
	d := &Diff{
		TimesCompared: true,
		Total:         change(Measure{1000, 1100}, Measure{100, 111}, Measure{1000 * ms, 1000 * ms}),
		Calls: []CallChange{
			{"Send", change(Measure{100, 111}, Measure{100, 1}, none)},
			{"Isend", change(Measure{0, 1}, none, none)},                                                                  // 0 in A
			{"Wait", change(none, none, Measure{10 * ms, 12 * ms})},                                                       // 1 % of the time in MPI
			{"Test", change(none, none, Measure{9 * ms, 10*ms - 1})},                                                      // less than 1 % in both
			{"Probe", change(none, none, Measure{9 * ms, 90 * ms})},                                                       // less than 1 % in A only
			{"Bcast", change(none, none, Measure{0, 40 * ms})},                                                            // new
			{"Barrier", change(none, none, Measure{500 * ms, 400 * ms})},                                                  // decreased
			{"Scan", Changes{StatusChanged, Transfers{}, Measure{1, 100}, Measure{100000, 1e6}, 0, Measure{100000, 1e6}}}, // calls are not judged
		},
	}
	d.Judge(Limits{InTime: 10, InBytes: 10, InMessages: 10})
	want := []Excess{
		{"total", InMessages, Measure{100, 111}, 10}, // 1100 bytes are exactly 10 % more
		{"Send", InBytes, Measure{100, 111}, 10},
		{"Isend", InBytes, Measure{0, 1}, 10},
		{"Wait", InTime, Measure{10 * ms, 12 * ms}, 10},
		{"Probe", InTime, Measure{9 * ms, 90 * ms}, 10},
		{"Bcast", InTime, Measure{0, 40 * ms}, 10},
	}
	if !slices.Equal(d.Exceeded, want) {
		t.Errorf("got %+v, want %+v", d.Exceeded, want)
	}
	d.Judge(Limits{InBytes: 11})
	if want := []Excess{{"Isend", InBytes, Measure{0, 1}, 11}}; !slices.Equal(d.Exceeded, want) {
		t.Errorf("bytes alone: got %+v, want %+v", d.Exceeded, want)
	}
}

// In a job with little time in MPI, changes of times are noise.
func TestJudgeShortTimes(t *testing.T) {
	d := &Diff{TimesCompared: true, Total: Changes{TimeNs: Measure{100_000, 1_000_000}}}
	if d.Judge(Limits{InTime: 0}); len(d.Exceeded) != 0 {
		t.Errorf("0.9 ms more: %+v", d.Exceeded)
	}
	d.Total.TimeNs.B += 100_000
	if d.Judge(Limits{InTime: 0}); len(d.Exceeded) != 1 {
		t.Errorf("1 ms more: %+v", d.Exceeded)
	}
	d.Total.TimeVariance = 500_000 * 500_000
	if d.Judge(Limits{InTime: 0}); len(d.Exceeded) != 0 {
		t.Errorf("1 ms more, with an error of 0.5: %+v", d.Exceeded)
	}
	d.Total.TimeVariance = 499_999 * 499_999
	if d.Judge(Limits{InTime: 0}); len(d.Exceeded) != 1 {
		t.Errorf("1 ms more, with an error of less than 0.5: %+v", d.Exceeded)
	}
	d.TimesCompared = false
	if d.Judge(Limits{InTime: 0}); len(d.Exceeded) != 0 {
		t.Errorf("times that were not taken: %+v", d.Exceeded)
	}
}
