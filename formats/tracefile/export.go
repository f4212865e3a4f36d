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
func exportColumns() []table.Column[EventRow] {
	rank := table.Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the process that made the call",
		func(e EventRow) int32 { return int32(e.Rank) })
	rank.PerKind = true
	return append([]table.Column[EventRow]{rank}, slices.Delete(Columns(), kindColumn, kindColumn+1)...)
}

// DatasetKeys returns the first columns of the events in a dataset.
func DatasetKeys() []table.Column[EventRow] {
	run := table.Run(func(e EventRow) string { return e.Run })
	run.PerKind = true
	event := table.Numbers("event", "row", "number of the event, from 0, among those of the rank", func(e EventRow) int64 { return e.First + int64(e.I) })
	event.Unlike = table.Neighbors
	call := table.OptionalNumbers("call_event", "row", "event of the call in which this one was noticed: its own number for a call; null if the trace does not have it",
		func(e EventRow) (int64, bool) { return e.CallEvent, e.CallEvent >= 0 })
	call.Unlike = table.Neighbors
	return []table.Column[EventRow]{run, exportColumns()[0], event, call}
}

// datasetColumns returns the columns of the events in a dataset: the keys,
// followed by those of an export.
func datasetColumns() []table.Column[EventRow] { return append(DatasetKeys(), exportColumns()[1:]...) }

// WriteCSV writes the events of all processes, one process after the other. It
// iterates over each source once.
func WriteCSV(w io.Writer, srcs []profile.EventSource) error {
	return writeEvents("csv", srcs, table.NewCSVWriter(w, exportColumns(), table.Options[EventRow]{Kind: EventRow.kind}))
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
	return writeEvents("parquet", srcs, table.NewParquetWriter(w, cols, o))
}

func writeEvents(format string, srcs []profile.EventSource, out encoder) error {
	err := export(srcs, out)
	if err == nil {
		err = out.Close(nil)
	}
	if err != nil {
		return fmt.Errorf("write %s events: %w", format, err)
	}
	return nil
}

func parquetOptions(cols []table.Column[EventRow]) table.Options[EventRow] {
	return table.Options[EventRow]{Kind: EventRow.kind, NoSchema: true, SortedBy: []string{"rank"},
		Metadata: map[string]string{table.KeyTool: table.Tool, table.KeyTable: tableEvents, table.KeyPandas: table.Pandas(cols)}}
}

// WriteParts writes the events of processes of one job, in the order of their
// ranks, as Parquet files of limited size. It iterates over each source once.
func WriteParts(parts table.Parts, srcs []profile.EventSource) error {
	cols := datasetColumns()
	o := parquetOptions(cols)
	o.SortedBy = []string{"rank", "event"}
	out := table.NewPartsWriter(parts, cols, o)
	if err := export(srcs, out); err != nil {
		return out.Fail(err)
	}
	return out.Close(nil)
}

// encoder is an encoder of rows whose kinds are numbered anew for each process.
type encoder interface {
	table.Encoder[EventRow]
	NewKinds()
}

func export(srcs []profile.EventSource, out encoder) error {
	for _, src := range srcs {
		out.NewKinds()
		var all numbered
		err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			return out.Add(all.rows(src.Trace(), e, kinds))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// numbered numbers the events of a process.
type numbered struct {
	first int64   // number of events before the next ones
	calls []int64 // last call of each thread, -1 if there was none
}

// rows returns the rows of the next events.
func (n *numbered) rows(t *profile.Trace, e *profile.Events, kinds []profile.EventKind) iter.Seq[EventRow] {
	first := n.first
	n.first += int64(e.Len())
	return func(yield func(EventRow) bool) {
		for i, k := range e.Kind {
			kind := &kinds[k]
			if !yield(EventRow{t, kind, e, i, first, n.call(kind, first+int64(i), e.Link[i])}) {
				return
			}
		}
	}
}

// call returns the call in which an event was noticed. The message that a
// Sendrecv received may be before its call, to which it links.
func (n *numbered) call(k *profile.EventKind, event int64, link int32) int64 {
	thread := int(max(k.Thread, 0))
	for thread >= len(n.calls) {
		n.calls = append(n.calls, -1)
	}
	switch last := &n.calls[thread]; {
	case k.Action == profile.Called:
		*last = event
		return event
	case k.Action == profile.Moved && k.Direction == profile.Recv && link > 0:
		return event + int64(link)
	default:
		return *last
	}
}
