package arrowfile

import (
	"encoding/json"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/mpitrace/mpitrace/formats/facts"
)

// PandasKey is where pyarrow and pandas look for the types that columns have in
// pandas, in the metadata of Arrow and Parquet files.
const PandasKey = "pandas"

// pandasColumn is an entry of that metadata, as pandas' documentation for
// developers has it.
type pandasColumn struct {
	Name       string  `json:"name"`
	FieldName  string  `json:"field_name"`
	PandasType string  `json:"pandas_type"`
	NumpyType  string  `json:"numpy_type"`
	Metadata   *string `json:"metadata"`
}

// Pandas returns the metadata that make ranks, lines and tags (int32, some of them
// null) columns of nullable integers, Int32, in pandas. Without them a null turns
// the column into floats, and rank 3 into 3.0. Other columns are not named, and
// become what pandas makes of them.
func Pandas(fields []arrow.Field) string {
	columns := []pandasColumn{}
	for _, f := range fields {
		if f.Nullable && f.Type.ID() == arrow.INT32 {
			columns = append(columns, pandasColumn{Name: f.Name, FieldName: f.Name, PandasType: "int32", NumpyType: "Int32"})
		}
	}
	text, err := json.Marshal(map[string]any{"index_columns": []string{}, "column_indexes": []string{}, "columns": columns,
		"creator": map[string]string{"library": Tool, "version": facts.FormatVersion}, "pandas_version": "1.0.0"})
	if err != nil {
		panic(err) // there are strings alone
	}
	return string(text)
}
