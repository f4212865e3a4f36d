package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

// WriteMarkdown writes sections as Markdown, each under its title. It shows what a terminal
// shows of their sentences, facts, lists and tables.
func WriteMarkdown(w io.Writer, sections []views.Section, o Options) error {
	out := &writer{Options: o, w: text.Wrapper{W: bufio.NewWriter(w)}}
	apart := ""
	for i := range sections {
		s := &sections[i]
		shown := false
		for k := range s.Blocks {
			if s.Blocks[k].Detail {
				continue
			}
			if !shown {
				out.line("%s### %s", apart, out.markdown(s.Title))
				shown, apart = true, "\n"
			}
			out.markdownBlock(&s.Blocks[k])
		}
	}
	return out.w.Flush()
}

func (o *writer) markdownBlock(b *views.Block) {
	switch {
	case b.Text != nil && b.Text.Tone == views.Code:
		o.line("\n    %s", b.Text.Text) // a block of code, in which nothing is markup
	case b.Text != nil:
		o.paragraph(b.Text.Text)
	case b.Fact != nil:
		o.paragraph(b.Fact.Name + ": " + b.Fact.Value)
	case b.List != nil:
		if b.List.Head != "" {
			o.paragraph(b.List.Head)
		}
		items, more := shownItems(b.List)
		for _, item := range items {
			o.paragraph(item.Text)
		}
		if more != "" {
			o.paragraph("and " + more)
		}
	case b.Table != nil:
		o.markdownTable(b.Table)
	}
}

func (o *writer) paragraph(words string) { o.line("\n%s", o.markdown(words)) }

func (o *writer) markdownTable(t *views.Table) {
	var heads, rule []string
	for i, c := range t.Columns {
		if c.Detail {
			continue
		}
		head, line := c.Head, "---:"
		if i == 0 && t.Name != "" {
			head = t.Name
		}
		if c.Unit == views.Words {
			line = "---"
		}
		heads, rule = append(heads, o.markdown(head)), append(rule, line)
	}
	line := func(cells []string) { o.line("| %s |", strings.Join(cells, " | ")) }
	o.line("")
	line(heads)
	line(rule)
	rows, more := shownRows(t)
	for _, row := range rows {
		var cells []string
		for k, c := range row.Cells {
			if !t.Columns[k].Detail {
				cells = append(cells, o.markdown(o.cut(&t.Columns[k], c.Text)))
			}
		}
		line(cells)
	}
	if more > 0 {
		o.paragraph(fmt.Sprintf("and %s%s", text.CountOf(more, "more "+t.Noun), t.How))
	}
}

// markdown escapes what Markdown or HTML would interpret.
func (o *writer) markdown(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
		"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, `\`, `\\`).Replace(o.ascii(s))
}
