package text

import (
	"math"
	"testing"
)

func TestPrefixes(t *testing.T) {
	for _, c := range []struct {
		p    *Prefixes
		v    float64
		want string
	}{
		{Binary, 1, "1 B"}, {Binary, 1000, "1,000 B"}, {Binary, 1023, "1,023 B"}, {Binary, 1024, "1 KiB"},
		{Binary, 1023.96, "1 KiB"}, {Binary, 12.345, "12.3 B"}, {Binary, 1 << 20, "1 MiB"}, {Binary, 1<<20 - 1, "1 MiB"},
		{Binary, 1000 << 10, "1,000 KiB"}, {Binary, 1.5 * (1 << 30), "1.5 GiB"}, {Binary, math.MaxUint64, "16 EiB"},
		{Binary, math.Pow(2, 80), "1 YiB"}, {Binary, 0.25, "0.25 B"},
		{Decimal, 1, "1"}, {Decimal, 9999, "9,999"}, {Decimal, 10_000, "10 k"}, {Decimal, 12_345, "12.3 k"},
		{Decimal, 999_999, "1 M"}, {Decimal, 2.5, "2.5"}, {Decimal, 1e18, "1 E"},
	} {
		if got := c.p.Format(c.v, 3); got != c.want {
			t.Errorf("%g is %q, want %q", c.v, got, c.want)
		}
	}
}
