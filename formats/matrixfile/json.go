package matrixfile

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

// writeJSON writes one object:
//
//	class, line, program, run, selection   as in the other formats; strings; absent if not known
//	n           number of lines
//	symmetric   whether entries are the mean of both directions
//	labels      names of the lines; absent if they have none
//	messages, bytes   sums over all entries
//	columns     ["sender", "receiver", "messages", "bytes"]
//	entries     lists of these four values, sorted by sender and receiver, for all pairs
//	            that have messages or bytes; senders and receivers count from 0
//
// Numbers are exact, and may be larger than 2^53.
func writeJSON(w io.Writer, s *Sheet, _ Quantity) error {
	messages, bytes := s.exact(Msg), s.exact(Size)
	b := newBuffer(w)
	b.text = append(b.text, '{')
	for _, is := range s.about() {
		b.text = append(appendQuoted(append(appendQuoted(b.text, is[0]), ": "...), is[1]), ",\n "...)
	}
	b.text = append(strconv.AppendInt(append(b.text, `"n": `...), int64(s.N), 10), ",\n "...)
	b.text = append(strconv.AppendBool(append(b.text, `"symmetric": `...), s.Symmetric), ",\n "...)
	if s.Labels != nil {
		b.appendLabels(s.Labels)
	}
	total := s.Matrix.Total()
	b.text = append(messages(append(b.text, `"messages": `...), total), ",\n "...)
	b.text = append(bytes(append(b.text, `"bytes": `...), total), ",\n "...)
	b.text = append(b.text, `"columns": ["sender", "receiver", "messages", "bytes"],`+"\n "+`"entries": [`...)
	separator := "\n  ["
	for p, v := range s.entries {
		b.text = append(b.text, separator...)
		b.text = appendEntry(b.text, p, messages, bytes, v)
		separator = ",\n  ["
		if !b.full() {
			break
		}
	}
	b.text = append(b.text, "]}\n"...)
	return b.flush()
}

func appendEntry(text []byte, p matrix.Pair, messages, bytes appendNumber, v matrix.Volume) []byte {
	text = append(strconv.AppendInt(text, int64(p.From), 10), ',')
	text = append(strconv.AppendInt(text, int64(p.To), 10), ',')
	text = append(messages(text, v), ',')
	return append(bytes(text, v), ']')
}

func (b *buffer) appendLabels(labels []string) {
	b.text = append(b.text, `"labels": [`...)
	for i, label := range labels {
		if i > 0 {
			b.text = append(b.text, ", "...)
		}
		if b.text = appendQuoted(b.text, label); !b.full() {
			return
		}
	}
	b.text = append(b.text, "],\n "...)
}

func appendQuoted(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // cannot fail for a string
	return append(b, text.JSON(quoted)...)
}
