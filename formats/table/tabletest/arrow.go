// Package tabletest reads files of tables for tests.
package tabletest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// ArrowRows returns the rows of an Arrow file as text, each value with its column's name.
func ArrowRows(t testing.TB, data []byte) (rows []string) {
	t.Helper()
	in, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for i := range in.NumRecords() {
		batch, err := in.RecordAt(i)
		if err != nil {
			t.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			var text strings.Builder
			for k, col := range batch.Columns() {
				fmt.Fprintf(&text, "%s=%s ", batch.ColumnName(k), col.ValueStr(row))
			}
			rows = append(rows, text.String())
		}
	}
	return rows
}
