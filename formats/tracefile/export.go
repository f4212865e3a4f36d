package tracefile

import (
	"fmt"
	"io"
	"iter"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// exportColumns returns the columns for an export of the events of all ranks:
// those of trace.<rank>.arrow, with the rank first and without kind, whose
// numbers are different in each file.
func exportColumns() []table.Column[Event] {
	rank := table.Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the process that made the call",
		func(e Event) int32 { return int32(e.Rank) })
	rank.PerKind = true
	out := []table.Column[Event]{rank}
	for i, c := range Columns() {
		if i != kindColumn {
			out = append(out, c)
		}
	}
	return out
}

// WriteCSV writes the events of all processes, one process after the other. It
// iterates over each source once.
func WriteCSV(w io.Writer, srcs []profile.EventSource) error {
	cols := exportColumns()
	out, err := table.NewCSVWriter(w, cols, table.Options[Event]{Kind: Event.kind})
	if err == nil {
		err = export(srcs, out)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("write csv events: %w", err)
	}
	return nil
}

// WriteParquet writes the rows of WriteCSV as Parquet. It iterates over each
// source once, and keeps one row group in memory.
func WriteParquet(w io.Writer, srcs []profile.EventSource) error {
	return writeParquet(w, srcs, 0)
}

func writeParquet(w io.Writer, srcs []profile.EventSource, groupRows int) error {
	cols := exportColumns()
	out, err := table.NewParquetWriter(w, cols, table.Options[Event]{Kind: Event.kind, GroupRows: groupRows, NoSchema: true,
		Metadata: map[string]string{table.KeyTool: table.Tool, table.KeyTable: tableEvents, table.KeyPandas: table.Pandas(cols)}})
	if err == nil {
		err = export(srcs, out)
	}
	if err == nil {
		err = out.Close(nil)
	}
	if err != nil {
		return fmt.Errorf("write parquet events: %w", err)
	}
	return nil
}

func export(srcs []profile.EventSource, out interface {
	NewKinds()
	Add(iter.Seq[Event]) error
}) error {
	for _, src := range srcs {
		out.NewKinds()
		err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error { return out.Add(rows(src.Trace(), e, kinds)) })
		if err != nil {
			return err
		}
	}
	return nil
}

func rows(t *profile.Trace, e *profile.Events, kinds []profile.EventKind) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i, k := range e.Kind {
			if !yield(Event{t, &kinds[k], e, i}) {
				return
			}
		}
	}
}
