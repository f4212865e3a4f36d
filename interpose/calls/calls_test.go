package calls

import (
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"too few fields", "1 | Send | p2p", "calls.txt:1: 3 fields"},
		{"no number", "x | Send | p2p | peer | call() | void", "id \"x\""},
		{"id again", "5 | A | p2p | peer | call() | void\n5 | B | p2p | peer | call() | void", "calls.txt:2: id 5"},
		{"name again", "5 | A | p2p | peer | call() | void\n6 | A | p2p | peer | call() | void", "A stands twice"},
		{"no type", "5 | A | p2p | peer | call() | x", "has no type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
