// Package text formats what people read: numbers with units, tables, wrapped
// lines, progress and shortened call sites. It also escapes names that come
// from a job. Names of programs, hosts, communicators, phases and functions are
// data, and may contain characters that a terminal, a table or a spreadsheet
// would interpret.
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

// Line returns s for one line on a terminal. It escapes line ends, control
// characters, other invisible characters and bytes that are not UTF-8 as in Go.
func Line(s string) string { return escape(s, func(r rune) bool { return unicode.IsPrint(r) }) }

// ASCII is like Line, but also escapes all characters that are not ASCII.
func ASCII(s string) string {
	return escape(s, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsPrint(r) })
}

// Lines is like Line, but keeps line ends and tabs.
func Lines(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) })
}

// Field returns s for a field of a format without quoting. It replaces the
// characters that Line escapes by question marks.
func Field(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Cell returns s for a cell of a table that may be opened in a spreadsheet:
// like Line, with an apostrophe before a text that the spreadsheet would take
// for a formula.
//
// https://owasp.org/www-community/attacks/CSV_Injection
func Cell(s string) string {
	s = Line(s)
	if first := strings.TrimLeft(s, " "); first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
		return "'" + s
	}
	return s
}

// ShellQuote returns a word quoted for a shell, if it needs quotes.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("/._-+,=@", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// FileName returns s as a part of a file name of at most 100 bytes. It replaces
// characters that are invisible or that the file system does not allow, and a
// leading dot or hyphen, by underscores.
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

// JSON escapes, in a JSON text, the characters that JSON allows and a terminal
// would interpret. Readers of the JSON get the same values.
func JSON(text []byte) []byte {
	clean := func(r rune) bool { return r < utf8.RuneSelf && r != 0x7f || unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.IndexFunc(string(text), func(r rune) bool { return !clean(r) }) < 0 {
		return text
	}
	var out []byte
	for _, r := range string(text) { // these characters occur only in strings
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

// JoinJSON returns one JSON object with the keys of several values, which are objects with keys.
func JoinJSON(values ...any) ([]byte, error) {
	var out []byte
	for _, v := range values {
		object, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if len(out) > 0 {
			out[len(out)-1], object = ',', object[1:]
		}
		out = append(out, object...)
	}
	return out, nil
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
