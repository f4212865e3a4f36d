package table

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestCauses compares the table of causes as text with its rows, and checks that the other formats are what
// their extensions say.
func TestCauses(t *testing.T) {
	rows := []CauseRow{
		{Number: 1, Class: "imbalance", Rank: 3, Named: true, CostNs: 5_000_000_001, Before: &CauseStop{"Init", ""}, After: &CauseStop{"Send", "f a.c:9"}},
		{Number: 2, Class: "call", Rank: 0, CostNs: 7, Call: &CauseStop{"Recv", "g a.c:1"}, FromProgram: "ocean", ToProgram: "atmos"},
		{Number: 3, Class: "not-known", Rank: -1, CostNs: 1},
	}
	for extension, want := range map[string]string{
		".csv": "cause,class,rank,named,cost_ns,before_call,before_callsite,after_call,after_callsite,call,callsite,from_program,to_program\n" +
			"1,imbalance,3,true,5000000001,Init,,Send,f a.c:9,,,,\n2,call,0,false,7,,,,,Recv,g a.c:1,ocean,atmos\n3,not-known,,false,1,,,,,,,,\n",
		".jsonl":   `{"cause":1,"class":"imbalance","rank":3,"named":true,"cost_ns":5000000001,"before_call":"Init","before_callsite":null,"after_call":"Send",`,
		".arrow":   "ARROW1",
		".parquet": "PAR1",
	} {
		var b bytes.Buffer
		testenv.NoError(t, WriteCauses(&b, extension, rows))
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s begins with %q, want %q", extension, b.String()[:min(b.Len(), len(want))], want)
		}
	}
}
