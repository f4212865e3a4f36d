// Package table writes tables as Arrow, Parquet, CSV and JSON lines, each table from
// one list of columns, and reads profiles back from Arrow.
//
// The tables of a run are
//
//	profile.arrow  what was communicated: one row for each key, see SEMANTICS
//	comms.arrow    one row for each communicator
//	ranks.arrow    one row for each process
//	pvars.arrow    one row for each value read of a performance variable
//	waits          one row for each wait in a trace
//
// profile.arrow also has what no column holds, in a part of the file that readers
// who go by its footer do not look at (see Sealer), process by process: a job of
// any size is read back in the memory of a few processes.
package table

import (
	"iter"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// Type is what a column holds.
type Type uint8

const (
	Word      Type = iota // a text out of few distinct ones
	ShortWord             // a text out of fewer than 128
	Text                  // a text
	Bool
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float64
	Half       // half of an integer, which CSV has exactly
	Time       // Unix ns
	WorldRanks // a list of ranks
)

// Column is a column of a table whose rows are of type T.
type Column[T any] struct {
	Name, Unit, Doc string
	Type            Type
	Null            bool // not every row has a value
	PerKind         bool // rows of one kind (see Options) have the same value
	Unlike          Unlike

	// Words are all texts of a column of words whose Number is an index into them.
	Words []string

	// Text returns the text of a row, Number its number: two's complement, the bits
	// of a double, 0 or 1, twice a half. Each reports whether there is one.
	Text   func(T) (string, bool)
	Number func(T) (uint64, bool)
	Ranks  func(T) []int
}

// Unlike says how the numbers of a column differ from row to row, for encoding them.
type Unlike uint8

const (
	Alike     Unlike = iota // many are equal
	Distinct                // few are equal
	Neighbors               // few are equal, and each is near the one before
)

// number is the type of a column of integers.
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

// unlikeOf returns how numbers of a unit differ: no two times are equal.
func unlikeOf(unit string) Unlike {
	if unit == "ns" {
		return Distinct
	}
	return Alike
}

// Words is a column of texts out of few distinct ones.
func Words[T any](name, doc string, get func(T) string) Column[T] {
	return Column[T]{Name: name, Unit: "text", Doc: doc, Type: Word, Text: func(row T) (string, bool) { return get(row), true }}
}

// OptionalWords is one with nulls.
func OptionalWords[T any](name, doc string, get func(T) (string, bool)) Column[T] {
	return Column[T]{Name: name, Unit: "text", Doc: doc, Type: Word, Null: true, Text: get}
}

// OptionalTexts is a column of any texts, with nulls.
func OptionalTexts[T any](name, doc string, get func(T) (string, bool)) Column[T] {
	return Column[T]{Name: name, Unit: "text", Doc: doc, Type: Text, Null: true, Text: get}
}

// Numbers is a column of integers.
func Numbers[T any, V number](name, unit, doc string, get func(T) V) Column[T] {
	return Column[T]{Name: name, Unit: unit, Doc: doc, Type: typeOf[V](), Unlike: unlikeOf(unit),
		Number: func(row T) (uint64, bool) { return uint64(get(row)), true }}
}

// OptionalNumbers is one with nulls.
func OptionalNumbers[T any, V number](name, unit, doc string, get func(T) (V, bool)) Column[T] {
	return Column[T]{Name: name, Unit: unit, Doc: doc, Type: typeOf[V](), Unlike: unlikeOf(unit), Null: true,
		Number: func(row T) (uint64, bool) {
			v, ok := get(row)
			return uint64(v), ok
		}}
}

// OptionalDoubles is a column of doubles with nulls.
func OptionalDoubles[T any](name, unit, doc string, get func(T) (float64, bool)) Column[T] {
	return Column[T]{Name: name, Unit: unit, Doc: doc, Type: Float64, Null: true, Number: func(row T) (uint64, bool) {
		v, ok := get(row)
		return math.Float64bits(v), ok
	}}
}

// Flags is a column of yes or no.
func Flags[T any](name, doc string, get func(T) bool) Column[T] {
	return Column[T]{Name: name, Unit: "yes or no", Doc: doc, Type: Bool, Number: func(row T) (uint64, bool) { return flag(get(row)), true }}
}

// OptionalFlags is one with nulls, where the pointer is nil.
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

// Times is a column of points in time; 0 is null.
func Times[T any](name, doc string, unixNs func(T) int64) Column[T] {
	return Column[T]{Name: name, Unit: "ns since 1970-01-01 UTC", Doc: doc, Type: Time, Null: true,
		Number: func(row T) (uint64, bool) {
			ns := unixNs(row)
			return uint64(ns), ns != 0
		}}
}

// RankLists is a column of lists of ranks; nil is an empty one.
func RankLists[T any](name, doc string, get func(T) []int) Column[T] {
	return Column[T]{Name: name, Unit: "world rank", Doc: doc, Type: WorldRanks, Ranks: get}
}

// Options say what writers need to know beside the columns.
type Options[T any] struct {
	// Metadata are of the whole table, by name.
	Metadata map[string]string
	// Kind numbers the rows that agree in all columns that are PerKind, from 0 on;
	// nil if there are no such columns. NewKinds of a writer begins a new numbering.
	Kind func(T) int
	// GroupRows is the most rows of a row group in Parquet. A reader takes a group at
	// a time, and the writer holds one in memory.
	GroupRows int
	// NoSchema leaves the Arrow schema out of a Parquet file: readers then take words
	// for plain texts.
	NoSchema bool
}

// Keys of a table's metadata.
const (
	KeyFormat = "mpitrace.format" // version of the format
	KeyTool   = "mpitrace.tool"   // what wrote the file
	KeyTable  = "mpitrace.table"  // which of the tables it is
	KeyPandas = "pandas"          // types in pandas, see Pandas

	keyPvar = "mpitrace.pvar." // and the name of a performance variable: what the MPI says of it
)

// Tool is what wrote the files, as their metadata say it.
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

// Field describes the column to Arrow, with its unit and its meaning.
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

// blockRows is how many rows are gathered, so that writers go through a column of
// them and not through the columns of a row: that takes a third less time.
const blockRows = 256

// inBlocks gives rows in blocks.
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
