package ranks

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":              "0123456789",
		"3":             "3",
		"2-4,7":         "2347",
		"7,2-4,3-5,7-7": "23457",
		"8-2000000000":  "89",
	} {
		l, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var got strings.Builder
		for rank := range 10 {
			if l.Has(rank) {
				got.WriteByte(byte('0' + rank))
			}
		}
		if got.String() != want {
			t.Errorf("%q has %s, want %s", text, &got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{",", "1,", "-", "-1", "4-2", "1-2-3", "a", "0x3", "+1", " 1", "1 - 2", "99999999999"} {
		if l, err := Parse(text); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "0-15,64") {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}
