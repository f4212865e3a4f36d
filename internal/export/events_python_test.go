package export

import (
	"encoding/json"
	"io"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/perfetto"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The traced job that Python reads.
const (
	tracedRanks = 6
	tracedSteps = 500
)

// tracedJob returns a job in which each rank repeatedly posts a receive, sends
// r+1 bytes to the next rank and waits. It also returns the sums, by formula.
func tracedJob() (srcs []profile.EventSource, known map[string]any) {
	const start = 1_700_000_000_000_000_000
	for r := range tracedRanks {
		p := jobs.NewProcess("run", r, tracedRanks)
		before, next := int32((r+tracedRanks-1)%tracedRanks), int32((r+1)%tracedRanks)
		for s := range int64(tracedSteps) {
			at := start + 10_000*s + int64(r)
			posted := jobs.Recv("Irecv", at, at+40, before, 0, 0)
			posted.Direction, posted.Link = profile.None, 3
			moved := jobs.Recv("Irecv", at+200, at+1233, before, uint64(before+1), uint32(s+1)).Moved()
			moved.Link = -3
			p.Add(posted, jobs.Send("Isend", at+40, at+101, next, uint64(r+1), uint32(s+1)),
				jobs.Call("Waitall", at+200, at+1233), moved)
		}
		srcs = append(srcs, p)
	}
	const n = tracedRanks * tracedSteps
	return srcs, map[string]any{
		"start_ns": start, "ranks": tracedRanks, "calls": map[string]int{"Irecv": n, "Isend": n, "Waitall": n}, "messages": n,
		"time_ns": n * (40 + 61 + 1033), "bytes": tracedSteps * tracedRanks * (tracedRanks + 1) / 2,
	}
}

// TestPythonEvents reads the tables of events with pandas, pyarrow, polars and
// DuckDB, and the timelines with a reader of the Trace Event Format in Python.
func TestPythonEvents(t *testing.T) {
	dir := t.TempDir()
	srcs, known := tracedJob()
	timeline := func(o perfetto.Options) func(io.Writer) error {
		return func(w io.Writer) error { return perfetto.Write(w, srcs, o) }
	}
	for name, write := range map[string]func(io.Writer) error{
		"events.csv":     func(w io.Writer) error { return tracefile.WriteCSV(w, srcs) },
		"events.parquet": func(w io.Writer) error { return tracefile.WriteParquet(w, srcs) },
		"all.json.gz":    timeline(perfetto.Options{}),
		"some.json.gz":   timeline(perfetto.Options{MaxEvents: 1000}),
	} {
		testenv.NoError(t, WriteOutput(filepath.Join(dir, name), false, write))
	}
	text, err := json.Marshal(known)
	testenv.NoError(t, err)
	testenv.WriteFile(t, filepath.Join(dir, "known.json"), text)
	testenv.Pytest(t, []string{"MPITRACE_EVENTS=" + dir}, "test_events.py")
}
