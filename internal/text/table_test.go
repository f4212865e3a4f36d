package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func written(t *Table) string {
	var b strings.Builder
	t.Write(&b)
	return b.String()
}

func TestTable(t *testing.T) {
	numbers := NewTable("call", "calls", "mean")
	numbers.Add("Send", "1,234", "5.00 µs")
	numbers.Below(" ← main", " ← start")
	numbers.Add("Irecv", "2", "")
	texts := NewTextTable()
	texts.Add("cache", "/tmp")
	texts.Add("", "of mpitrace")
	bounded := NewTextTable("NAME", "VALUE", "ABOUT")
	bounded.Most = 6
	bounded.Add("a", "12", "short")
	bounded.Add("much too long", "1", "long")
	for _, test := range []struct {
		name  string
		table *Table
		want  string
	}{
		{"numbers, and lines below a row", numbers, "call   calls     mean\nSend   1,234  5.00 µs\n ← main\n ← start\nIrecv      2\n"},
		{"texts without heads", texts, "cache  /tmp\n       of mpitrace\n"},
		{"a cell that does not widen its column", bounded, "NAME  VALUE  ABOUT\na     12     short\nmuch too long  1      long\n"},
	} {
		if diff := cmp.Diff(test.want, written(test.table)); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

// Columns are removed in the order given, and only as many as necessary. Then
// the first column is shortened.
func TestTableFits(t *testing.T) {
	site := func(label string, width int) string { return Site(label, width, true) }
	for _, test := range []struct {
		width   int
		omitted []string
		want    string
	}{
		{60, nil, "where                                 call  time  bytes\nns::Class::a_long_function file.c:12  Send   1 s    2 B\n"},
		{50, []string{"bytes"}, "where                                 call  time\nns::Class::a_long_function file.c:12  Send   1 s\n"},
		{40, []string{"bytes", "time"}, "where                             call\nClass::a_long_function file.c:12  Send\n"},
	} {
		table := NewTable("where", "call", "time", "bytes")
		table.Left = 2
		table.Add("ns::Class::a_long_function file.c:12", "Send", "1 s", "2 B")
		omitted := table.Fit(test.width, 40, site, "bytes", "time")
		if diff := cmp.Diff(test.omitted, omitted); diff != "" {
			t.Errorf("%d: left out:\n%s", test.width, diff)
		}
		if diff := cmp.Diff(test.want, written(table)); diff != "" {
			t.Errorf("%d:\n%s", test.width, diff)
		}
	}
}

// A column of texts stays aligned to the left when a column before it is removed.
func TestAlignLeft(t *testing.T) {
	table := NewTable("where", "number", "why")
	table.AlignLeft(2)
	table.Add("here", "1", "longest")
	table.Add("there", "20", "short")
	testenv.Equal(t, "where  number  why\nhere        1  longest\nthere      20  short\n", written(table))
	table.Fit(20, 16, nil, "number")
	testenv.Equal(t, "where  why\nhere   longest\nthere  short\n", written(table))
}
