package terminal

import "testing"

func TestShade(t *testing.T) {
	for _, c := range []struct {
		v, low, high uint64
		want         int
	}{
		{0, 1, 10, -1}, {7, 7, 7, 3}, {1, 1, 16, 0}, {2, 1, 16, 1}, {4, 1, 16, 2}, {8, 1, 16, 3}, {16, 1, 16, 3}, {3, 1, 16, 1},
		{1000, 999, 1000, 3}, {999, 999, 1000, 3}, {499, 499, 1000, 2}, {250, 200, 1000, 2}, {200, 200, 1000, 1}, {1, 1, 1, 3}, {1, 1, 256, 0}, {4, 1, 256, 1},
	} {
		if got := shade(c.v, c.low, c.high, 4); got != c.want {
			t.Errorf("shade(%d, %d, %d) = %d, want %d", c.v, c.low, c.high, got, c.want)
		}
	}
}

func TestLegend(t *testing.T) {
	for _, c := range []struct {
		low, high uint64
		want      string
	}{
		{7, 7, "█ 7 B"},
		{999, 1000, "█ 999 B ... 1000 B"},
		{1 << 30, 1<<30 + 1, "█ 1.00 GiB"},
		{300, 1000, "▓ 300 B ... █ 1000 B, log scale"},
		{3, 4, "█ 3 B ... 4 B"}, // the scale begins below 1 byte
		{1, 1000, "░ 1 B ... █ 1000 B, log scale"},
	} {
		if got := legend(c.low, c.high, new(writer).shades()); got != c.want {
			t.Errorf("%d to %d: got %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
