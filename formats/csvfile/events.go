package csvfile

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/formats/events"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// WriteEvents writes the events of all the processes, one process after the other.
func WriteEvents(w io.Writer, srcs []profile.EventSource) error {
	if err := writeEvents(w, srcs); err != nil {
		return fmt.Errorf("write csv events: %w", err)
	}
	return nil
}

func writeEvents(w io.Writer, srcs []profile.EventSource) error {
	out := csv.NewWriter(w)
	names := make([]string, len(events.Columns))
	for i := range events.Columns {
		names[i] = events.Columns[i].Name
	}
	if err := out.Write(names); err != nil {
		return err
	}
	for _, src := range srcs {
		if err := writeProcess(out, src); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func writeProcess(out *csv.Writer, src profile.EventSource) error {
	var perKind [][]string // cells by kind, empty where each event has its own
	return src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		row := events.Event{Trace: src.Trace(), Of: e}
		for k := len(perKind); k < len(kinds); k++ {
			row.EventKind = &kinds[k]
			perKind = append(perKind, make([]string, len(events.Columns)))
			fill(perKind[k], row, true)
		}
		for row.I = range e.Len() {
			record := perKind[e.Kind[row.I]]
			fill(record, row, false)
			if err := out.Write(record); err != nil {
				return err
			}
		}
		return nil
	})
}

// fill makes the cells of a row that are the same for its kind, or those that are not.
func fill(record []string, e events.Event, perKind bool) {
	for i := range events.Columns {
		if c := &events.Columns[i]; c.PerKind == perKind {
			record[i] = eventCell(c, e)
		}
	}
}

func eventCell(c *events.Column, e events.Event) string {
	if c.Type == events.Text {
		s, _ := c.Text(e)
		return text.Cell(s)
	}
	v, ok := c.Number(e)
	return numberCell(v, ok, c.Type == events.Int32 || c.Type == events.Int64)
}
