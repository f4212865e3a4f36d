package tracefile

import (
	"fmt"
	"io"
	"iter"
	"slices"

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
	return append([]table.Column[Event]{rank}, slices.Delete(Columns(), kindColumn, kindColumn+1)...)
}

// DatasetColumns returns the columns of the events in a dataset: those of an
// export, with the job and the number of the event.
func DatasetColumns() []table.Column[Event] {
	run := table.Run(func(e Event) string { return e.Run })
	run.PerKind = true
	event := table.Numbers("event", "row", "number of the event, from 0, among those of the rank", func(e Event) int64 { return e.First + int64(e.I) })
	event.Unlike = table.Neighbors
	cols := exportColumns()
	return append([]table.Column[Event]{run, cols[0], event}, cols[1:]...)
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
	o := parquetOptions(cols)
	o.GroupRows = groupRows
	out, err := table.NewParquetWriter(w, cols, o)
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

func parquetOptions(cols []table.Column[Event]) table.Options[Event] {
	return table.Options[Event]{Kind: Event.kind, NoSchema: true, SortedBy: []string{"rank"},
		Metadata: map[string]string{table.KeyTool: table.Tool, table.KeyTable: tableEvents, table.KeyPandas: table.Pandas(cols)}}
}

// WriteParts writes the events of processes of one job, in the order of their
// ranks, as Parquet files of limited size. It iterates over each source once.
func WriteParts(parts table.Parts, srcs []profile.EventSource) error {
	cols := DatasetColumns()
	o := parquetOptions(cols)
	o.SortedBy = []string{"rank", "event"}
	out := table.NewPartsWriter(parts, cols, o)
	if err := export(srcs, out); err != nil {
		return out.Fail(err)
	}
	return out.Close(nil)
}

func export(srcs []profile.EventSource, out interface {
	NewKinds()
	Add(iter.Seq[Event]) error
}) error {
	for _, src := range srcs {
		out.NewKinds()
		first := int64(0)
		err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			n := first
			first += int64(e.Len())
			return out.Add(rows(src.Trace(), e, kinds, n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func rows(t *profile.Trace, e *profile.Events, kinds []profile.EventKind, first int64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i, k := range e.Kind {
			if !yield(Event{t, &kinds[k], e, i, first}) {
				return
			}
		}
	}
}
