// Package report prints differences between two jobs, and the history of many runs, as text for
// people. Package views has the other results.
package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

// Options control how a report is printed.
type Options struct {
	ASCII bool // print ASCII only
	Width int  // characters in a line, to which tables are fitted; 0 for no limit
	Top   int  // lines in each list; all if negative
}

// nameWidth is a width for the first column. If the column would be narrower, other columns
// are left out to make room for it.
const nameWidth = 40

// printer is where and how a report is printed.
type printer struct {
	Options
	w text.Wrapper
}

// newOutput returns an output that breaks lines of prose at a width; 0 for no
// limit.
func newOutput(w io.Writer, o Options, width int) *printer {
	return &printer{Options: o, w: text.Wrapper{W: bufio.NewWriter(w), Width: width}}
}

// Write and Flush call the methods of the text.Wrapper.
func (o *printer) Write(b []byte) (int, error) { return o.w.Write(b) }
func (o *printer) Flush() error                { return o.w.Flush() }

func (o *printer) printf(format string, args ...any) { fmt.Fprintf(o, format, args...) }
func (o *printer) println(args ...any)               { fmt.Fprintln(o, args...) }

// table prints an empty line, a table, and how many entries the table leaves out,
// as more does.
func (o *printer) table(t *text.Table, more int, noun, how string) {
	o.println()
	t.Write(o)
	o.more(more, noun, how)
}

// more prints how many entries a list leaves out, if any, and how to see them.
func (o *printer) more(n int, noun, how string) {
	if n > 0 {
		o.printf("and %s%s\n", text.CountOf(n, "more "+noun), how)
	}
}

// pick returns the second text if only ASCII may be printed, otherwise the
// first.
func (o *printer) pick(unicode, ascii string) string {
	if o.ASCII {
		return ascii
	}
	return unicode
}

// none returns the text for a number that is not known.
func (o *printer) none() string { return o.pick("–", "-") }

func (o *printer) pair(from, to int) string {
	return fmt.Sprintf("%d %s %d", from, o.pick("→", "->"), to)
}

func (o *printer) duration(ns float64) string { return text.Duration(ns, o.ASCII) }
func (o *printer) seconds(s float64) string   { return o.duration(1e9 * s) }

// lifetime returns how long processes ran, in seconds; 0 if that is not known.
func (o *printer) lifetime(s float64) string {
	if s == 0 {
		return o.none()
	}
	return o.seconds(s)
}

// estimate returns a time, with its standard error if that is not 0.
func (o *printer) estimate(ns, stderr float64) string {
	if stderr == 0 {
		return o.duration(ns)
	}
	return text.Estimate(ns, stderr, o.ASCII)
}

// clean escapes control characters.
func (o *printer) clean(s string) string {
	if o.ASCII {
		return text.ASCII(s)
	}
	return text.Line(s)
}

// shorten shortens the label of a call site to a width.
func (o *printer) shorten(label string, width int) string { return text.Site(label, width, o.ASCII) }

// top returns the first n entries of a list and how many more there are; all entries if n
// is negative.
func top[T any](list []T, n int) ([]T, int) {
	if n < 0 || n >= len(list) {
		return list, 0
	}
	return list[:n], len(list) - n
}

// widest returns the width of the widest text, in characters.
func widest[T any](list []T, of func(*T) string) int {
	n := 0
	for i := range list {
		n = max(n, utf8.RuneCountInString(of(&list[i])))
	}
	return n
}

// callersWidth is the width of lines of callers if the width of lines is not
// limited.
const callersWidth = 110

// callers returns lines of callers, with as many in a line as fit.
func (o *printer) callers(indent string, callers []aggregate.NamedPlace) (lines []string) {
	line, width := "", cmp.Or(o.Width, callersWidth)
	for _, c := range callers {
		arrow := o.pick(" ← ", " <- ")
		part := arrow + o.shorten(o.clean(c.Label), width-len(indent)-utf8.RuneCountInString(arrow))
		if line != "" && utf8.RuneCountInString(indent+line+part) > width {
			lines = append(lines, indent+line)
			line = ""
		}
		line += part
	}
	if line != "" {
		lines = append(lines, indent+line)
	}
	return lines
}

// efficiency returns the parallel efficiency, with its standard error if it is an estimate.
func (o *printer) efficiency(p *aggregate.POP) string {
	words := views.Efficiency(p)
	return o.pick(words, strings.NewReplacer("±", "+-", "–", "-").Replace(words))
}
