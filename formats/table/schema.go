package table

import (
	"cmp"
	"encoding/json"
)

// Description describes a table for documentation.
type Description struct {
	Title  string // file name or name of the table
	Doc    string // meaning of a row
	Fields []FieldDescription
	Read   bool // whether the table is read, too
}

// FieldDescription describes a column.
type FieldDescription struct {
	Name, Type, Unit, Doc string
	Absent                string // what a reader assumes if the column is missing
}

var typeNames = [...]string{
	Word:       "dictionary",
	ShortWord:  "dictionary",
	Text:       "string",
	Bool:       "bool",
	Uint8:      "uint8",
	Int32:      "int32",
	Uint32:     "uint32",
	Int64:      "int64",
	Uint64:     "uint64",
	Float64:    "double",
	Half:       "double",
	Time:       "timestamp",
	WorldRanks: "list of int32",
}

// Describe returns the description of a table.
func Describe[T any](title, doc string, cols []Column[T]) Description {
	d := Description{Title: title, Doc: doc}
	for i := range cols {
		c := &cols[i]
		f := FieldDescription{c.Name, typeNames[c.Type], c.Unit, c.Doc, c.Absent}
		switch {
		case c.Null:
			f.Type += ", null"
			f.Absent = cmp.Or(f.Absent, "null")
		case c.Number == nil:
			f.Absent = cmp.Or(f.Absent, "empty")
		default:
			f.Absent = cmp.Or(f.Absent, "0")
		}
		d.Fields = append(d.Fields, f)
	}
	return d
}

// pandasColumn is an entry of the metadata that pandas stores with a table. The
// format is described in pandas' documentation for developers.
type pandasColumn struct {
	Name       string  `json:"name"`
	FieldName  string  `json:"field_name"`
	PandasType string  `json:"pandas_type"`
	NumpyType  string  `json:"numpy_type"`
	Metadata   *string `json:"metadata"`
}

// Pandas returns metadata, to be stored under KeyPandas, that makes pandas read
// int32 columns with nulls (ranks, lines, tags) as nullable integers, Int32.
// Without it a null turns the column into floats, and rank 3 into 3.0. Columns
// of other types are not listed, so that pandas uses its defaults.
func Pandas[T any](cols []Column[T]) string {
	columns := []pandasColumn{}
	for _, c := range cols {
		if c.Null && c.Type == Int32 {
			columns = append(columns, pandasColumn{Name: c.Name, FieldName: c.Name, PandasType: "int32", NumpyType: "Int32"})
		}
	}
	text, err := json.Marshal(map[string]any{"index_columns": []string{}, "column_indexes": []string{}, "columns": columns,
		"creator": map[string]string{"library": Tool, "version": FormatVersion}, "pandas_version": "1.0.0"})
	if err != nil {
		panic(err) // cannot fail: there are only strings
	}
	return string(text)
}

// DescribeRead is Describe for a table that mpitrace also reads.
func DescribeRead[T any](title, doc string, cols []Column[T]) Description {
	d := Describe(title, doc, cols)
	d.Read = true
	return d
}
