// Package table writes tables as Arrow, Parquet, CSV and JSON lines. Each table is defined by
// one list of columns. Package arrowfile reads the tables.
//
// The tables of a run are
//
//	profile.arrow  what was communicated: one row for each key, see docs/counting.md
//	comms.arrow    one row for each communicator
//	ranks.arrow    one row for each process
//	pvars.arrow    one row for each value read of a performance variable
//	waits          one row for each wait in a trace
//	causes         one row for each cause of waits and rank
package table

import (
	"iter"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// Type is the type of the values of a column.
type Type uint8

const (
	Word      Type = iota // one of few distinct texts
	ShortWord             // one of fewer than 128 texts
	Text                  // any text
	Bool
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float64
	Half       // half of an integer; exact in CSV
	Time       // Unix ns
	WorldRanks // list of ranks
)

// Column is a column of a table whose rows are of type T.
type Column[T any] struct {
	Name, Unit, Doc string
	Type            Type
	Null            bool // some rows have no value
	PerKind         bool // rows of the same kind (see Options) have the same value
	Unlike          Unlike
	// Absent is what a reader of the table assumes if the column is missing: Required,
	// a text for the documentation, or empty for null, 0 or an empty text.
	Absent string

	// Words lists all texts of the column, if they are known beforehand. Number
	// then returns an index into Words.
	Words []string

	// Text returns the text of a row. Number returns its number as 64 bits: an
	// integer in two's complement, the bits of a double, 0 or 1 for a Bool, and
	// twice the value for a Half. Both report whether the row has a value.
	Text   func(T) (string, bool)
	Number func(T) (uint64, bool)
	Ranks  func(T) []int
}

// Unlike describes how the numbers of a column differ from row to row. It
// selects the encoding.
type Unlike uint8

const (
	Alike     Unlike = iota // many values are equal
	Distinct                // few values are equal
	Neighbors               // few values are equal, and each is close to the previous one
)

// number is a type of integer that a column can have.
type number interface {
	uint8 | int32 | uint32 | int64 | uint64
}

func typeOf[V number]() Type {
	switch any(V(0)).(type) {
	case uint8:
		return Uint8
	case int32:
		return Int32
	case uint32:
		return Uint32
	case int64:
		return Int64
	}
	return Uint64
}

// unlikeOf returns how numbers of a unit differ: times are all different.
func unlikeOf(unit string) Unlike {
	if unit == "ns" {
		return Distinct
	}
	return Alike
}

// Words returns a column of few distinct texts.
func Words[T any](name, doc string, get func(T) string) Column[T] {
	return Column[T]{Name: name, Unit: "text", Doc: doc, Type: Word, Text: func(row T) (string, bool) { return get(row), true }}
}

// OptionalWords returns a column of few distinct texts, with nulls.
func OptionalWords[T any](name, doc string, get func(T) (string, bool)) Column[T] {
	return Column[T]{Name: name, Unit: "text", Doc: doc, Type: Word, Null: true, Text: get}
}

// OptionalTexts returns a column of arbitrary texts, with nulls.
func OptionalTexts[T any](name, doc string, get func(T) (string, bool)) Column[T] {
	return Column[T]{Name: name, Unit: "text", Doc: doc, Type: Text, Null: true, Text: get}
}

// Required is the value of Column.Absent of a column without which the table cannot be
// read.
const Required = "an error"

// absent returns the column with this Absent.
func (c Column[T]) absent(text string) Column[T] {
	c.Absent = text
	return c
}

// Names of columns whose words are known without reading all processes.
const (
	runColumn    = "run"
	sourceColumn = "source"
)

// Run returns the column that tells the jobs of a table apart.
func Run[T any](get func(T) string) Column[T] {
	return Words(runColumn, "id of the MPI job, as its launcher defines it", get).absent("all rows are of one run")
}

// Numbers returns a column of integers.
func Numbers[T any, V number](name, unit, doc string, get func(T) V) Column[T] {
	return Column[T]{Name: name, Unit: unit, Doc: doc, Type: typeOf[V](), Unlike: unlikeOf(unit),
		Number: func(row T) (uint64, bool) { return uint64(get(row)), true }}
}

// OptionalNumbers returns a column of integers, with nulls.
func OptionalNumbers[T any, V number](name, unit, doc string, get func(T) (V, bool)) Column[T] {
	return Column[T]{Name: name, Unit: unit, Doc: doc, Type: typeOf[V](), Unlike: unlikeOf(unit), Null: true,
		Number: func(row T) (uint64, bool) {
			v, ok := get(row)
			return uint64(v), ok
		}}
}

// OptionalDoubles returns a column of doubles, with nulls.
func OptionalDoubles[T any](name, unit, doc string, get func(T) (float64, bool)) Column[T] {
	return Column[T]{Name: name, Unit: unit, Doc: doc, Type: Float64, Null: true, Number: func(row T) (uint64, bool) {
		v, ok := get(row)
		return math.Float64bits(v), ok
	}}
}

// Flags returns a column of booleans.
func Flags[T any](name, doc string, get func(T) bool) Column[T] {
	return Column[T]{Name: name, Unit: "yes or no", Doc: doc, Type: Bool, Number: func(row T) (uint64, bool) { return flag(get(row)), true }}
}

// OptionalFlags returns a column of booleans; a nil pointer is null.
func OptionalFlags[T any](name, doc string, get func(T) *bool) Column[T] {
	return Column[T]{Name: name, Unit: "yes or no", Doc: doc, Type: Bool, Null: true, Number: func(row T) (uint64, bool) {
		is := get(row)
		return flag(is != nil && *is), is != nil
	}}
}

func flag(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// Times returns a column of points in time (Unix ns); 0 is null.
func Times[T any](name, doc string, unixNs func(T) int64) Column[T] {
	return Column[T]{Name: name, Unit: "ns since 1970-01-01 UTC", Doc: doc, Type: Time, Null: true,
		Number: func(row T) (uint64, bool) {
			ns := unixNs(row)
			return uint64(ns), ns != 0
		}}
}

// RankLists returns a column of lists of ranks; nil is an empty list.
func RankLists[T any](name, doc string, get func(T) []int) Column[T] {
	return Column[T]{Name: name, Unit: "world rank", Doc: doc, Type: WorldRanks, Ranks: get}
}

// Options are settings of a table's writers.
type Options[T any] struct {
	// Metadata is the metadata of the table, by key.
	Metadata map[string]string
	// Kind returns the kind of a row, a number from 0. Rows of one kind agree
	// in all columns that are PerKind. Kind is nil if there are no such
	// columns. NewKinds of a writer starts a new numbering.
	Kind func(T) int
	// GroupRows is the maximum number of rows of a row group in Parquet; 0
	// means the default. A reader reads one group at a time, and the writer
	// keeps one in memory.
	GroupRows int
	// SortedBy names the columns by which the rows are sorted, for Parquet.
	SortedBy []string
	// Scratch is a directory for temporary files, see atomicfile.Unnamed.
	Scratch string
	// NoSchema omits the Arrow schema from a Parquet file: readers then read
	// words as plain texts.
	NoSchema bool
}

// Keys of a table's metadata.
const (
	KeyFormat = "mpitrace.format" // version of the format
	KeyTool   = "mpitrace.tool"   // program that wrote the file
	KeyTable  = "mpitrace.table"  // name of the table
	// damage of the recordings, as lines of text; absent if there was none
	KeyLost   = "mpitrace.lost"
	KeyPandas = "pandas" // types for pandas, see Pandas

	KeyPvar = "mpitrace.pvar." // followed by the name of a performance variable: its description from MPI_T
)

// Tool is the value of KeyTool.
const Tool = "mpitrace"

var arrowTypes = [...]arrow.DataType{
	Word:       &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
	ShortWord:  &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	Text:       arrow.BinaryTypes.String,
	Bool:       arrow.FixedWidthTypes.Boolean,
	Uint8:      arrow.PrimitiveTypes.Uint8,
	Int32:      arrow.PrimitiveTypes.Int32,
	Uint32:     arrow.PrimitiveTypes.Uint32,
	Int64:      arrow.PrimitiveTypes.Int64,
	Uint64:     arrow.PrimitiveTypes.Uint64,
	Float64:    arrow.PrimitiveTypes.Float64,
	Half:       arrow.PrimitiveTypes.Float64,
	Time:       &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
	WorldRanks: arrow.ListOf(arrow.PrimitiveTypes.Int32),
}

// Field returns the Arrow field of the column, with its unit and its meaning as
// metadata.
func (c *Column[T]) Field() arrow.Field {
	keys, values := []string{"unit", "doc"}, []string{c.Unit, c.Doc}
	if c.Unit == "" {
		keys, values = keys[1:], values[1:]
	}
	return arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: c.Null, Metadata: arrow.NewMetadata(keys, values)}
}

func schemaOf[T any](cols []Column[T], metadata map[string]string) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i := range cols {
		fields[i] = cols[i].Field()
	}
	md := arrow.MetadataFrom(metadata)
	return arrow.NewSchema(fields, &md)
}

// blockRows is the number of rows that a writer processes at a time, column by
// column. This takes a third less time than going row by row.
const blockRows = 256

// inBlocks calls f with blocks of rows. It reuses the memory of block.
func inBlocks[T any](rows iter.Seq[T], block []T, f func([]T) error) error {
	block = block[:0]
	for row := range rows {
		if block = append(block, row); len(block) == cap(block) {
			if err := f(block); err != nil {
				return err
			}
			block = block[:0]
		}
	}
	if len(block) == 0 {
		return nil
	}
	return f(block)
}
