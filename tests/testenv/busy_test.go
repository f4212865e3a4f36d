package testenv

import "testing"

func TestBusyness(t *testing.T) {
	for text, want := range map[string]float64{
		"0.42 5.00 5.19 1/281 12345\n":  1,
		"6.00 0.00 0.00 2/281 12345\n":  3,
		"1.00 0.00 0.00 10/281 12345\n": 5,
		"900. 0.00 0.00 10/281 12345\n": 30,
		"":                              1,
	} {
		if got := busyness(text, 2); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	for value, want := range map[string][]Level{
		"": {Quick}, "quick": {Quick}, "all": {All}, "quick,all": {Quick, All}, "sweep": {Sweep}, "check": {Check},
	} {
		t.Setenv("MPITRACE_TEST_LEVEL", value)
		var got []Level
		for _, level := range []Level{Check, Quick, All, Sweep} {
			if Runs(level) {
				got = append(got, level)
			}
		}
		if len(got) != len(want) || got[0] != want[0] || Highest() != want[len(want)-1] {
			t.Errorf("%q runs %v and %v is the highest, want %v", value, got, Highest(), want)
		}
	}
}
