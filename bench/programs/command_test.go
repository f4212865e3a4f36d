package programs

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	writeTable(&b, []pairs{{program: "p", alone: []float64{10, 5, 20}, with: []float64{11, 6, 20}}})
	// The ratios are 1.1, 1.2 and 1; the minimum times are 5 and 6.
	if want := "| p | 3 | 10.00 | 1.100 | 1.000 | 1.200 |\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, p := range programs {
		if p.missing() != p.line[0] {
			t.Errorf("%s: %q is missing", p.name, p.missing())
		}
	}
}

func TestWallTellsWhatFailed(t *testing.T) {
	if _, err := wall(t.Context(), "", "sh", "-c", "echo because >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "because") {
		t.Error(err)
	}
}
