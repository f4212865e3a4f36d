package history

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
)

// TestNoiseOfTimes checks that noisy times do not hide changes of bytes that hardly vary.
func TestNoiseOfTimes(t *testing.T) {
	r := &rule{spreadKnown: true, times: 2, typical: 1}
	a, b := RepeatedValue{Median: 100, Min: 100, Max: 101}, RepeatedValue{Median: 105, Min: 105, Max: 106}
	if c := (&Change{Measure: aggregate.InBytes, A: a, B: b}); !r.changed(c) { // 5 > 2 × (1 + 1)
		t.Error("a change of bytes is hidden")
	}
	b.Median = 104
	if c := (&Change{Measure: aggregate.InBytes, A: a, B: b}); r.changed(c) {
		t.Error("a difference within the spread is a change")
	}
	if c := (&Change{Measure: aggregate.InTime, A: a, B: b}); r.changed(c) {
		t.Error("a noisy time is a change")
	}
}
