// Package text is the lowest layer of everything that people read: it wraps lines,
// suggests names for those that are misspelt, and escapes names that come from a
// job. Names of programs, hosts, communicators, phases and functions are data, and
// may contain what a terminal, a table or a spreadsheet would obey.
package text

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a text for one line on a terminal: line ends, control and other
// invisible characters, and bytes that are no UTF-8, are escaped as in Go.
func Line(s string) string { return escape(s, func(r rune) bool { return unicode.IsPrint(r) }) }

// ASCII is Line, with all that is not ASCII escaped too.
func ASCII(s string) string {
	return escape(s, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsPrint(r) })
}

// Lines is Line for a text of several: line ends and tabs stay.
func Lines(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) })
}

// Field is a text for a field of a line that has no way to quote: what Line
// escapes is a question mark.
func Field(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Cell is a text for a cell of a table that spreadsheets open: Line, and an
// apostrophe in front of what they would take for a formula.
//
// https://owasp.org/www-community/attacks/CSV_Injection
func Cell(s string) string {
	s = Line(s)
	if first := strings.TrimLeft(s, " "); first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
		return "'" + s
	}
	return s
}

// FileName is a text as a part of a file's name, at most 100 bytes long: there
// is nothing in it that the file system or a shell's user would stumble over.
func FileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == '/' || r == utf8.RuneError {
			return '_'
		}
		return r
	}, s)
	for len(s) > maxFileName {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		s = "_" + s[1:]
	}
	return s
}

const maxFileName = 100

// JSON escapes what JSON leaves as it is and a terminal would obey, in a JSON
// text: the text stays the same to its readers.
func JSON(text []byte) []byte {
	clean := func(r rune) bool { return r < utf8.RuneSelf && r != 0x7f || unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.IndexFunc(string(text), func(r rune) bool { return !clean(r) }) < 0 {
		return text
	}
	var out []byte
	for _, r := range string(text) { // such characters are in strings only
		switch {
		case clean(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(JSON(text), '\n'))
	return err
}

func escape(s string, keep func(rune) bool) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !keep(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case keep(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}
