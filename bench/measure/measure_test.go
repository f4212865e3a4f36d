package measure

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"one value", []float64{7}, 7},
		{"odd number, unsorted", []float64{9, 1, 5}, 5},
		{"even number takes the mean of the middle two", []float64{4, 1, 100, 2}, 3},
		{"one outlier changes nothing", []float64{5, 5, 1e9, 5, 5}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Median(c.values); got != c.want {
				t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
			}
		})
	}
}

func TestMedianLeavesItsArgumentAlone(t *testing.T) {
	values := []float64{3, 1, 2}
	Median(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("median sorted its argument: %v", values)
	}
}
