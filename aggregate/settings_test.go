package aggregate

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/settings"
)

// A process without a record of a setting has its default, and one value may be
// written in several ways.
func TestDifferentSettings(t *testing.T) {
	ps := fixture()
	ps[0].Settings = map[string]string{"interval": "1s", "stack": "8", "max-mb": "128"}
	ps[1].Settings = map[string]string{"interval": "1000ms", "stack": "8", "pvar": "a\x1b[2J"}
	ps[2].Settings = map[string]string{"interval": "1s", "stack": "8"}
	ps[3].Settings = map[string]string{"stack": "8"}
	want := []string{
		"not all ranks were recorded with the same --interval: 1s (ranks 0-2), off (rank 3)",
		`not all ranks were recorded with the same --pvar: a\x1b[2J (rank 1), none (ranks 0, 2-3)`,
	}
	j := New(ps)
	problems := slices.DeleteFunc(j.Problems(), func(p string) bool { return !strings.Contains(p, "the same --") })
	if !slices.Equal(problems, want) {
		t.Errorf("got %q, want %q", problems, want)
	}
	if of := j.SettingOf(settings.Named("stack")); len(of) != 1 || len(of["8"]) == 0 {
		t.Errorf("stack is %v, want 8", of)
	}
}
