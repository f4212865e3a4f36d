package mpit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestWriteRows(t *testing.T) {
	value, empty, yes, no := "1,2", "", true, false
	rows := []*row{
		{Kind: "cvar", Name: "limits", Type: "int", Count: 2, Binding: "none", Scope: "all", Verbosity: "user-basic", Value: &value, Default: &empty,
			Enum: "1=on", Description: "\xff", Category: "a,b"},
		{Kind: "pvar", Name: "queue", Class: "level", Type: "int", Count: -1, Readonly: &yes, Continuous: &no, Atomic: &no},
		{Kind: "cvar", Count: -1, Error: "MPI_T_cvar_get_info: error 57"},
	}
	var file bytes.Buffer
	w := table.NewJSONWriter(&file, Columns)
	testenv.NoError(t, errors.Join(w.Add(slices.Values(rows)), w.Close(nil)))
	want := `{"kind":"cvar","name":"limits","class":null,"type":"int","count":2,"binding":"none","scope":"all","verbosity":"user-basic",` +
		`"readonly":null,"continuous":null,"atomic":null,"value":"1,2","default":"","enum":"1=on","description":"\ufffd","category":"a,b","error":null}
{"kind":"pvar","name":"queue","class":"level","type":"int","count":null,"binding":null,"scope":null,"verbosity":null,` +
		`"readonly":true,"continuous":false,"atomic":false,"value":null,"default":null,"enum":null,"description":null,"category":null,"error":null}
{"kind":"cvar","name":null,"class":null,"type":null,"count":null,"binding":null,"scope":null,"verbosity":null,` +
		`"readonly":null,"continuous":null,"atomic":null,"value":null,"default":null,"enum":null,"description":null,"category":null,"error":"MPI_T_cvar_get_info: error 57"}
`
	if file.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &file, want)
	}
}

// An error of the writer must be returned.
func TestWriteArrowFails(t *testing.T) {
	if err := WriteArrow(full{}, &Catalogue{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v, want the error of the writer", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }
