package terminal

import (
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/views"
)

// TestShortFindings checks that a line of a finding keeps its head, and only whole sentences.
func TestShortFindings(t *testing.T) {
	list := []views.Highlight{{Rule: "late sender", Share: "20.0 % of the run", Text: "Rank 1 waits. " + strings.Repeat("Long. ", 20), Try: strings.Repeat("x", 200)}}
	var out strings.Builder
	if err := Write(&out, []views.Section{{Blocks: []views.Block{{Findings: &list}}}}, Options{Short: true, Width: 60}); err != nil {
		t.Fatal(err)
	}
	const want = "1. late sender, 20.0 % of the run: Rank 1 waits. Long. Long.\n   Try: "
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "x…\n") {
		t.Errorf("got %q, want %q and a cut word", got, want)
	}
}
