package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/mpitrace/mpitrace/internal/report"
)

// leastWidth is the narrowest that tables are made for.
const leastWidth = 40

// textOptionsFor are the options of text on w: tables fit the terminal, and are as
// wide as they need to be where there is none. COLUMNS overrides both, as in ls
// and git.
func textOptionsFor(w io.Writer) report.Options {
	o := textOptions()
	o.Width = widthOf(w)
	return o
}

// widthOf returns the characters of a line of w, 0 for any.
func widthOf(w io.Writer) int {
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if file, ok := w.(*os.File); ok && n <= 0 {
		n, _, _ = term.GetSize(int(file.Fd()))
	}
	if n <= 0 {
		return 0
	}
	return max(n, leastWidth)
}
