package tabletest

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/parquet/file"
)

// ParquetColumn returns a column of all row groups of a Parquet file; nulls are
// the zero value. V is the column's physical type.
func ParquetColumn[V any](t *testing.T, data []byte, name string) (out []V) {
	t.Helper()
	in, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for g := range in.NumRowGroups() {
		group := in.RowGroup(g)
		chunk, err := group.Column(group.MetaData().Schema.ColumnIndexByName(name))
		if err != nil {
			t.Fatal(err)
		}
		values, levels := make([]V, group.NumRows()), make([]int16, group.NumRows())
		typed := chunk.(interface {
			ReadBatch(n int64, values []V, defLevels, repLevels []int16) (total int64, valuesRead int, err error)
		})
		for got := int64(0); got < group.NumRows(); {
			n, _, err := typed.ReadBatch(group.NumRows()-got, values, levels, nil)
			if err != nil || n == 0 {
				t.Fatalf("column %s: %d rows of %d, %v", name, got, group.NumRows(), err)
			}
			next := 0
			for _, level := range levels[:n] {
				var v V
				if level == chunk.Descriptor().MaxDefinitionLevel() {
					v = values[next]
					next++
				}
				out = append(out, v)
			}
			got += n
		}
	}
	return out
}

// ParquetRanges returns the smallest and the largest value of a column in each
// row group, encoded as in the file.
func ParquetRanges(t *testing.T, data []byte, name string) (out [][2][]byte) {
	t.Helper()
	in, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for g := range in.NumRowGroups() {
		meta := in.RowGroup(g).MetaData()
		chunk, err := meta.ColumnChunk(meta.Schema.ColumnIndexByName(name))
		if err != nil {
			t.Fatal(err)
		}
		stats, err := chunk.Statistics()
		if err != nil || stats == nil {
			t.Fatalf("group %d has no statistics: %v", g, err)
		}
		out = append(out, [2][]byte{stats.EncodeMin(), stats.EncodeMax()})
	}
	return out
}
