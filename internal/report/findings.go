package report

import (
	"fmt"

	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// findingsText prints what stands out.
func (s *summaryText) findingsText() {
	traced := s.Traced[s.Run]
	found := findings.Of(s.Summary, traced)
	switch why := findings.TimesUnknown(s.Summary); {
	case len(found) > 0:
		s.println("\nwhat stands out:")
	case why != "":
		s.printf("\nnothing stands out, but what costs time is not known: %s\n", why)
	default:
		s.println("\nnothing stands out")
	}
	for i := range found {
		f := &found[i]
		s.printf("%d. %s%s\n", i+1, f.Rule, shareText(f))
		s.printf("   %s\n   Try: %s\n", s.clean(f.Text), s.clean(f.Try))
	}
	s.waitsUnknownText(traced)
	s.println()
}

// waitsUnknownText tells how to find out why ranks wait.
func (s *summaryText) waitsUnknownText(traced *trace.Result) {
	if !s.Unanalyzed && findings.WaitsUnknown(s.Summary, traced) {
		s.println("to record why ranks wait: mpitrace run --trace")
	}
}

func shareText(f *findings.Finding) string {
	words := ""
	switch {
	case f.Share > 0 && f.Of == findings.OfBytes:
		words = fmt.Sprintf(", %s of bytes", text.Percent(f.Share))
	case f.Share > 0:
		words = fmt.Sprintf(", %s of the run", text.Percent(f.Share))
	}
	if f.Uncertain != "" {
		words += fmt.Sprintf(" (uncertain: %s)", f.Uncertain)
	}
	return words
}
