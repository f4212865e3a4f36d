package table

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const csvHeader = "run,rank,thread,call,class,direction,comm,peer,size_class,callsite,function,file,line,address,slice," +
	"calls,messages,bytes,time_ns,time_error_ns,min_ns,max_ns\n"

func TestCSV(t *testing.T) {
	p := jobs.FullRank(`a "quoted", name`, 1)
	p.Rows = []profile.Row{p.Rows[0], p.Rows[1], p.Rows[14]}
	p.Rows[0].TimeNs, p.Rows[0].MinNs, p.Rows[0].MaxNs = 1<<64-1, 0, 0
	p.Slices[1].Name = "=two\nlines"
	var out strings.Builder
	testenv.NoError(t, WriteCSV(&out, profile.List{p}))
	const run = `"a ""quoted"", name"`
	want := csvHeader +
		run + ",1,0,Init,other,none,,,7,exchange solve.c:118,exchange,/src/solve.c,118,solve+0x1234,run,1,0,0,18446744073709551615,0,,\n" +
		run + ",1,0,Send,p2p,send,MPI_COMM_WORLD,2,7,exchange solve.c:118,exchange,/src/solve.c,118,solve+0x1234,run,3,3,300,3000,0,400,1600\n" +
		run + ",1,1,Reduce,A2O,send,back to front#c0ffee00,0,7,0x1000,,,,0x1000,'=two\\nlines,1,1,1152921504606847976,1000,0,400,1600\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(records) != 4 || records[3][14] != `'=two\nlines` {
		t.Errorf("read back: %q, %v", records, err)
	}
}

// TestCSVTiming checks that times that were not measured are empty, and that
// sampled times have an error.
func TestCSVTiming(t *testing.T) {
	ps := jobs.MixedTimings("run")
	for rank, want := range map[int]string{
		0: "Send,p2p,send,MPI_COMM_WORLD,1,7,exchange solve.c:118,exchange,/src/solve.c,118,solve+0x1234,run,3,3,300,3000,0,400,1600\n",
		1: "Send,p2p,send,MPI_COMM_WORLD,2,7,exchange solve.c:118,exchange,/src/solve.c,118,solve+0x1234,run,3,3,300,3000,21,400,1600\n",
		2: "Send,p2p,send,MPI_COMM_WORLD,3,7,exchange solve.c:118,exchange,/src/solve.c,118,solve+0x1234,run,3,3,300,,,,\n",
	} {
		var out strings.Builder
		if err := WriteCSV(&out, profile.List(ps[rank:rank+1])); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("rank %d: no %q in\n%s%v", rank, want, &out, err)
		}
	}
}

// TestCSVPhysical checks that messages of the MPI library itself have no call,
// thread, communicator, call site or time.
func TestCSVPhysical(t *testing.T) {
	p := jobs.Physical("run")[0]
	p.Rows, p.Physical.Flows = nil, p.Physical.Flows[:4]
	want := csvHeader +
		"run,0,-1,internal,internal,internal,,1,4,unknown,,,,unknown,run,0,10,80,,,,\n" +
		"run,0,-1,internal,internal,internal,,2,4,unknown,,,,unknown,run,0,6,60,,,,\n"
	var out strings.Builder
	if err := WriteCSV(&out, profile.List{p}); err != nil || out.String() != want {
		t.Errorf("got\n%s%v\nwant\n%s", &out, err, want)
	}
}

func TestCSVNoRows(t *testing.T) {
	var out strings.Builder
	if err := WriteCSV(&out, profile.List{}); err != nil || out.String() != csvHeader {
		t.Errorf("got %q, %v", &out, err)
	}
}

// TestCSVManyWords writes more known words than written forms of texts are kept.
func TestCSVManyWords(t *testing.T) {
	words := make([]string, maxTexts+1)
	for i := range words {
		words[i] = strconv.Itoa(i)
	}
	col := Numbers("word", "", "", func(i int) int32 { return int32(i) })
	col.Type, col.Words = Word, words
	var out strings.Builder
	rows := slices.Repeat([]int{maxTexts}, 1000)
	testenv.NoError(t, WriteAll(NewCSVWriter(&out, []Column[int]{col}, Options[int]{}), slices.Values(rows)))
	if want := "word\n" + strings.Repeat("65536\n", len(rows)); out.String() != want {
		t.Errorf("got %d bytes, want %d", out.Len(), len(want))
	}
}
