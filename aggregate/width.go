package aggregate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/text"
)

const (
	minSite   = 16 // characters of a first column, in any case
	nameWidth = 40 // up to so many, columns are left out for it
)

// fit leaves out columns by their heads, in the order given, until there is room
// for a first column of `name` characters (at most nameWidth) beside the others.
// The first column of t is empty but for its head. The room that there is comes
// back with the table; columns left out are remembered for omittedText.
func (o TextOptions) fit(t table, name int, spare ...string) (table, int) {
	if o.Width == 0 {
		return t, math.MaxInt
	}
	for _, head := range spare {
		if o.Width-t.width() >= min(name, nameWidth) {
			break
		}
		if !slices.Contains(t[0], head) {
			continue
		}
		t = t.without(head)
		if o.omitted != nil && !slices.Contains(*o.omitted, head) {
			*o.omitted = append(*o.omitted, head)
		}
	}
	return t, max(minSite, o.Width-t.width())
}

// omittedText names the columns that fit left out.
func (o TextOptions) omittedText(w io.Writer) {
	if len(*o.omitted) > 0 {
		fmt.Fprintf(w, "left out to fit %d characters: %s (to see them: mpitrace report DIR | less -S)\n", o.Width, strings.Join(*o.omitted, ", "))
	}
}

// shorten cuts the label of a call site to a width.
func (o TextOptions) shorten(label string, width int) string {
	return text.Site(label, width, o.ASCII)
}

// widest is the width of the widest of some labels.
func widest[T any](list []T, label func(*T) string) int {
	n := 0
	for i := range list {
		n = max(n, utf8.RuneCountInString(label(&list[i])))
	}
	return n
}
