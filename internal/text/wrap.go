package text

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Wrapper breaks lines of prose that are longer than a width at spaces.
// Continuation lines are indented by two more spaces. It does not break rows of
// tables, which have two or more spaces between columns, or lines of pictures,
// which end in a bar.
type Wrapper struct {
	W     *bufio.Writer
	Width int                      // in characters; 0 breaks no line
	Cut   func(line string) string // cuts lines instead, also of tables and pictures; nil breaks them
	rest  []byte                   // unfinished last line
}

// Write takes all of text and writes its complete lines.
func (p *Wrapper) Write(text []byte) (int, error) {
	if p.Width == 0 {
		return p.W.Write(text)
	}
	p.rest = append(p.rest, text...)
	end := bytes.LastIndexByte(p.rest, '\n') + 1
	var out strings.Builder
	for line := range strings.Lines(string(p.rest[:end])) {
		if p.Cut != nil {
			out.WriteString(p.Cut(strings.TrimSuffix(line, "\n")) + "\n")
			continue
		}
		wrapLine(&out, line, p.Width)
	}
	p.rest = p.rest[end:]
	if _, err := p.W.WriteString(out.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes the unfinished last line and everything that is buffered.
func (p *Wrapper) Flush() error {
	p.W.Write(p.rest)
	p.rest = nil
	return p.W.Flush()
}

// wrapLine writes a line, which ends in a newline, as one or more lines.
func wrapLine(b *strings.Builder, line string, width int) {
	text := strings.Trim(line, " \n")
	if utf8.RuneCountInString(line) <= width+1 || strings.Contains(text, "  ") || strings.HasSuffix(text, "|") {
		b.WriteString(line)
		return
	}
	indent := line[:strings.Index(line, text)]
	var lines strings.Builder
	Wrap(&lines, bind(text), indent, indent+"  ", width)
	b.WriteString(strings.ReplaceAll(lines.String(), bound, " "))
}

// bound replaces a space at which no line may be broken. Printed texts never
// contain this character.
const bound = "\x1f"

var (
	numbers = regexp.MustCompile(`(^| )([(+-]*[0-9][0-9.,]*) `)
	ranks   = regexp.MustCompile(`\brank ([0-9])`)
)

// bind replaces the spaces between a number and its unit, and between "rank"
// and its number, by bound.
func bind(text string) string {
	text = ranks.ReplaceAllString(text, "rank"+bound+"$1")
	return numbers.ReplaceAllString(text, "$1$2"+bound)
}

// Sentences returns the first sentences of a text, as many as fit in a number of columns. If not even
// one fits, it is cut as by First.
func Sentences(text string, width int, ascii bool) string {
	first := text
	for Columns(first) > width {
		end := strings.LastIndex(strings.TrimSuffix(first, "."), ". ")
		if end < 0 {
			return First(text, width, ascii)
		}
		first = first[:end+1]
	}
	return first
}

// FirstLines returns a text in at most n lines of a width. What does not fit is cut as by First.
func FirstLines(text string, n, width int, ascii bool) []string {
	var b strings.Builder
	Wrap(&b, bind(First(text, (n+1)*width, ascii)), "", "", width) // what is longer does not fit
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(b.String(), bound, " "), "\n"), "\n")
	if len(lines) > n {
		lines = append(lines[:n-1], First(strings.Join(lines[n-1:], " "), width, ascii))
	}
	return lines
}

// Wrap prints a text in lines of a width. The first line begins with first, all
// others with others. A word that is longer than a line is cut.
func Wrap(w io.Writer, text, first, others string, width int) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		for {
			room := width - utf8.RuneCountInString(line)
			if !empty {
				room--
			}
			if n := utf8.RuneCountInString(word); n <= room {
				if !empty {
					line += " "
				}
				line, empty = line+word, false
				break
			}
			if empty {
				cut := []rune(word)
				line, word = line+string(cut[:room]), string(cut[room:])
			}
			fmt.Fprintln(w, line)
			line, empty = others, true
		}
	}
	if !empty {
		fmt.Fprintln(w, line)
	}
}
