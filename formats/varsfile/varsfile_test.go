package varsfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"
)

func TestWrite(t *testing.T) {
	value, empty, yes, no := "1,2", "", true, false
	rows := []Row{
		{Kind: "cvar", Name: "limits", Type: "int", Count: 2, Binding: "none", Scope: "all", Verbosity: "user-basic", Value: &value, Default: &empty,
			Enum: "1=on", Description: "\xff", Category: "a,b"},
		{Kind: "pvar", Name: "queue", Class: "level", Type: "int", Count: -1, Readonly: &yes, Continuous: &no, Atomic: &no},
		{Kind: "cvar", Count: -1, Error: "MPI_T_cvar_get_info: error 57"},
	}
	var file bytes.Buffer
	if err := Write(&file, "An MPI", rows); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewFileReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch, err := r.Record(0)
	if err != nil || r.NumRecords() != 1 {
		t.Fatalf("%d batches, %v", r.NumRecords(), err)
	}
	if library, _ := r.Schema().Metadata().GetValue("mpitrace.library"); library != "An MPI" {
		t.Errorf("the library is %q", library)
	}
	want := []string{
		"kind cvar pvar cvar", "name limits queue -", "class - level -", "type int int -", "count 2 - -", "binding none - -", "scope all - -",
		"verbosity user-basic - -", "readonly - true -", "continuous - false -", "atomic - false -", "value 1,2 - -", "default  - -",
		"enum 1=on - -", "description \uFFFD - -", "category a,b - -", "error - - MPI_T_cvar_get_info: error 57",
	}
	for i, field := range r.Schema().Fields() {
		got := field.Name
		for row := range rows {
			cell := "-"
			if column := batch.Column(i); column.IsValid(row) {
				cell = column.ValueStr(row)
			}
			got += " " + cell
		}
		if i >= len(want) || got != want[i] {
			t.Errorf("column %d is %q, want %q", i, got, want[min(i, len(want)-1)])
		}
	}
}

// A failing disk is an error, and nothing worse.
func TestWriteFails(t *testing.T) {
	if err := Write(full{}, "", nil); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v, want the error of the writer", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no room") }
