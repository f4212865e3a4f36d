// Package csvfile writes the table of facts as CSV (RFC 4180, with the lines of
// Unix): the columns of profile.arrow under a line of their names, numbers
// plain, what is not known empty. Texts are text.Cell: spreadsheets open
// such files, and would run a phase called =cmd().
package csvfile

import (
	"encoding/csv"
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
		return fmt.Errorf("write csv table: %w", err)
	}
	return nil
}

func write(w io.Writer, src profile.Source) error {
	out := csv.NewWriter(w)
	record := make([]string, len(facts.Columns))
	for i := range facts.Columns {
		record[i] = facts.Columns[i].Name
	}
	if err := out.Write(record); err != nil {
		return err
	}
	err := src.Each(func(p *profile.Profile) error {
		for f := range facts.Of(p) {
			for i := range facts.Columns {
				record[i] = cell(&facts.Columns[i], f)
			}
			if err := out.Write(record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func cell(c *facts.Column, f facts.Fact) string {
	if c.Kind == facts.Text {
		s, _ := c.Text(f)
		return text.Cell(s)
	}
	v, ok := c.Number(f)
	return numberCell(v, ok, c.Kind == facts.Int32)
}

// numberCell is a number, two's complement if it is signed; empty if there is none.
func numberCell(v uint64, ok, signed bool) string {
	switch {
	case !ok:
		return ""
	case signed:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}
