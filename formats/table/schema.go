package table

// Description describes a table for documentation.
type Description struct {
	Title  string // file name or name of the table
	Doc    string // meaning of a row
	Fields []FieldDescription
}

// FieldDescription describes a column.
type FieldDescription struct{ Name, Type, Unit, Doc string }

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
		f := FieldDescription{c.Name, typeNames[c.Type], c.Unit, c.Doc}
		if c.Null {
			f.Type += ", null"
		}
		d.Fields = append(d.Fields, f)
	}
	return d
}
