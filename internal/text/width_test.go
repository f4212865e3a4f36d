package text

import "testing"

func TestScreen(t *testing.T) {
	for _, test := range []struct {
		height int
		want   string
	}{
		{4, "\x1b[Ha\x1b[K\nb\x1b[K\nc\x1b[K\n\x1b[J"},
		{3, "\x1b[Ha\x1b[K\n... (the terminal is too small for the rest)\x1b[K\n\x1b[J"},
	} {
		if got := Screen("a\nb\nc\n", test.height); got != test.want {
			t.Errorf("%d lines: %q, want %q", test.height, got, test.want)
		}
	}
}
