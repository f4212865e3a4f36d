// Package jsonfile writes the table of facts as JSON lines: one object a row,
// with the columns of profile.arrow as its keys, in their order, numbers plain,
// what is not known null.
//
// That is what pandas.read_json(lines=True), polars.scan_ndjson, DuckDB's
// read_json, jq and line tools take as it is, and what can be cut, joined and
// streamed. One large document with the processes in it was the alternative:
// most readers want it whole in memory.
package jsonfile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Write writes the rows of all the profiles, in the order of the source.
func Write(w io.Writer, src profile.Source) error {
	if err := write(w, src); err != nil {
		return fmt.Errorf("write json table: %w", err)
	}
	return nil
}

func write(w io.Writer, src profile.Source) error {
	out := bufio.NewWriter(w)
	e := encoder{texts: map[string][]byte{}}
	for i := range facts.Columns {
		e.keys = append(e.keys, strconv.Quote(facts.Columns[i].Name)+":")
	}
	var line []byte
	err := src.Each(func(p *profile.Profile) error {
		for f := range facts.Of(p) {
			line = e.appendRow(line[:0], f)
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

type encoder struct {
	keys  []string
	texts map[string][]byte // quoted
}

// maxTexts bounds how many quoted texts are kept.
const maxTexts = 64 << 10

func (e *encoder) appendRow(to []byte, f facts.Fact) []byte {
	to = append(to, '{')
	for i := range facts.Columns {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, e.keys[i]...)
		to = e.appendValue(to, &facts.Columns[i], f)
	}
	return append(to, '}', '\n')
}

func (e *encoder) appendValue(to []byte, c *facts.Column, f facts.Fact) []byte {
	if c.Kind == facts.Text {
		if s, ok := c.Text(f); ok {
			return append(to, e.quoted(s)...)
		}
		return append(to, "null"...)
	}
	v, ok := c.Number(f)
	switch {
	case !ok:
		return append(to, "null"...)
	case c.Kind == facts.Int32:
		return strconv.AppendInt(to, int64(v), 10)
	}
	return strconv.AppendUint(to, v, 10)
}

func (e *encoder) quoted(s string) []byte {
	q, ok := e.texts[s]
	if !ok {
		if len(e.texts) == maxTexts {
			clear(e.texts)
		}
		q, _ = json.Marshal(s) // a string can be
		q = text.JSON(q)
		e.texts[s] = q
	}
	return q
}
