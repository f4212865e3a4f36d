package testenv

import "testing"

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
