package table

import "encoding/json"

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
