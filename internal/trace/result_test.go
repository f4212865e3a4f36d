package trace

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

var update = flag.Bool("update", false, "write testdata/*.json anew")

// The result of a job of three ranks, which the tests of internal/views print.
func TestResult(t *testing.T) {
	j := pipeline()
	came(j, "Allreduce", -1, 95, 91, 92, 94)
	for _, p := range j {
		p.Trace().FinalizeStart = at(100)
	}
	j[0].send("Send", 2, 96, 97)
	for file, dropped := range map[string]uint64{"testdata/pipeline.json": 0, "testdata/cut.json": 7} {
		j[1].Trace().Dropped = dropped
		got, err := json.MarshalIndent(analyze(t, j, Options{}), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		if *update {
			testenv.WriteFile(t, file, got)
		}
		want := testenv.ReadFile(t, file)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
