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

// Wrapper breaks lines of prose that are longer than a width at spaces. Lines that
// go on are indented by two more. Rows of tables have two spaces or more between
// columns, and lines of pictures end in a bar: they are left as they are.
type Wrapper struct {
	W     *bufio.Writer
	Width int    // characters; no line is broken if it is 0
	rest  []byte // of the last line
}

// Write takes all of text, and writes its whole lines.
func (p *Wrapper) Write(text []byte) (int, error) {
	if p.Width == 0 {
		return p.W.Write(text)
	}
	p.rest = append(p.rest, text...)
	end := bytes.LastIndexByte(p.rest, '\n') + 1
	var out strings.Builder
	for line := range strings.Lines(string(p.rest[:end])) {
		wrapLine(&out, line, p.Width)
	}
	p.rest = p.rest[end:]
	if _, err := p.W.WriteString(out.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes what follows the last newline, and all that is buffered.
func (p *Wrapper) Flush() error {
	p.W.Write(p.rest)
	p.rest = nil
	return p.W.Flush()
}

// wrapLine writes a line, which ends in a newline, in as many as it needs.
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

// bound stands for a space at which no line is broken; texts that are printed have
// no such character.
const bound = "\x1f"

var (
	numbers = regexp.MustCompile(`(^| )([(+-]*[0-9][0-9.,]*) `)
	ranks   = regexp.MustCompile(`\brank ([0-9])`)
)

// bind keeps numbers with their units, and with the ranks that they are of.
func bind(text string) string {
	text = ranks.ReplaceAllString(text, "rank"+bound+"$1")
	return numbers.ReplaceAllString(text, "$1$2"+bound)
}

// Wrap prints a text in lines of a width, with these in front of the first and
// of the others. A word that is longer is cut into several.
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
