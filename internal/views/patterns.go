package views

import (
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/text"
)

// patterns returns the section of what the matrices are made of. Collectives are left out if
// there is more direct traffic: their calls are listed by name.
func (s *report) patterns() Section {
	out := Section{ID: "patterns", Title: "Patterns"}
	found := s.Patterns
	if found == nil {
		return out
	}
	if found.Direct.Total.Messages > 0 {
		part(&out, "point-to-point and one-sided", &found.Direct)
	}
	if c := &found.Collectives; len(c.Components) > 0 && c.Total.Bytes > found.Direct.Total.Bytes {
		part(&out, "collectives (logical volume)", c)
	}
	return out
}

// part adds the components of a matrix and the rest.
func part(out *Section, name string, p *patterns.Part) {
	of := "bytes"
	if p.Total.Bytes == 0 {
		of = "messages"
	}
	l := Listing{Head: "patterns: " + name}
	for i := range p.Components {
		c := &p.Components[i]
		l.Items = append(l.Items, ListItem{Text: c.Text + ": " + text.Percent(c.Share) + " of " + of})
	}
	switch {
	case p.TooLarge:
		l.Items = append(l.Items, ListItem{Text: "not looked for: there are too many pairs"})
	case p.Residual.Bytes > 0 || p.Total.Bytes == 0 && p.Residual.Messages > 0:
		l.Items = append(l.Items, ListItem{Text: "not explained: " + smallShare(p.ResidualShare) + " of " + of})
	}
	out.List(l)
	out.Detail(func() {
		type R = patterns.Component
		volume := func(c *R) *matrix.Volume { return &matrix.Volume{Messages: c.Messages, Bytes: c.Bytes} }
		out.Add(tableOf("patterns", p.Components,
			col("pattern", "pattern", Words, func(c *R) Cell { return wordsCell(c.Text) }),
			col("share", "share", Share, func(c *R) Cell { return shareCell(c.Share) }),
			messagesColumn("msgs", volume), bytesColumn("bytes", volume)).named(name))
	})
}

// smallShare returns a share that is not 0.
func smallShare(share float64) string {
	if share < 0.0005 {
		return "less than " + text.Percent(0.001)
	}
	return text.Percent(share)
}
