package profile

import (
	"math"
	"testing"
)

// Above 2^53 a double does not hold every integer, but the difference must be
// exact.
func TestIncrease(t *testing.T) {
	double, minus := math.Float64bits, func(v uint64) uint64 { return -v }
	for _, c := range []struct {
		typ      PvarType
		from, to uint64
		want     float64
	}{
		{PvarUnsigned, 1<<63 + 1, 1<<63 + 4, 3},
		{PvarUnsigned, 7, 5, -2},
		{PvarUnsigned, 0, 1<<64 - 1, 1 << 64},
		{PvarSigned, minus(5), 2, 7},
		{PvarSigned, 2, minus(5), -7},
		{PvarDouble, double(0.5), double(-1), -1.5},
	} {
		if got := c.typ.Increase(c.from, c.to); got != c.want {
			t.Errorf("type %d from %#x to %#x: %v, want %v", c.typ, c.from, c.to, got, c.want)
		}
	}
}

func TestReadingText(t *testing.T) {
	for want, values := range map[string][]uint64{"ob1": {'o', 'b', '1', 0, 'x'}, "full": {'f', 'u', 'l', 'l'}, "": {0}} {
		if got := (&Reading{Values: values}).Text(); got != want {
			t.Errorf("%d: %q, want %q", values, got, want)
		}
	}
}
