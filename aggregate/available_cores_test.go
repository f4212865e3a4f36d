package aggregate

import (
	"math"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

func TestAvailableCores(t *testing.T) {
	at := func(processors string) profile.PlacedProcess {
		return profile.PlacedProcess{Placement: &profile.Placement{Processors: processors, NodeProcessors: 8, NodeCores: 8}}
	}
	limited := func(processors string, limit float64, group uint64) profile.PlacedProcess {
		p := at(processors)
		p.Placement.CPULimit, p.Placement.LimitGroup = limit, group
		return p
	}
	threads := at("0-3")
	threads.Placement.NodeCores = 4 // two hardware threads each
	for _, test := range []struct {
		name string
		ps   []profile.PlacedProcess
		want []float64
	}{
		{"cores of their own", []profile.PlacedProcess{at("0-1"), at("2-7")}, []float64{2, 6}},
		{"unbound", []profile.PlacedProcess{at("0-7"), at("0-7"), at("0-7")}, []float64{8. / 3, 8. / 3, 8. / 3}},
		{"overlapping", []profile.PlacedProcess{at("0-3"), at("3")}, []float64{3.5, 0.5}},
		{"hardware threads", []profile.PlacedProcess{threads}, []float64{2}},
		{"a limit", []profile.PlacedProcess{limited("0-7", 3, 9), limited("0-7", 3, 9)}, []float64{1.5, 1.5}},
		{"limits of their own", []profile.PlacedProcess{limited("0-7", 3, 8), limited("0-7", 3, 9)}, []float64{3, 3}},
		{"not known", []profile.PlacedProcess{{}, at("0-1")}, []float64{0, 2}},
	} {
		for i, got := range availableCores(test.ps) {
			if math.Abs(got-test.want[i]) > 1e-9 {
				t.Errorf("%s: process %d has %g cores, want %g", test.name, i, got, test.want[i])
			}
		}
	}
}
