package tracefile

import (
	"fmt"
	"io"
	"iter"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// exportColumns are those of the events of all ranks, for other tools: the columns of
// trace.<rank>.arrow with the rank in front, and without kind, which numbers what the
// columns after it say, in each file anew.
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

// exportGroup is the most rows of a row group. What the library spends on the nulls of
// a group grows faster than it: twice as many rows take a third longer.
const exportGroup = 64 << 10

// WriteCSV writes the events of all the processes, one process after the other. Like
// WriteParquet it goes over each source once.
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

// WriteParquet writes the rows of WriteCSV as Parquet. It holds a row group in memory.
func WriteParquet(w io.Writer, srcs []profile.EventSource) error {
	return writeParquet(w, srcs, exportGroup)
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
