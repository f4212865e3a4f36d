package aggregate

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// A process that did not record a setting has its default. Different texts may
// be the same value.
func TestDifferentSettings(t *testing.T) {
	ps := fixture()
	ps[0].Settings = map[string]string{"interval": "1s", "stack": "8", "max-mb": "128"}
	ps[1].Settings = map[string]string{"interval": "1000ms", "stack": "8", "pvar": "a\x1b[2J"}
	ps[2].Settings = map[string]string{"interval": "1s", "stack": "8"}
	ps[3].Settings = map[string]string{"stack": "8"}
	asRecorded := func(value string) string { return cmp.Or(value, "none") }
	stack := RecordedSetting{Name: "stack", Default: "1", Shown: asRecorded}
	j, err := Of(profile.List(ps), Options{MustAgree: []RecordedSetting{
		{Name: "timing"},
		{Name: "interval", Default: "off", Shown: func(value string) string {
			d, _ := time.ParseDuration(value)
			return d.String()
		}},
		stack,
		{Name: "pvar", Default: "none", Shown: asRecorded},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"not all ranks were recorded with the same --interval: 1s (ranks 0-2), off (rank 3)",
		`not all ranks were recorded with the same --pvar: a\x1b[2J (rank 1), none (ranks 0, 2-3)`,
	}
	problems := slices.DeleteFunc(j.Problems(), func(p string) bool { return !strings.Contains(p, "the same --") })
	if !slices.Equal(problems, want) {
		t.Errorf("got %q, want %q", problems, want)
	}
	if ranks := j.RanksBySetting(stack); len(ranks) != 1 || len(ranks["8"]) == 0 {
		t.Errorf("stack is %v, want 8", ranks)
	}
}
