package table

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestJSON(t *testing.T) {
	p := jobs.FullRank("a \"quoted\"\nname", 1)
	p.Rows = []profile.Row{p.Rows[0], p.Rows[14]}
	p.Rows[0].TimeNs, p.Rows[0].MinNs, p.Rows[0].MaxNs = 1<<64-1, 0, 0
	var out strings.Builder
	testenv.NoError(t, WriteJSON(&out, profile.List{p}))
	want := `{"run":"a \"quoted\"\nname","rank":1,"thread":0,"call":"Init","class":"other","direction":"none","comm":null,"peer":null,` +
		`"size_class":7,"callsite":"exchange solve.c:118","function":"exchange","file":"/src/solve.c","line":118,"address":"solve+0x1234",` +
		`"slice":"run","calls":1,"messages":0,"bytes":0,"time_ns":18446744073709551615,"time_error_ns":0,"min_ns":null,"max_ns":null}
{"run":"a \"quoted\"\nname","rank":1,"thread":1,"call":"Reduce","class":"A2O","direction":"send","comm":"back to front#c0ffee00","peer":0,` +
		`"size_class":7,"callsite":"0x1000","function":null,"file":null,"line":null,"address":"0x1000",` +
		`"slice":"solve","calls":1,"messages":1,"bytes":1152921504606847976,"time_ns":1000,"time_error_ns":0,"min_ns":400,"max_ns":1600}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// TestJSONTiming checks that times that were not measured are null, and that
// sampled times have an error.
func TestJSONTiming(t *testing.T) {
	ps := jobs.MixedTimings("run")
	for rank, want := range map[int]string{
		1: `"bytes":300,"time_ns":3000,"time_error_ns":21,"min_ns":400,"max_ns":1600}`,
		2: `"bytes":300,"time_ns":null,"time_error_ns":null,"min_ns":null,"max_ns":null}`,
	} {
		var out strings.Builder
		if err := WriteJSON(&out, profile.List(ps[rank:rank+1])); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("rank %d: no %s in\n%s%v", rank, want, &out, err)
		}
	}
}

// TestJSONPhysical checks that messages of the MPI library itself have no
// thread, communicator, call site or time.
func TestJSONPhysical(t *testing.T) {
	p := jobs.Physical("run")[0]
	p.Rows, p.Physical.Flows = nil, p.Physical.Flows[3:4]
	want := `{"run":"run","rank":0,"thread":-1,"call":"internal","class":"internal","direction":"internal","comm":null,"peer":2,` +
		`"size_class":4,"callsite":"unknown","function":null,"file":null,"line":null,"address":"unknown",` +
		`"slice":"run","calls":0,"messages":6,"bytes":60,"time_ns":null,"time_error_ns":null,"min_ns":null,"max_ns":null}` + "\n"
	var out strings.Builder
	if err := WriteJSON(&out, profile.List{p}); err != nil || out.String() != want {
		t.Errorf("got\n%s%v\nwant\n%s", &out, err, want)
	}
}

// TestManyTexts writes more texts than the writer caches.
func TestManyTexts(t *testing.T) {
	p := jobs.FullRank("run", 0)
	p.Rows = nil
	for i := range maxTexts + 10 {
		p.Rows = append(p.Rows, profile.Row{Call: "Send", Comm: -1, Callsite: 1<<40 + uint64(i)})
	}
	var out strings.Builder
	testenv.NoError(t, WriteJSON(&out, profile.List{p}))
	i := 0
	for line := range strings.Lines(out.String()) {
		var row struct{ Address string }
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Address != profile.Place.Address(p.Place(p.Rows[i].Callsite)) {
			t.Fatalf("line %d: address %s, %v", i, row.Address, err)
		}
		i++
	}
	if i != len(p.Rows) {
		t.Errorf("%d lines, want %d", i, len(p.Rows))
	}
}
