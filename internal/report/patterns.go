package report

import (
	"strings"

	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/text"
)

// patternsText prints what the matrices are made of. Collectives are left out if there is
// more direct traffic: their calls are listed by name.
func (s *summaryText) patternsText() {
	found := s.Patterns[s.Run]
	if found == nil {
		return
	}
	if found.Direct.Total.Messages > 0 {
		s.println("\npatterns: point-to-point and one-sided")
		s.partText(&found.Direct)
	}
	if c := &found.Collectives; len(c.Components) > 0 && c.Total.Bytes > found.Direct.Total.Bytes {
		s.println("\npatterns: collectives (logical volume)")
		s.partText(c)
	}
}

// partText prints one line for each component, and one for the rest.
func (s *summaryText) partText(p *patterns.Part) {
	of := "bytes"
	if p.Total.Bytes == 0 {
		of = "messages"
	}
	for i := range p.Components {
		c := &p.Components[i]
		words := c.Text
		if s.ASCII {
			words = strings.ReplaceAll(words, "×", "x")
		}
		s.printf("  %s: %s of %s\n", words, text.Percent(c.Share), of)
	}
	switch {
	case p.TooLarge:
		s.println("  not looked for: there are too many pairs")
	case p.Residual.Bytes > 0 || p.Total.Bytes == 0 && p.Residual.Messages > 0:
		s.printf("  not explained: %s of %s\n", smallShare(p.ResidualShare), of)
	}
}

// smallShare returns a share that is not 0.
func smallShare(share float64) string {
	if share < 0.0005 {
		return "less than " + text.Percent(0.001)
	}
	return text.Percent(share)
}
