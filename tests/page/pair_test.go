package page

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// checkPair clicks a cell of two ranks and compares what they sent, by size, call, call
// site and phase, with profile2mat.
func (p *tab) checkPair(run string, c cell) {
	p.Helper()
	p.showMatrix()
	want := matrixOf(p, run, "point-to-point", "rank")[c]
	at := p.locate(c)
	p.do(chromedp.MouseClickXY(at.X, at.Y))
	p.settle()
	const details = `section[aria-label="Selected pair"]`
	p.mentions(details, fmt.Sprintf("rank %d → rank %d", c[0], c[1]), commas(want.Bytes)+" B", commas(want.Messages)+" message")
	sums := eval[[][]string](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((t) => [...t.querySelectorAll("tbody tr")].flatMap((r) =>
		[r.cells[1].textContent, r.cells[2].querySelector("[title]").title]))`, details+" table"))
	if len(sums) != 4 {
		p.Errorf("the pair has %d tables, want 4", len(sums))
	}
	for i, numbers := range sums {
		var sum amount
		for k := 0; k < len(numbers); k += 2 {
			sum = sum.add(amount{Messages: number(numbers[k]), Bytes: number(numbers[k+1])})
		}
		if sum != want {
			p.Errorf("table %d of the pair adds up to %+v, want %+v", i, sum, want)
		}
	}
	p.keys(kb.Escape)
}

// checkKeys reads a cell of the matrix with the keyboard, and requires that screen readers
// are told what it holds.
func (p *tab) checkKeys() {
	p.Helper()
	p.script(view + `.querySelector("canvas.matrix").focus()`)
	p.keys(kb.ArrowDown)
	p.keys(kb.ArrowRight)
	text := eval[string](p, view+`.querySelector("[aria-live]").textContent`)
	if !strings.Contains(text, "→") || !strings.Contains(text, "message") {
		p.Errorf("the arrows read %q", text)
	}
}

// checkPrint prints the page on A4. All of it must be there, in light colours.
func (p *tab) checkPrint() {
	p.Helper()
	p.prefer("dark")
	p.settle() // the page has changed its colours
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	if err != nil {
		p.Fatal(err)
	}
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")); pages < 2 || pages > 12 {
		p.Errorf("%d pages of paper", pages)
	}
	p.keep("halo.pdf", pdf)
	if theme := eval[string](p, `document.documentElement.dataset.theme`); theme != "dark" {
		p.Errorf("after printing the theme is %s", theme)
	}
	p.prefer("light")
}
