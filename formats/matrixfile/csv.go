package matrixfile

import (
	"io"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// writeCSV writes a line for each pair that has messages or bytes, below the
// names of the columns (RFC 4180, but for the ends of lines, which are those of
// Unix).
func writeCSV(w io.Writer, s *Sheet, _ Quantity) error {
	names := make([]string, len(s.Labels))
	for i, label := range s.Labels {
		names[i] = csvField(text.Cell(label))
	}
	b := newBuffer(w)
	b.text = append(b.text, "sender,receiver,messages,bytes\n"...)
	messages, bytes := s.exact(Msg), s.exact(Size)
	for p, v := range s.entries {
		b.text = append(appendLine(b.text, names, p.From), ',')
		b.text = append(appendLine(b.text, names, p.To), ',')
		b.text = append(messages(b.text, v), ',')
		b.text = append(bytes(b.text, v), '\n')
		if !b.full() {
			break
		}
	}
	return b.flush()
}

// csvField quotes what needs it.
func csvField(text string) string {
	if !strings.ContainsAny(text, ",\"\r\n") && strings.TrimSpace(text) == text && text != "" {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// appendLine names a line.
func appendLine(text []byte, names []string, line int) []byte {
	if len(names) == 0 {
		return strconv.AppendInt(text, int64(line), 10)
	}
	return append(text, names[line]...)
}
