package causes

import (
	"math/rand/v2"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestSlices checks that the costs of all causes are divided by slice if ranks wait in several, and of none
// if they wait in one: also a cause in one slice has it then.
func TestSlices(t *testing.T) {
	for _, several := range []bool{false, true} {
		s := byHand([][]part{
			{compute(2), at("Recv"), waits(6, 1), compute(1), at("Barrier"), waits(4, 1), compute(1)},
			{compute(8), at("Send"), compute(5), at("Barrier"), compute(3)},
		})
		f, _ := s.find(t, rand.New(rand.NewPCG(1, 1)))
		for i := range s.names.Places {
			if s.names.Places[i].Slice = "run"; several && i > EndPlace+1 {
				s.names.Places[i].Slice = "output"
			}
		}
		list, err := f.Causes(s.names)
		testenv.NoError(t, err)
		for i := range list {
			sum := int64(0)
			for _, ns := range list[i].Slices {
				sum += ns
			}
			if want := list[i].CostNs; several && sum != want || !several && list[i].Slices != nil {
				t.Errorf("several %v: %+v", several, list[i])
			}
		}
		if len(list) == 0 {
			t.Error("no causes")
		}
	}
}
