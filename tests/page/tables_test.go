package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A shownTable is a table of the page as it is seen.
type shownTable struct {
	Caption string     `json:"caption"`
	Heads   []string   `json:"heads"`
	Rows    [][]string `json:"rows"`   // texts
	Exact   [][]string `json:"exact"`  // of rounded numbers, the exact ones
	Sorted  []string   `json:"sorted"` // aria-sort of each head
}

// tables is a function that returns the table with an id, or else with a caption.
const tables = `((id) => [...document.querySelectorAll(".table")].find((t) => t.dataset.table === id || t.querySelector("caption")?.textContent.startsWith(id)))`

// table returns the table with an id, or with a caption that begins with it. It shows more rows first, but
// not all of those of a large job.
func (p *tab) table(caption string) shownTable {
	p.Helper()
	return eval[shownTable](p, fmt.Sprintf(`((t) => {
		if (!t) return {};
		const more = [...t.querySelectorAll("button")].find((b) => b.textContent.startsWith("Show more"));
		if (more && !more.hidden) more.click();
		const cells = (row) => [...row.querySelectorAll("th, td")];
		const rows = [...t.querySelectorAll("tbody tr")], heads = [...t.querySelectorAll("thead th")];
		return {
			caption: t.querySelector("caption")?.textContent || t.dataset.table,
			heads: heads.map((c) => c.textContent), sorted: heads.map((c) => c.getAttribute("aria-sort")),
			rows: rows.map((r) => cells(r).map((c) => c.textContent)),
			exact: rows.map((r) => cells(r).map((c) => c.querySelector("[title]")?.title || c.textContent)),
		};
	})(%s(%q))`, tables, caption))
}

// sortBy clicks the head of a column.
func (p *tab) sortBy(caption, head string) {
	p.Helper()
	p.script(`[...%s(%q).querySelectorAll("thead button")].find((b) => b.textContent === %q).click()`, tables, caption, head)
}

// filter types into the filter box of a table.
func (p *tab) filter(caption, text string) {
	p.Helper()
	p.script(`const box = %s(%q).querySelector("input[type=search]"); box.value = %q; box.dispatchEvent(new Event("input"))`, tables, caption, text)
}

// column returns the exact values of a column.
func (s shownTable) column(t testing.TB, head string) []string {
	t.Helper()
	return columnOf(s.Exact, func(row []string) string { return row[s.index(t, head)] })
}

// texts returns the texts of a column.
func (s shownTable) texts(t testing.TB, head string) []string {
	t.Helper()
	return columnOf(s.Rows, func(row []string) string { return row[s.index(t, head)] })
}

func (s shownTable) index(t testing.TB, head string) int {
	t.Helper()
	i := slices.Index(s.Heads, head)
	if i < 0 {
		t.Fatalf("%s: no column %q in %q", s.Caption, head, s.Heads)
	}
	return i
}

// number returns the number that a text begins with: "1,024 B" is 1024, and a dash 0.
func number(text string) uint64 {
	n := uint64(0)
	for _, c := range strings.ReplaceAll(text, ",", "") {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uint64(c-'0')
	}
	return n
}

func numbers(texts []string) (ns []uint64) {
	for _, text := range texts {
		ns = append(ns, number(text))
	}
	return ns
}

// A wantedColumn has the numbers of a column in the order of the report.
type wantedColumn struct {
	head   string
	values []uint64
}

// checkTable requires that the columns of a table, which no one has sorted yet, have the
// numbers of the report, and that clicks on their heads sort them.
func (p *tab) checkTable(caption string, columns ...wantedColumn) {
	p.Helper()
	shown := p.table(caption)
	for _, c := range columns {
		if got := numbers(shown.column(p, c.head)); !begins(c.values, got) {
			p.Errorf("%s, %s: %.300s, the report has %.300s", caption, c.head, fmt.Sprint(got), fmt.Sprint(c.values))
		}
	}
	for _, c := range columns {
		p.checkSort(caption, c)
	}
}

// begins reports whether a table that shows at most 200 rows shows what it should.
func begins(want, shown []uint64) bool {
	return len(shown) >= min(len(want), 200) && slices.Equal(want[:min(len(want), len(shown))], shown)
}

// checkSort requires that a click on the head of a column sorts it from the largest value
// to the least, another click the other way, and that screen readers are told so.
func (p *tab) checkSort(caption string, c wantedColumn) {
	p.Helper()
	for _, direction := range []string{"descending", "ascending"} {
		want := slices.Sorted(slices.Values(c.values))
		if direction == "descending" {
			slices.Reverse(want)
		}
		p.sortBy(caption, c.head)
		shown := p.table(caption)
		if got := shown.Sorted[slices.Index(shown.Heads, c.head)]; got != direction {
			p.Errorf("%s, %s: sorted %s, want %s", caption, c.head, got, direction)
		}
		if got := numbers(shown.column(p, c.head)); !begins(want, got) {
			p.Errorf("%s, %s %s: %.300s, want %.300s", caption, c.head, direction, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}

// checkFilter requires that the filter box leaves the rows whose name contains a text.
func (p *tab) checkFilter(caption, head, text string) {
	p.Helper()
	all := p.table(caption).column(p, head)
	p.filter(caption, text)
	left := p.table(caption).column(p, head)
	p.filter(caption, "")
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.Contains(strings.ToLower(name), strings.ToLower(text)) })
	if !slices.Equal(all, left) {
		p.Errorf("%s: the filter %q leaves %q, want %q", caption, text, left, all)
	}
}
