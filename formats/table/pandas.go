package table

import "encoding/json"

// pandasColumn is an entry of that metadata, as pandas' documentation for
// developers has it.
type pandasColumn struct {
	Name       string  `json:"name"`
	FieldName  string  `json:"field_name"`
	PandasType string  `json:"pandas_type"`
	NumpyType  string  `json:"numpy_type"`
	Metadata   *string `json:"metadata"`
}

// Pandas returns the metadata, under KeyPandas, that make ranks, lines and tags (int32, some of them
// null) columns of nullable integers, Int32, in pandas. Without them a null turns
// the column into floats, and rank 3 into 3.0. Other columns are not named, and
// become what pandas makes of them.
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
		panic(err) // there are strings alone
	}
	return string(text)
}
