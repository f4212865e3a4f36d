package views

import (
	"github.com/mpitrace/mpitrace/internal/text"
)

// Finish returns the sections that have blocks, with all texts escaped: names that a job
// chooses may hold control characters.
func Finish(sections ...Section) []Section {
	out := []Section{}
	for _, s := range sections {
		clean(&s.Title)
		for i := range s.Blocks {
			s.Blocks[i].clean()
		}
		if len(s.Blocks) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func clean(texts ...*string) {
	for _, s := range texts {
		*s = text.Line(*s)
	}
}

func cleanAll(list []string) {
	for i := range list {
		clean(&list[i])
	}
}

func (b *Block) clean() {
	switch {
	case b.Text != nil:
		clean(&b.Text.Text)
	case b.Fact != nil:
		clean(&b.Fact.Name, &b.Fact.Value)
	case b.List != nil:
		clean(&b.List.Head)
		cleanItems(b.List.Items)
	case b.Table != nil:
		b.Table.clean()
	case b.Findings != nil:
		for i := range *b.Findings {
			f := &(*b.Findings)[i]
			clean(&f.Text, &f.Try, &f.Callsite)
		}
	}
}

func cleanItems(items []ListItem) {
	for i := range items {
		clean(&items[i].Text)
		cleanAll(items[i].Callers)
		cleanItems(items[i].Items)
	}
}

func (t *Table) clean() {
	for i := range t.Columns {
		clean(&t.Columns[i].Head)
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		for k := range r.Cells {
			clean(&r.Cells[k].Text)
		}
		cleanAll(r.Callers)
		clean(&r.Below)
	}
}
