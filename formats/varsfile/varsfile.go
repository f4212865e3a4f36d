// Package varsfile writes what an MPI library tells of itself through MPI_T as a
// table: a row for each variable, category, enumeration, event and source, and
// for each entry that the library does not describe.
package varsfile

import (
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/mpitrace/mpitrace/internal/position"
)

// Row is an entry. An empty text is null, but in Value and Default.
type Row struct {
	Kind        string // cvar, pvar, category, enum, event, source
	Name        string
	Class       string // of pvars
	Type        string
	Count       int32 // elements; null if negative
	Binding     string
	Scope       string // of cvars
	Verbosity   string
	Readonly    *bool // of pvars, as Continuous and Atomic
	Continuous  *bool
	Atomic      *bool
	Value       *string // elements separated by commas
	Default     *string
	Enum        string // "0=false, 1=true"
	Description string
	Category    string // names separated by commas
	Error       string
}

// column is one of the table's, and where its values are.
type column struct {
	field arrow.Field
	put   func(array.Builder, *Row)
}

// word is of few distinct texts: a categorical column in pandas.
var word = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

var columns = []column{
	words("kind", "cvar, pvar, category, enum, event or source", func(r *Row) string { return r.Kind }),
	texts("name", "null if the library does not describe the entry", func(r *Row) *string { return some(r.Name) }),
	words("class", "class of a performance variable", func(r *Row) string { return r.Class }),
	words("type", "datatype of an element", func(r *Row) string { return r.Type }),
	counts("count", "elements", func(r *Row) int32 { return r.Count }),
	words("binding", "kind of object that a handle is for", func(r *Row) string { return r.Binding }),
	words("scope", "where a control variable must be set alike", func(r *Row) string { return r.Scope }),
	words("verbosity", "level of detail", func(r *Row) string { return r.Verbosity }),
	flags("readonly", "a performance variable that cannot be written", func(r *Row) *bool { return r.Readonly }),
	flags("continuous", "a performance variable that always runs", func(r *Row) *bool { return r.Continuous }),
	flags("atomic", "a performance variable that can be read and reset at once", func(r *Row) *bool { return r.Atomic }),
	texts("value", "current value, elements separated by commas; null if it cannot be read", func(r *Row) *string { return r.Value }),
	texts("default", "value where nothing is set; null if that was not asked for", func(r *Row) *string { return r.Default }),
	texts("enum", "what values are called", func(r *Row) *string { return some(r.Enum) }),
	texts("description", "as the library has it", func(r *Row) *string { return some(r.Description) }),
	texts("category", "categories that it is in, separated by commas", func(r *Row) *string { return some(r.Category) }),
	texts("error", "why something is missing", func(r *Row) *string { return some(r.Error) }),
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func about(name, doc string, typ arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Nullable: true, Metadata: arrow.NewMetadata([]string{"doc"}, []string{doc})}
}

// valid replaces what is no UTF-8, as readers would refuse the table.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func words(name, doc string, get func(*Row) string) column {
	return column{about(name, doc, word), func(b array.Builder, r *Row) {
		if s := get(r); s == "" {
			b.AppendNull()
		} else {
			b.(*array.BinaryDictionaryBuilder).AppendString(valid(s)) // fails in no dictionary of this size
		}
	}}
}

func texts(name, doc string, get func(*Row) *string) column {
	return column{about(name, doc, arrow.BinaryTypes.String), func(b array.Builder, r *Row) {
		if s := get(r); s == nil {
			b.AppendNull()
		} else {
			b.(*array.StringBuilder).Append(valid(*s))
		}
	}}
}

func counts(name, doc string, get func(*Row) int32) column {
	return column{about(name, doc, arrow.PrimitiveTypes.Int32), func(b array.Builder, r *Row) {
		if n := get(r); n < 0 {
			b.AppendNull()
		} else {
			b.(*array.Int32Builder).Append(n)
		}
	}}
}

func flags(name, doc string, get func(*Row) *bool) column {
	return column{about(name, doc, arrow.FixedWidthTypes.Boolean), func(b array.Builder, r *Row) {
		if is := get(r); is == nil {
			b.AppendNull()
		} else {
			b.(*array.BooleanBuilder).Append(*is)
		}
	}}
}

// Write writes the rows as an Arrow IPC file (Feather 2).
func Write(w io.Writer, library string, rows []Row) error {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, c.field)
	}
	md := arrow.MetadataFrom(map[string]string{"mpitrace.format": "1", "mpitrace.tool": "mpitrace", "mpitrace.table": "vars",
		"mpitrace.library": valid(library)})
	schema := arrow.NewSchema(fields, &md)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		for j, c := range columns {
			c.put(builder.Field(j), &rows[i])
		}
	}
	out, err := ipc.NewFileWriter(position.New(w), ipc.WithSchema(schema), ipc.WithZstd())
	if err != nil {
		return err
	}
	if err := out.Write(builder.NewRecord()); err != nil {
		return err
	}
	return out.Close()
}
