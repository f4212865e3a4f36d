package arrowfile

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// A frame without a line is read back as it was.
func TestParseFrame(t *testing.T) {
	at := profile.Place{Path: "app", Offset: 0x1234}
	for _, want := range []profile.Frame{
		{Place: at},
		{Place: at, Symbol: profile.Symbol{Function: "swap", Into: 0x1f}},
		{Place: at, Symbol: profile.Symbol{Function: "swap"}},
		{Place: at, Symbol: profile.Symbol{Function: "(anonymous namespace)::swap"}},
		{Place: at, Symbol: profile.Symbol{Near: "swap", Into: 0xb5ce59}},
		{Place: at, Symbol: profile.Symbol{Near: "operator+", Into: 0x10}},
		{Place: at, Symbol: profile.Symbol{Near: "swap"}},
	} {
		if got := parseFrame(want.String(), want.Address()); got != want {
			t.Errorf("%s: got %+v, want %+v", want, got, want)
		}
	}
}
