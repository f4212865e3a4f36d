package views

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// Sixteen ranks compute for 1, 2, … 16 s: five bars of 3 s each, of which the last includes its end.
func TestDistribution(t *testing.T) {
	r := report{Summary: &aggregate.Summary{}}
	for rank := range 16 {
		r.Ranks = append(r.Ranks, aggregate.RankTimes{Rank: rank, State: "finalized", Timing: "exact", ApplicationTimeS: float64(1 + rank)})
	}
	var out Section
	r.distribution(&out)
	bars := out.Blocks[0].Drawing.Series[0].Bars
	counts := []uint64{}
	for _, b := range bars {
		counts = append(counts, b.N)
	}
	if diff := cmp.Diff([]uint64{3, 3, 3, 3, 4}, counts); diff != "" {
		t.Error(diff)
	}
	if want := (ChartBar{Name: "5.50 s", N: 3, Text: "3 ranks compute from 4.00 s to 7.00 s", From: 4e9, To: 7e9}); bars[1] != want {
		t.Errorf("%+v, want %+v", bars[1], want)
	}
}

// The chart has a bar for each class from the smallest to the largest, of all calls and of each.
func TestSizeChart(t *testing.T) {
	of := func(class uint8, messages, bytes uint64) aggregate.SizeCount {
		return aggregate.SizeCount{SizeClass: class, Volume: matrix.Volume{Messages: messages, Bytes: bytes}}
	}
	var out Section
	sizeChart(&out, []aggregate.CallSizes{{Call: "Send", Sizes: []aggregate.SizeCount{of(11, 2, 3000)}}, {Call: "Put", Sizes: []aggregate.SizeCount{of(10, 1, 600), of(12, 5, 10240)}}})
	got := map[string][]string{}
	for _, s := range out.Blocks[0].Drawing.Series {
		for _, b := range s.Bars {
			got[s.Name] = append(got[s.Name], b.Name+", "+b.Text)
		}
	}
	want := map[string][]string{
		"all calls": {"512 B, 512 B to < 1 KiB: 1 message, 600 B", "1 KiB, 1 KiB to < 2 KiB: 2 messages, 2.93 KiB", "2 KiB, 2 KiB to < 4 KiB: 5 messages, 10.0 KiB"},
		"Send":      {"512 B, 512 B to < 1 KiB: 0 messages, 0 B", "1 KiB, 1 KiB to < 2 KiB: 2 messages, 2.93 KiB", "2 KiB, 2 KiB to < 4 KiB: 0 messages, 0 B"},
		"Put":       {"512 B, 512 B to < 1 KiB: 1 message, 600 B", "1 KiB, 1 KiB to < 2 KiB: 0 messages, 0 B", "2 KiB, 2 KiB to < 4 KiB: 5 messages, 10.0 KiB"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
