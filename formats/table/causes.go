package table

import (
	"io"
	"slices"
)

// CauseRow is a row of the table of causes: the time for which one rank lets others wait, for one reason.
type CauseRow struct {
	Number                 int // of the cause, from 1; the one that costs most is the first
	Class                  string
	FromProgram, ToProgram string // of the ranks that wait, and of the rank; empty if the job has one program
	Rank                   int    // -1: not known
	Named                  bool
	CostNs                 int64
	Before, After, Call    *CauseStop // Before and After of a burst, or Call
}

// CauseStop is an MPI function and its call site.
type CauseStop struct{ Call, Callsite string }

// WriteCauses writes one row for each cause and rank, in the format that a file's extension stands for:
// .arrow, .parquet, .csv or .jsonl.
func WriteCauses(w io.Writer, extension string, rows []CauseRow) error {
	o := Options[CauseRow]{Metadata: metadataOf(tableCauses, CauseColumns)}
	var out Encoder[CauseRow]
	switch extension {
	case ".parquet":
		out = NewParquetWriter(w, CauseColumns, o)
	case ".csv":
		out = NewCSVWriter(w, CauseColumns, o)
	case ".jsonl":
		out = NewJSONWriter(w, CauseColumns)
	default:
		out = NewArrowWriter(w, CauseColumns, o)
	}
	return WriteAll(out, slices.Values(rows))
}

// CauseColumns are the columns of the table of causes, in order.
var CauseColumns = slices.Concat([]Column[CauseRow]{
	Numbers("cause", "number", "number of the cause, from 1, the one that costs most first; a cause has a row for each rank that causes it", func(c CauseRow) int32 { return int32(c.Number) }),
	Words("class", "imbalance: the rank has more work than those that wait; varying-work: it has more work in some steps; order: it computes before its send or receive; chain: ranks compute one after the other; call: it is in an MPI call; not-known",
		func(c CauseRow) string { return c.Class }),
	OptionalNumbers("rank", "world rank", "world rank for which others wait; null if it is not known", func(c CauseRow) (int32, bool) { return int32(c.Rank), c.Rank >= 0 }),
	Flags("named", "whether it is one of the ranks to look at: of an imbalance those above the mean, of others those with half of the largest cost", func(c CauseRow) bool { return c.Named }),
	Numbers("cost_ns", "ns", "time for which others wait because of this rank, summed over ranks and threads", func(c CauseRow) int64 { return c.CostNs }),
}, stopColumns("before", "before the computing", func(c CauseRow) *CauseStop { return c.Before }),
	stopColumns("after", "after the computing", func(c CauseRow) *CauseStop { return c.After }),
	stopColumns("", "that the rank is in, of class call", func(c CauseRow) *CauseStop { return c.Call }),
	[]Column[CauseRow]{
		OptionalWords("from_program", "program of the ranks that wait; null if the job has one program", func(c CauseRow) (string, bool) { return c.FromProgram, c.FromProgram != "" }),
		OptionalWords("to_program", "program of the rank; null if the job has one program", func(c CauseRow) (string, bool) { return c.ToProgram, c.ToProgram != "" }),
	})

// stopColumns returns the columns of a call and its call site.
func stopColumns(prefix, where string, get func(CauseRow) *CauseStop) []Column[CauseRow] {
	if prefix != "" {
		prefix += "_"
	}
	return []Column[CauseRow]{
		OptionalWords(prefix+"call", "MPI function "+where+", without MPI_", func(c CauseRow) (string, bool) {
			s := get(c)
			if s == nil {
				return "", false
			}
			return s.Call, true
		}),
		OptionalWords(prefix+"callsite", "function and line of this call; null if it has none", func(c CauseRow) (string, bool) {
			s := get(c)
			if s == nil {
				return "", false
			}
			return s.Callsite, s.Callsite != ""
		}),
	}
}
